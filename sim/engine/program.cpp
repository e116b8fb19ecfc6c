// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/program.h"

#include <algorithm>
#include <numeric>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/engine/capacity.h"
#include "sim/engine/program_future.h"
#include "sim/policy/guarded.h"
#include "sim/trace/attributes.h"

namespace uvmsim::engine {

namespace {

std::vector<unsigned> all_gpus(const Machine& machine) {
  std::vector<unsigned> gpus(machine.system.gpus.size());
  std::iota(gpus.begin(), gpus.end(), 0u);
  return gpus;
}

// Of a policy that fills several slots, the object that fills one of the others already; else null.
template <class Part>
std::shared_ptr<Part> joint_part(const policy::PolicyEntry& entry, const driver::GpuState& gpu,
                                 const std::shared_ptr<policy::Prefetcher>& prefetcher = nullptr) {
  if (!entry.joint()) return nullptr;
  for (const policy::Slot slot : entry.slots) {
    if (slot == policy::Slot::kEvict) return policy::part_of<Part>(gpu.evictor);
    if (slot == policy::Slot::kMigrate && gpu.migrator != nullptr) {
      return policy::part_of<Part>(gpu.migrator);
    }
    if (slot == policy::Slot::kRoute && gpu.router != nullptr) return policy::part_of<Part>(gpu.router);
  }
  return policy::part_of<Part>(prefetcher);
}

}  // namespace

Program::Program(Machine& machine, std::uint16_t number, const Hosted& hosted)
    : machine_(machine),
      number_(number),
      name_(hosted.name),
      header_(hosted.header),
      feed_(hosted.feed),
      options_(hosted.options),
      observer_(hosted.observer),
      start_(hosted.start),
      repeats_(hosted.repeats),
      images_(trace::images_named(hosted.header)),
      devices_(hosted.gpus.empty() ? all_gpus(machine) : hosted.gpus),
      events_(machine.events),
      space_(machine.space),
      gpus_(machine.gpus),
      fault_loops_(machine.fault_loops),
      layout_(options_.layout, space_, number),
      accounts_(observer_.events, header_.quantum_bytes, layout_, space_),
      host_time_(start_),
      last_completion_(start_) {
  if (header_.quantum_bytes == 0 || (header_.quantum_bytes & (header_.quantum_bytes - 1)) != 0 ||
      header_.quantum_bytes > kBlockBytes) {
    throw_input_error("the trace's quantum is {} bytes; allowed: a power of two up to {}", header_.quantum_bytes,
                      kBlockBytes);
  }
  check_choices(options_);
  suspended_.resize(machine.system.gpus.size(), kNever);
  streams_.resize(1);
}

Program::~Program() = default;

driver::GpuState Program::make_gpu(unsigned gpu) {
  result_.capacity_bytes = capacity_bytes(options_, gpu);
  const auto chunks = static_cast<std::uint32_t>(result_.capacity_bytes / kBlockBytes);
  const policy::PolicyEntry& evict = policy::default_registry().find(policy::Slot::kEvict, options_.evict.name);
  const std::uint64_t chunk_bytes = evict.chunk_bytes(options_.evict.parameters);
  const policy::Future* const future = know_future(evict, chunk_bytes);
  driver::GpuState state{
      GpuMemory(chunks, chunk_bytes != kBlockBytes),
      policy::create_evictor(options_.evict.name, options_.evict.parameters, options_.seed + gpu, chunks, future),
      gmmu::Gmmu(machine_.system.gmmu, machine_.system.gpus[gpu].sm_count, result_.counters.gmmu,
                 space_.begin_of(number_))};
  state.evictor_sees_touches = evict.info.information >= policy::InformationClass::kD2;
  const policy::PolicyEntry& migrate = policy::default_registry().find(policy::Slot::kMigrate, options_.migrate.name);
  if (options_.migrate.name != kFirstTouch) {
    state.migrator = joint_part<policy::Migrator>(migrate, state);
    if (state.migrator == nullptr) {
      state.migrator = migrate.create_migrator(options_.migrate.parameters, options_.seed + gpu, chunks,
                                               know_future(migrate, kBlockBytes));
    }
    migrator_hears_kernels_ = migrate.info.information >= policy::InformationClass::kD3;
  }
  if (options_.route.name != kDirectRoute) {
    const policy::PolicyEntry& route = policy::default_registry().find(policy::Slot::kRoute, options_.route.name);
    state.router = joint_part<policy::Router>(route, state);
    if (state.router == nullptr) {
      state.router =
          route.create_router(options_.route.parameters, options_.seed + gpu, chunks, know_future(route, kBlockBytes));
    }
    state.router_hears_kernels = route.info.information >= policy::InformationClass::kD3;
  }
  if (options_.batch.name != kDriverBatches) {
    const policy::PolicyEntry& batch = policy::default_registry().find(policy::Slot::kBatch, options_.batch.name);
    state.batcher = joint_part<policy::Batcher>(batch, state);
    if (state.batcher == nullptr) {
      state.batcher =
          batch.create_batcher(options_.batch.parameters, options_.seed + gpu, chunks, know_future(batch, kBlockBytes));
    }
    state.batch_decision_cost = batch.info.decision_cost;
    state.batch_label = batch.label_with_origin();
  }
  return state;
}

void Program::use_gpu(unsigned gpu) {
  result_.capacity_bytes = capacity_bytes(options_, gpu);
  const policy::PolicyEntry& migrate = policy::default_registry().find(policy::Slot::kMigrate, options_.migrate.name);
  migrator_hears_kernels_ =
      options_.migrate.name != kFirstTouch && migrate.info.information >= policy::InformationClass::kD3;
}

void Program::share(const std::vector<driver::DriverContext*>& processes, std::uint32_t contended_gpus) {
  contended_gpus_ = contended_gpus;
  context_->processes = processes;
  context_->process = number_;
  context_->evicted_from.assign(processes.size(), 0);
  for (const unsigned gpu : devices_) {
    if (machine_.users[gpu].size() > 1) fault_loops_[gpu]->stop_at_events();
  }
}

void Program::connect() {
  const policy::Registry& registry = policy::default_registry();
  const policy::PolicyEntry& prefetch = registry.find(policy::Slot::kPrefetch, options_.prefetch.name);
  if (prefetch.joint() && devices_.size() != 1) {
    throw_input_error("{} fills other slots too, and one prefetcher serves all GPUs of a program: {}; allowed: 1",
                      prefetch.label(), devices_.size());
  }
  const driver::GpuState& first = gpus_[devices_.front()];
  if (machine_.harvest && first.memory.small_chunks()) {
    throw_input_error("harvesting works with 2 MB chunks; evict policy '{}' evicts 64 KB", options_.evict.name);
  }
  prefetcher_ = joint_part<policy::Prefetcher>(prefetch, first);
  if (prefetcher_ == nullptr) {
    prefetcher_ = prefetch.create_prefetcher(options_.prefetch.parameters, options_.seed, first.memory.chunk_count(),
                                             know_future(prefetch, kBigPageBytes));
  }
  context_ = std::make_unique<driver::DriverContext>(driver::DriverContext{
      machine_.system, space_, gpus_, machine_.topology, machine_.host, *prefetcher_, prefetch.info.decision_cost,
      registry.find(policy::Slot::kEvict, options_.evict.name).info.decision_cost, result_.counters, observer_.events,
      accounts_.sink()});
  context_->migrate_decision_cost = registry.find(policy::Slot::kMigrate, options_.migrate.name).info.decision_cost;
  context_->route_decision_cost = registry.find(policy::Slot::kRoute, options_.route.name).info.decision_cost;
  context_->evict_label = registry.find(policy::Slot::kEvict, options_.evict.name).label_with_origin();
  context_->route_label = registry.find(policy::Slot::kRoute, options_.route.name).label_with_origin();
  context_->futures = known_futures_;
  context_->access_bits.kept = prefetch.info.information >= policy::InformationClass::kD2;
  context_->harvest = machine_.harvest.get();
  residency_ = std::make_unique<driver::Residency>(*context_);
  if (machine_.harvest) {
    for (const unsigned gpu : devices_) machine_.harvest->connect(gpu, *residency_);
  }
  thrashing_ = std::make_unique<driver::Thrashing>(*context_);
  if (machine_.harvest && machine_.harvest->choice().prefetch) {
    chunk_prefetch_ = std::make_unique<driver::ChunkPrefetch>(*context_, *residency_, *thrashing_);
    context_->chunk_prefetch = chunk_prefetch_.get();
    prefetch_at_.resize(gpus_.size(), kNever);
  }
  fault_service_ = std::make_unique<driver::FaultService>(*context_, *residency_, *thrashing_);
  access_counters_ = std::make_unique<driver::AccessCounters>(*context_, *fault_service_);
  host_faults_ = std::make_unique<driver::HostFaults>(*context_, *residency_, *thrashing_);
  user_calls_ = std::make_unique<driver::UserCalls>(*context_, *residency_, *thrashing_);
  for (const unsigned gpu : devices_) {
    if (!fault_loops_[gpu]) fault_loops_[gpu] = std::make_unique<FaultLoop>(gpu, machine_.system, space_, events_);
    fault_loops_[gpu]->join(number_, *context_, *fault_service_);
    if (chunk_prefetch_) fault_loops_[gpu]->stop_at_events();
  }
  if (options_.plan.name != kNoPlan) make_plans();
  make_listeners();
}

// The policies of the program that are FeatureListeners too, each once.
void Program::make_listeners() {
  const auto listen = [&](const auto& policy, const PolicyChoice& choice, policy::Slot slot) {
    if (policy == nullptr) return;
    std::shared_ptr<policy::FeatureListener> listener = policy::part_of<policy::FeatureListener>(policy);
    if (listener == nullptr) return;
    const policy::PolicyEntry& entry = policy::default_registry().find(slot, choice.name);
    if (entry.joint() && slot != entry.slots.front()) return;
    if (entry.info.information >= policy::InformationClass::kD2) {
      context_->prefetch_history.kept = true;
      context_->prefetch_history.listeners.push_back(listener.get());
    }
    if (entry.info.information >= policy::InformationClass::kD3) kernel_listeners_.push_back(listener.get());
    context_->listeners.push_back(listener.get());
    listeners_.push_back(std::move(listener));
  };
  listen(prefetcher_, options_.prefetch, policy::Slot::kPrefetch);
  for (const unsigned gpu : devices_) {
    if (machine_.users[gpu].front() != number_) continue;  // another program's policies
    const driver::GpuState& state = gpus_[gpu];
    listen(state.evictor, options_.evict, policy::Slot::kEvict);
    listen(state.migrator, options_.migrate, policy::Slot::kMigrate);
    listen(state.router, options_.route, policy::Slot::kRoute);
    listen(state.batcher, options_.batch, policy::Slot::kBatch);
    if (plans_) listen(plans_->thread(gpu).planner(), options_.plan, policy::Slot::kPlan);
  }
}

void Program::make_plans() {
  if (!has_all_gpus()) {
    throw_input_error("plan policy '{}' works for one program alone, with all GPUs of its server", options_.plan.name);
  }
  if (gpus_.front().memory.small_chunks()) {
    throw_input_error("plan policy '{}' works with 2 MB chunks; evict policy '{}' evicts 64 KB", options_.plan.name,
                      options_.evict.name);
  }
  const policy::PolicyEntry& plan = policy::default_registry().find(policy::Slot::kPlan, options_.plan.name);
  if (plan.wants_future) {
    if (gpus_.size() != 1) {
      throw_input_error("{} knows the kernels to come (class D4) of one GPU; system '{}' has {}", plan.label(),
                        machine_.system.name, gpus_.size());
    }
    if (!observer_.reopen) {
      throw_input_error("{} knows the future (class D4), and the trace cannot be read ahead here", plan.label());
    }
    kernel_future_ = std::make_unique<policy::KernelFuture>(
        read_kernel_future(header_, observer_.reopen(), options_, result_.capacity_bytes));
  }
  std::vector<std::shared_ptr<policy::Planner>> planners;
  for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) {
    planners.push_back(joint_part<policy::Planner>(plan, gpus_[gpu], prefetcher_));
    if (planners.back() != nullptr) continue;
    planners.back() = plan.create_planner(options_.plan.parameters, options_.seed + gpu,
                                          gpus_[gpu].memory.chunk_count(), kernel_future_.get());
  }
  plans_ = std::make_unique<Plans>(std::move(planners), plan.info, kernel_future_.get(), layout_, *context_,
                                   *residency_, *thrashing_, fault_loops_, events_);
  for (const auto& loop : fault_loops_) loop->stop_at_events();
  machine_.ledger.copies_dropped = true;
}

