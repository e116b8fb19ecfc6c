// SPDX-License-Identifier: Apache-2.0
// One traced program on a server: its host thread, its streams, and the driver as its process sees it.
//
// What the driver knows of a process (thrashing, pins, access counters, the prefetcher's history) is the program's own,
// as it is of a va_space of NVIDIA UVM; memory, links and fault threads are the machine's. Programs that share a GPU
// are processes on it: its evictor, migrator and router are those of the first one. Whatever happens in a program's
// events counts for it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "sim/driver/access_counters.h"
#include "sim/driver/chunk_prefetch.h"
#include "sim/driver/host_faults.h"
#include "sim/driver/user_calls.h"
#include "sim/engine/accounts.h"
#include "sim/engine/ideal_clock.h"
#include "sim/engine/machine.h"
#include "sim/engine/plans.h"
#include "sim/engine/record_feed.h"
#include "sim/engine/recurrence.h"
#include "sim/engine/simulation.h"
#include "sim/layout/layout.h"
#include "sim/policy/registry.h"

namespace uvmsim::engine {

// A program and where it runs. What it refers to must outlive the engine.
struct Hosted {
  const trace::Header& header;
  RecordFeed& feed;
  const RunOptions& options;
  const RunObserver& observer;
  std::vector<unsigned> gpus = {};  // of the machine, by device of the trace; empty: all of them
  Nanoseconds start{};
  bool repeats = false;      // without end: it is cut off when all others have ended
  std::string name = {};     // for messages; empty: there is only one
  std::uint64_t blocks = 0;  // of addresses: the region of one of several programs
};

class Program {
 public:
  Program(Machine& machine, std::uint16_t number, const Hosted& hosted);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& name() const { return name_; }
  std::uint32_t number() const { return number_; }
  const std::vector<unsigned>& gpus() const { return devices_; }
  // Building the machine: first the state of every GPU of the program, in the machine's order; then, when all GPUs are
  // there, what serves them. Throw InputError for policies and limits.
  driver::GpuState make_gpu(unsigned gpu);
  // Of a GPU that another program made.
  void use_gpu(unsigned gpu);
  void connect();
  // After all programs are connected: those it shares GPUs with know of each other, by region of the address space.
  driver::DriverContext& context() { return *context_; }
  void share(const std::vector<driver::DriverContext*>& processes, std::uint32_t contended_gpus);

  // The host's first step is on the clock from here on.
  void start();
  // Events of the machine that are the program's.
  void on_event(const Event& event);
  // After an event of any program, where blocks come ahead of need or GPUs are shared: kernels compute up to the next
  // one.
  void look();
  // Of a GPU whose time programs share: a kernel runs, or waits for nothing but the GPU.
  bool wants(unsigned gpu) const;
  // The GPU computes for others from now on, and for this program again.
  void suspend(unsigned gpu);
  void resume(unsigned gpu);
  void tell(const TurnEvent& turn) const {
    if (observer_.events != nullptr) observer_.events->on(turn);
  }
  bool repeats() const { return repeats_; }
  // Nothing of it is on the clock any more: it has come to its end, or waits for what never comes.
  bool idle() const;
  // Whoever watches the run may stop it here.
  void poll() const {
    if (observer_.poll) observer_.poll();
  }
  // After the run. Throws InputError where the program waits for what never comes. A program that is cut off ends
  // where the clock stands.
  RunResult finish();

  const Counters& counters() const { return result_.counters; }
  std::uint64_t host_resident_pages() const { return context_->host_resident_pages; }
  // Iterations that recurred, so that their results were known without replaying them.
  std::uint64_t left_out_iterations() const { return left_out_.iterations; }

