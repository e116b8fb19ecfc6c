#include "sim/engine/engine.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/engine/capacity.h"
#include "sim/engine/program_future.h"
#include "sim/layout/footprint.h"
#include "sim/policy/registry.h"
#include "sim/trace/repeat_iterations.h"

namespace uvmsim::engine {

Engine::Engine(const trace::Header& header, RecordFeed& feed, const RunOptions& options, const RunObserver& observer)
    : header_(header),
      feed_(feed),
      options_(options),
      observer_(observer),
      space_(static_cast<unsigned>(options.system.gpus.size()), {.read_mostly = options.system.driver.replicate}),
      topology_(options.system),
      layout_(options.layout, space_),
      accounts_(observer.events, header.quantum_bytes, layout_, space_) {
  if (options.system.gpus.empty() || options.system.gpus.size() > kMaxGpus) {
    throw_input_error("system '{}' has {} GPUs; allowed: 1 to {}", options.system.name, options.system.gpus.size(),
                      kMaxGpus);
  }
  if (header.quantum_bytes == 0 || (header.quantum_bytes & (header.quantum_bytes - 1)) != 0 ||
      header.quantum_bytes > kBlockBytes) {
    throw_input_error("the trace's quantum is {} bytes; allowed: a power of two up to {}", header.quantum_bytes,
                      kBlockBytes);
  }
  gpus_.reserve(options.system.gpus.size());
  for (unsigned gpu = 0; gpu < options.system.gpus.size(); ++gpu) {
    result_.capacity_bytes = capacity_bytes(options, gpu);
    const auto chunks = static_cast<std::uint32_t>(result_.capacity_bytes / kBlockBytes);
    const policy::PolicyEntry& evict = policy::default_registry().find(policy::Slot::kEvict, options.evict.name);
    const std::uint64_t chunk_bytes = evict.chunk_bytes(options.evict.parameters);
    const policy::Future* const future = know_future(evict, chunk_bytes);
    gpus_.push_back(
        {GpuMemory(chunks, chunk_bytes != kBlockBytes),
         policy::create_evictor(options.evict.name, options.evict.parameters, options.seed + gpu, chunks, future),
         gmmu::Gmmu(options.system.gmmu, options.system.gpus[gpu].sm_count, result_.counters.gmmu)});
    gpus_.back().evictor_sees_touches = evict.info.information >= policy::InformationClass::kD2;
  }
  const policy::PolicyEntry& migrate = policy::default_registry().find(policy::Slot::kMigrate, options.migrate.name);
  if (options.migrate.name != kFirstTouch) {
    for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) {
      gpus_[gpu].migrator =
          migrate.create_migrator(options.migrate.parameters, options.seed + gpu, gpus_[gpu].memory.chunk_count());
    }
    migrator_hears_kernels_ = migrate.info.information >= policy::InformationClass::kD3;
  }
  const policy::PolicyEntry& prefetch = policy::default_registry().find(policy::Slot::kPrefetch, options.prefetch.name);
  const policy::Future* const future = know_future(prefetch, kBigPageBytes);
  prefetcher_ = policy::create_prefetcher(options.prefetch.name, options.prefetch.parameters, options.seed,
                                          gpus_.front().memory.chunk_count(), future);
  context_ = std::make_unique<driver::DriverContext>(driver::DriverContext{
      options_.system, space_, gpus_, topology_, *prefetcher_, prefetch.info.decision_cost,
      policy::default_registry().find(policy::Slot::kEvict, options.evict.name).info.decision_cost, result_.counters,
      observer.events, accounts_.sink()});
  context_->migrate_decision_cost = migrate.info.decision_cost;
  context_->evict_name = options.evict.name;
  context_->futures = known_futures_;
  context_->access_bits.kept = prefetch.info.information >= policy::InformationClass::kD2;
  residency_ = std::make_unique<driver::Residency>(*context_);
  thrashing_ = std::make_unique<driver::Thrashing>(*context_);
  fault_service_ = std::make_unique<driver::FaultService>(*context_, *residency_, *thrashing_);
  access_counters_ = std::make_unique<driver::AccessCounters>(*context_, *fault_service_);
  host_faults_ = std::make_unique<driver::HostFaults>(*context_, *residency_, *thrashing_);
  user_calls_ = std::make_unique<driver::UserCalls>(*context_, *residency_, *thrashing_);
  for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) {
    fault_loops_.push_back(std::make_unique<FaultLoop>(gpu, *context_, *fault_service_, events_));
  }
  if (options.plan.name != kNoPlan) {
    if (gpus_.front().memory.small_chunks()) {
      throw_input_error("plan policy '{}' works with 2 MB chunks; evict policy '{}' evicts 64 KB", options.plan.name,
                        options.evict.name);
    }
    const policy::PolicyEntry& plan = policy::default_registry().find(policy::Slot::kPlan, options.plan.name);
    if (plan.wants_future) {
      if (gpus_.size() != 1) {
        throw_input_error("{} knows the kernels to come (class D4) of one GPU; system '{}' has {}", plan.label(),
                          options_.system.name, gpus_.size());
      }
      if (!observer_.reopen) {
        throw_input_error("{} knows the future (class D4), and the trace cannot be read ahead here", plan.label());
      }
      kernel_future_ = std::make_unique<policy::KernelFuture>(
          read_kernel_future(header_, observer_.reopen(), options_, result_.capacity_bytes));
    }
    plans_ = std::make_unique<Plans>(options, kernel_future_.get(), layout_, *context_, *residency_, *thrashing_,
                                     fault_loops_, events_);
    for (const auto& loop : fault_loops_) loop->stop_at_events();
    ledger_.copies_dropped = true;
  }
  if (options.system.driver.replicate) ledger_.copies_dropped = true;
  streams_.resize(1);
}