// For a policy that wants it: reads the trace ahead. Null for all others. Policies with contents of one size share it;
// of several GPUs the uses of all are in it.
const policy::Future* Program::know_future(const policy::PolicyEntry& policy, std::uint64_t content_bytes) {
  if (!policy.wants_future) return nullptr;
  for (const driver::KnownFuture& known : known_futures_) {
    if (known.content_bytes == content_bytes) return known.future;
  }
  if (!has_all_gpus()) {
    throw_input_error("{} knows the future (class D4) of one program alone, with all GPUs of its server",
                      policy.label());
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
void Program::tell_futures_of_frees() {
  for (const driver::KnownFuture& known : known_futures_) known.future->pass(record_number_);
}

void Program::start() { schedule_host(start_); }

void Program::on_event(const Event& event) {
  if (plans_ && event.kind == EventKind::kFetch) {
    const Nanoseconds idle_at = plans_->thread(event.subject).idle_at();
    if (idle_at > event.time) return events_.schedule(idle_at, EventKind::kFetch, event.subject);
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
      if (chunk_prefetch_) schedule_prefetch(event.subject);
      break;
    case EventKind::kReplay:
      fault_loops_[event.subject]->on_replay();
      break;
    case EventKind::kPlan:
      plans_->thread(event.subject).on_done();
      break;
    case EventKind::kPrefetch:
      prefetch(event.subject);
      break;
    case EventKind::kSlice:
      break;  // the engine's
  }
  finish_runs();
  if (plans_) plan();
}

// EventKind::kPrefetch. One that was put forward still comes, and finds nothing to do.
void Program::prefetch(unsigned gpu) {
  if (prefetch_at_[gpu] != events_.now()) return;
  prefetch_at_[gpu] = kNever;
  for (const unsigned device : devices_) fault_loops_[device]->advance(events_.now());
  if (context_->accounts != nullptr) {
    context_->accounts->on(ActorEvent{Actor::kFaultService, static_cast<std::int32_t>(gpu), 0});
  }
  chunk_prefetch_->step(gpu, events_.now());
  schedule_prefetch(gpu);
}

void Program::schedule_prefetch(unsigned gpu) {
  const Nanoseconds next = chunk_prefetch_->next_step(gpu);
  if (next >= prefetch_at_[gpu]) return;
  prefetch_at_[gpu] = std::max(next, events_.now());
  events_.schedule(prefetch_at_[gpu], EventKind::kPrefetch, gpu);
}

void Program::look() {
  for (const unsigned gpu : devices_) fault_loops_[gpu]->look();
  finish_runs();
}

bool Program::idle() const {
  const auto works = [](const Stream& s) { return s.running || s.scheduled; };
  return !host_scheduled_ && std::none_of(streams_.begin(), streams_.end(), works);
}

// After an event: the migration threads act, then the kernels compute up to what comes next. No plans for a program
// that does nothing any more.
void Program::plan() {
  if (!idle()) plans_->look();
  for (const auto& loop : fault_loops_) loop->look();
  finish_runs();
}

RunResult Program::finish() {
  if (!repeats_) {
    for (const Stream& stream : streams_) {
      if (!stream.queue.empty()) throw ModelError("the simulation stopped with work left in a stream");
    }
    UVMSIM_CHECK(source_done_, "the host stopped at record {}", record_number_);
  }
  const Nanoseconds end = repeats_ ? std::max(events_.now(), start_) : std::max(host_time_, last_completion_);
  result_.total = end - start_ + left_out_.time;
  result_.ideal = ideal_.end() + left_out_.ideal_time;
  result_.footprint_bytes = layout_.peak_chunk_bytes();
  result_.arena_reached_bytes = layout_.arena_reached_bytes();
  result_.records = record_number_;
  if (options_.iterations != 0) {
    const auto passes = feed_.passes();
    result_.first_repeated = passes.first;
    result_.repeated = passes.count == 0 ? 0 : passes.count + left_out_.iterations;
    if (repeats_) {
      const std::uint64_t done = result_.iterations.size();
      result_.repeated = done - std::min(done, passes.first);
    }
  }
  result_.time_scale = feed_.time_scale();
  result_.evicted_from = context_->evicted_from;
  return std::move(result_);
}

}  // namespace uvmsim::engine