 private:
  // Work of a stream, in order.
  struct CopyOperation {
    Nanoseconds duration{};
  };
  struct PeerCopyOperation {
    unsigned from = 0, to = 0;  // GPUs of the machine that a link joins
    std::uint64_t bytes = 0;
  };
  struct PrefetchOperation {
    std::vector<driver::BlockSpan> spans;
    ProcessorId destination;
  };
  struct DiscardOperation {
    std::vector<driver::BlockSpan> spans;
  };
  struct EventOperation {
    std::size_t recording = 0;  // of the event: the one that the host issued last
    bool wait = false;
  };
  struct MarkOperation {
    trace::RangeKind kind;
    std::string name;
    std::uint64_t index = 0;
    Nanoseconds ideal{};  // when the ideal clock gets here
  };
  struct KernelOperation {
    trace::Kernel kernel;      // on a GPU of the machine
    bool is_copy = false;      // the copy engine's accesses to managed memory, modelled as a kernel
    std::uint64_t launch = 0;  // its number, for planners
  };
  using Work = std::variant<KernelOperation, CopyOperation, PeerCopyOperation, PrefetchOperation, DiscardOperation,
                            EventOperation, MarkOperation>;
  struct Operation {
    Nanoseconds issued{};
    std::uint64_t record = 0;    // counted in the program that runs
    std::uint64_t recorded = 0;  // in the recording
    Work work;
  };
  struct Stream {
    std::deque<Operation> queue;
    bool running = false;  // its front operation has started
    bool scheduled = false;
    Nanoseconds free_at{};
    std::unique_ptr<KernelRun> run;
    Nanoseconds started{};
    bool blocked = false;       // its front operation waits for an event
    Nanoseconds ends = kNever;  // its front operation, if nothing stops it
    Nanoseconds left = kNever;  // of a kernel that is suspended: what it had left
  };
  // What the host waits for.
  struct HostWait {
    enum class Kind : std::uint8_t { kNone, kDevice, kStream, kEvent, kQueue } kind = Kind::kNone;
    std::uint32_t stream = 0;
    std::size_t recording = 0;
  };

  const policy::Future* know_future(const policy::PolicyEntry& policy, std::uint64_t content_bytes);
  void make_plans();
  void make_listeners();
  bool has_all_gpus() const { return machine_.programs == 1 && devices_.size() == machine_.system.gpus.size(); }

  // host_thread.cpp
  void host_step();
  bool issue(trace::Record& record);  // false: the host waits; the record is kept for another try
  void submit(std::uint32_t stream, Work work);
  bool satisfied(const HostWait& wait) const;
  bool wait_for(HostWait wait);
  std::optional<std::size_t> recording_of(std::uint64_t event) const;
  std::size_t new_recording(std::uint64_t event);
  void schedule_host(Nanoseconds time);
  void wake_host();
  void host_pays(std::uint64_t ns) { host_time_ += Nanoseconds(static_cast<std::int64_t>(ns)); }
  void host_gap(std::int64_t ns);
  ProcessorId processor(std::int32_t device) const;
  bool issue_free(trace::ObjectId id, bool tensor);
  std::uint64_t managed_free_ns(const std::vector<BlockIndex>& blocks, std::uint64_t bytes) const;
  void release_block(BlockIndex b);
  void pay_for_allocation(std::uint64_t ns);
  bool release_after(trace::Record& record);
  bool free_released();
  void retire_tensor(trace::ObjectId id);
  bool issue_copy(const trace::Memcpy& copy);
  std::optional<PeerCopyOperation> peer_copy(const trace::Memcpy& copy) const;
  bool issue_host_access(const trace::HostAccess& access);
  void tell_futures_of_frees();

  // repetition.cpp
  void before_repetition();
  void look_for_recurrence();
  bool stops_when_settled() const;
  bool has_settled();
  std::size_t first_like_later_ones(const Moment& earlier) const;
  std::optional<StateDigest::Value> digest_of_state();
  const MarkOperation* pending_end() const;
  void leave_out(const Recurrence::Earlier& earlier, std::uint64_t times);

  // streams.cpp
  void schedule_stream(std::uint32_t stream);
  void ends_at(Nanoseconds end, std::uint32_t stream);
  void kernel_ends_at(Nanoseconds end, std::uint32_t index, Nanoseconds standing);
  const trace::Kernel* running_kernel(const Stream& stream, unsigned gpu) const;
  void start_operation(std::uint32_t stream);
  void start_kernel(std::uint32_t stream, KernelOperation& operation, Nanoseconds now);
  void tell_listeners(const trace::Kernel& kernel, Nanoseconds now);
  void tell_routers(unsigned gpu, std::uint32_t running);
  void advance_kernels(Nanoseconds now);
  void finish_runs();
  void tell_end(std::uint32_t stream, Nanoseconds now);
  void end_operation(std::uint32_t stream);
  Nanoseconds translation_stall(const KernelWork& work, unsigned gpu);
  Nanoseconds remote_time(const KernelWork& work, const trace::Kernel& kernel, unsigned gpu, Nanoseconds start);
  void note_touches(const KernelWork& work, unsigned gpu);
  void note_access_bits(const KernelWork& work, unsigned gpu);
  void note_remote_accesses(const KernelWork& work, unsigned gpu);
  IterationResult result_of(const MarkOperation& end, Nanoseconds now) const;
  void mark(const MarkOperation& mark, Nanoseconds now);
  void plan();
  void prefetch(unsigned gpu);
  void schedule_prefetch(unsigned gpu);
  std::uint64_t oldest_record_at_work() const;