Engine::~Engine() = default;

// For a policy that wants it: reads the trace ahead. Null for all others. Policies with contents of one size share it;
// of several GPUs the uses of all are in it.
const policy::Future* Engine::know_future(const policy::PolicyEntry& policy, std::uint64_t content_bytes) {
  if (!policy.wants_future) return nullptr;
  for (const driver::KnownFuture& known : known_futures_) {
    if (known.content_bytes == content_bytes) return known.future;
  }
  if (!observer_.reopen) {
    throw_input_error("{} knows the future (class D4), and the trace cannot be read ahead here", policy.label());
  }
  futures_.push_back(std::make_unique<policy::Future>(
      read_future(header_, observer_.reopen(), options_, result_.capacity_bytes, content_bytes)));
  known_futures_.push_back({futures_.back().get(), content_bytes});
  return futures_.back().get();
}

// The record in hand has freed memory.
void Engine::tell_futures_of_frees() {
  for (const driver::KnownFuture& known : known_futures_) known.future->pass(record_number_);
}

RunResult Engine::run() {
  host_scheduled_ = true;
  events_.schedule(Nanoseconds{}, EventKind::kHost);
  while (!events_.empty()) {
    const Event event = events_.pop();
    if (plans_ && event.kind == EventKind::kFetch) {
      const Nanoseconds idle_at = plans_->thread(event.subject).idle_at();
      if (idle_at > event.time) {
        events_.schedule(idle_at, EventKind::kFetch, event.subject);
        continue;
      }
    }
    switch (event.kind) {
      case EventKind::kHost:
        host_step();
        break;
      case EventKind::kStreamStart:
        start_operation(event.subject);
        break;
      case EventKind::kOperationEnd:
        end_operation(event.subject);
        break;
      case EventKind::kFetch:
        fault_loops_[event.subject]->on_fetch();
        break;
      case EventKind::kReplay:
        fault_loops_[event.subject]->on_replay();
        break;
      case EventKind::kPlan:
        plans_->thread(event.subject).on_done();
        break;
    }
    finish_runs();
    if (plans_) plan();
  }
  for (const Stream& stream : streams_) {
    if (stream.queue.empty()) continue;
    if (stream.blocked) {
      throw_input_error("a stream waits for event {}, which is never recorded",
                        std::get<EventOperation>(stream.queue.front().work).event);
    }
    throw ModelError("the simulation stopped with work left in a stream");
  }
  if (host_wait_.kind == HostWait::Kind::kEvent) {
    throw_input_error("record {}: the host waits for event {}, which is never recorded", recorded_number_,
                      host_wait_.event);
  }
  UVMSIM_CHECK(source_done_, "the host stopped at record {}", record_number_);
  if constexpr (kModelChecks) audit();
  result_.total = std::max(host_time_, last_completion_) + left_out_.time;
  result_.ideal = ideal_.end() + left_out_.ideal_time;
  result_.footprint_bytes = layout_.peak_bytes();
  result_.records = record_number_;
  if (options_.iterations != 0) {
    const auto settled = feed_.settled();
    result_.first_settled = settled.first;
    result_.settled = settled.count == 0 ? 0 : settled.count + left_out_.iterations;
  }
  result_.time_scale = feed_.time_scale();
  return std::move(result_);
}

// After an event: the migration threads act, then the kernels compute up to what comes next. Nobody plans for a program
// that does nothing any more.
void Engine::plan() {
  const auto works = [](const Stream& s) { return s.running || s.scheduled; };
  if (host_scheduled_ || std::any_of(streams_.begin(), streams_.end(), works)) plans_->look();
  for (const auto& loop : fault_loops_) loop->look();
  finish_runs();
}

// An audit looks at every block, so its cost is spread: on average an operation pays for kAuditedBlocks.
void Engine::audit_sometimes() {
  constexpr std::uint64_t kAuditedBlocks = 64;
  if (++operations_since_audit_ * kAuditedBlocks >= space_.block_count()) audit();
}

void Engine::audit() {
  operations_since_audit_ = 0;
  ++audits_;
  audit_memory(space_, gpus_, context_->host_resident_pages);
  audit_host(space_, context_->host_memory, options_.system.ssd.memory_bytes);
  audit_counters(result_.counters, gpus_, ledger_);
}

}  // namespace uvmsim::engine

namespace uvmsim {

std::uint64_t measure_footprint(const RecordSource& source, const layout::LayoutChoice& choice,
                                std::uint64_t iterations) {
  layout::FootprintMeter meter(choice);
  trace::IterationRepeater program(source, iterations);
  const RecordSource repeated = [&](trace::Record& r) { return program.next(r); };
  layout::SegmentFinder records(repeated);
  trace::Record record;
  std::uint64_t number = 0;
  while (records.next(record)) {
    ++number;
    try {
      meter.add(record, records.is_segment());
    } catch (const InputError& error) {
      throw_input_error("record {}: {}", number, error.what());
    }
  }
  return meter.footprint_bytes();
}

RunResult simulate(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                   const RunObserver& observer) {
  if (options.system.gpus.empty()) throw_input_error("system '{}' has no GPU", options.system.name);
  engine::RecordFeed feed(header, source, options);
  return engine::Engine(header, feed, options, observer).run();
}

}  // namespace uvmsim
