// SPDX-License-Identifier: Apache-2.0
// A program written by hand, record by record, and a plain system to run it on: one GPU with four SMs, a link of 10
// GB/s with 1 us per run. `Watched` keeps the events of a run.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/simulation.h"

namespace uvmsim {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kPage = kBasePageBytes;

// Every kernel, transfer and eviction of a run, in order.
struct Watched final : EventSink {
  struct Kernel {
    std::string name;
    std::uint32_t stream = 0;
    Nanoseconds start, end;
  };
  void on(const KernelEvent& e) override { kernels.push_back({std::string(e.name), e.stream, e.start, e.end}); }
  void on(const TransferEvent& e) override { transfers.push_back(e); }
  void on(const EvictionEvent& e) override { evictions.push_back(e); }
  void on(const CpuFaultEvent& e) override { cpu_faults.push_back(e); }
  void on(const ResidencyEvent& e) override {
    resident_bytes = e.resident_bytes;
    peak_chunk_bytes = e.chunk_bytes > peak_chunk_bytes ? e.chunk_bytes : peak_chunk_bytes;
  }

  const Kernel& kernel(const std::string& name) const {
    for (const Kernel& k : kernels) {
      if (k.name == name) return k;
    }
    throw std::out_of_range("no kernel " + name);
  }

  std::vector<Kernel> kernels;
  std::vector<TransferEvent> transfers;
  std::vector<EvictionEvent> evictions;
  std::vector<CpuFaultEvent> cpu_faults;
  std::uint64_t resident_bytes = 0;  // after the last change; frees are not included
  std::uint64_t peak_chunk_bytes = 0;
};

config::SystemConfig plain_system();
// Returns options with this capacity in 2 MB chunks; 0: all of the GPU's 64 GB.
RunOptions options_with(std::uint64_t chunks);

// Return the bytes that migrated to the GPU, and those that migrated back.
std::uint64_t bytes_in(const Counters& counters);
std::uint64_t bytes_out(const Counters& counters);

class Program {
 public:
  // Allocates an object. Objects are numbered from 1 in order of allocation, and 2 MB aligned.
  trace::ObjectId alloc(std::uint64_t bytes);
  // Allocates a framework's tensor, numbered in the same sequence.
  trace::ObjectId alloc_tensor(std::uint64_t bytes);
  void free(trace::ObjectId id) { add(trace::ObjectFree{id}); }
  // Makes the host write pages [first, first + count), by default all.
  void host(trace::ObjectId id, trace::AccessMode mode = trace::AccessMode::kWrite);
  void host(trace::ObjectId id, std::uint64_t first, std::uint64_t count, trace::AccessMode mode,
            std::int64_t gap_ns = 0);
  // Adds a kernel that touches whole objects, or nothing. Callers may change the returned record before the next call.
  trace::Kernel& kernel(const std::string& name, std::int64_t duration_ns, std::vector<trace::ObjectId> reads = {},
                        std::vector<trace::ObjectId> writes = {}, std::uint32_t stream = 0);
  // Adds a kernel in which one thread touches pages [first, first + count) of one object, ascending, one after the
  // other.
  trace::Kernel& walk(const std::string& name, trace::ObjectId id, std::uint64_t first, std::uint64_t count,
                      trace::AccessMode mode = trace::AccessMode::kRead);
  void sync() { add(trace::Sync{}); }
  void sync_stream(std::uint32_t stream) { add(trace::Sync{trace::SyncKind::kStream, stream, 0, 0}); }
  void record_event(std::uint32_t stream, std::uint64_t event) {
    add(trace::Sync{trace::SyncKind::kEventRecord, stream, event, 0});
  }
  void wait_event(std::uint32_t stream, std::uint64_t event) {
    add(trace::Sync{trace::SyncKind::kEventWait, stream, event, 0});
  }
  void prefetch(trace::ObjectId id, std::int32_t destination) {
    add(trace::Prefetch{id, 0, bytes(id), destination, 0, 0});
  }
  void advise(trace::ObjectId id, trace::Advice advice, std::int32_t device = 0) {
    add(trace::Advise{id, 0, bytes(id), advice, device});
  }
  template <class Record>
  Record& add(Record record) {
    return std::get<Record>(records_.emplace_back(std::move(record)));
  }
  std::uint64_t bytes(trace::ObjectId id) const { return bytes_[static_cast<std::size_t>(id - 1)]; }
  std::uint64_t pages(trace::ObjectId id) const { return bytes(id) / kPage; }

  RunResult run(const RunOptions& options, EventSink* events = nullptr) const;
  const std::vector<trace::Record>& records() const { return records_; }
  // Returns the records one by one, for tests that build an engine.
  RecordSource source() const;
  static trace::Header header();

 private:
  std::vector<trace::Record> records_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t next_va_ = 0x7f0000000000;
};

}  // namespace uvmsim