  Machine& machine_;
  const std::uint16_t number_;  // on its machine
  const std::string name_;
  const trace::Header& header_;
  RecordFeed& feed_;
  const RunOptions& options_;
  const RunObserver& observer_;
  const Nanoseconds start_;
  const bool repeats_;
  std::uint64_t images_;  // of its NCHW tensors, as its header or the last kernel that shows them says; 0: unknown
  std::vector<unsigned> devices_;  // GPU of the machine, by device of the trace
  EventQueue& events_;
  AddressSpace& space_;
  std::vector<driver::GpuState>& gpus_;                   // all of the machine
  std::vector<std::unique_ptr<FaultLoop>>& fault_loops_;  // likewise
  RunResult result_;
  std::vector<std::unique_ptr<policy::Future>> futures_;
  std::vector<driver::KnownFuture> known_futures_;  // the same, for the driver
  std::shared_ptr<policy::Prefetcher> prefetcher_;
  std::vector<std::shared_ptr<policy::FeatureListener>> listeners_;
  std::uint64_t layer_ = 0;                                 // kernels since the last marked iteration began
  std::vector<policy::FeatureListener*> kernel_listeners_;  // those of class D3 and up
  bool migrator_hears_kernels_ = false;                     // information class D3 or higher
  std::uint32_t contended_gpus_ = 0;                        // a bit per GPU whose memory other programs may take away
  std::vector<Nanoseconds> suspended_;  // by GPU: since when it computes for others; kNever: it does not
  std::unique_ptr<driver::DriverContext> context_;
  std::unique_ptr<driver::Residency> residency_;
  std::unique_ptr<driver::Thrashing> thrashing_;
  std::unique_ptr<driver::ChunkPrefetch> chunk_prefetch_;  // null: nothing comes after a fault batch
  std::vector<Nanoseconds> prefetch_at_;                   // by GPU: its event on the clock
  std::unique_ptr<driver::FaultService> fault_service_;
  std::unique_ptr<driver::AccessCounters> access_counters_;
  std::unique_ptr<driver::HostFaults> host_faults_;
  std::unique_ptr<driver::UserCalls> user_calls_;
  layout::Layout layout_;
  std::unique_ptr<policy::KernelFuture> kernel_future_;  // for a planner that knows it
  std::unique_ptr<Plans> plans_;                         // null: no planner
  Accounts accounts_;
  std::deque<std::pair<std::uint64_t, trace::ObjectId>> retired_tensors_;  // record of the free, tensor
  IdealClock ideal_;                                                       // from the program's start

  Nanoseconds host_time_;
  HostWait host_wait_;
  bool host_scheduled_ = false;
  bool source_done_ = false;
  bool have_record_ = false;
  bool gap_paid_ = false;
  trace::Record record_;
  std::uint64_t record_number_ = 0;     // of records taken
  std::uint64_t recorded_number_ = 0;   // of record_ in the recording, where iterations may come once
  std::size_t host_access_part_ = 0;    // of the HostAccess in progress: calls.h
  std::uint64_t host_access_page_ = 0;  // within it
  std::vector<Stream> streams_;
  // Programs record the same event again and again; who waits for it waits for the recording issued last before.
  std::unordered_map<std::uint64_t, std::size_t> events_recorded_;  // by event: its last among all recordings
  std::vector<bool> recordings_done_;                               // by number of a recording
  std::vector<std::pair<std::string, Nanoseconds>> open_ranges_;
  Counters iteration_start_;
  Nanoseconds iteration_begin_{}, ideal_iteration_begin_{};
  Nanoseconds last_completion_;
  Recurrence recurrence_;
  struct {
    std::uint64_t iterations = 0;
    Nanoseconds time{}, ideal_time{};
  } left_out_;
};

}  // namespace uvmsim::engine
