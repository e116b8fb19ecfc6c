// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/engine/capacity.h"
#include "sim/policy/registry.h"

namespace uvmsim::engine {

namespace {

// Returns a GPU that no program uses, with all its memory and the driver's evictor.
driver::GpuState idle_gpu(const config::SystemConfig& system, unsigned gpu, GmmuCounters& counters) {
  const auto chunks = static_cast<std::uint32_t>(own_capacity_bytes(system, gpu) / kBlockBytes);
  return {GpuMemory(chunks, false),
          policy::built_ins()->create<policy::Evictor>(driver_choice(policy::Slot::kEvict).name, {}, 1, chunks),
          gmmu::Gmmu(system.gmmu, system.gpus[gpu].sm_count, counters)};
}

// Calls f(). An InputError of it names the program.
template <class F>
void naming(const std::string& program, F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    if (program.empty()) throw;
    throw_input_error("program '{}': {}", program, error.what());
  }
}

}  // namespace

Engine::Engine(const config::SystemConfig& system, std::span<const Hosted> programs, GpuSharing sharing)
    : machine_(system) {
  if (system.gpus.empty() || system.gpus.size() > kMaxGpus) {
    throw_input_error("system '{}' has {} GPUs; allowed: 1 to {}", system.name, system.gpus.size(), kMaxGpus);
  }
  machine_.programs = static_cast<unsigned>(programs.size());
  if (programs.size() > 1) {
    std::vector<std::uint64_t> regions;
    for (const Hosted& hosted : programs) regions.push_back(hosted.blocks);
    machine_.space.divide(regions);
  }
  machine_.users.resize(system.gpus.size());
  for (const Hosted& hosted : programs) {
    naming(hosted.name, [&] {
      programs_.push_back(std::make_unique<Program>(machine_, static_cast<std::uint16_t>(programs_.size()), hosted));
    });
    for (const unsigned gpu : programs_.back()->process().gpus) {
      machine_.users[gpu].push_back(static_cast<unsigned>(programs_.size() - 1));
    }
  }
  machine_.gpus.reserve(system.gpus.size());
  machine_.fault_loops.resize(system.gpus.size());
  for (unsigned gpu = 0; gpu < system.gpus.size(); ++gpu) {
    if (machine_.users[gpu].empty()) machine_.gpus.push_back(idle_gpu(system, gpu, machine_.idle_gpus));
    for (const unsigned user : machine_.users[gpu]) {
      Program& program = *programs_[user];
      naming(program.name(), [&] {
        if (user == machine_.users[gpu].front()) {
          machine_.gpus.push_back(program.driver().make_gpu(gpu));
        } else {
          program.driver().use_gpu(gpu);
        }
      });
    }
  }
  if (const HarvestChoice& choice = programs.front().options.harvest; choice.any()) {
    machine_.harvest = std::make_unique<driver::Harvest>(choice, machine_.topology, machine_.gpus);
    machine_.ledger.copies_dropped = true;
  }
  for (const auto& program : programs_) naming(program->name(), [&] { program->driver().connect(); });
  share_gpus(sharing, programs);
}

Engine::~Engine() = default;

// Returns a bit per GPU that several programs share and whose memory may not hold all blocks that they ever have.
std::uint32_t Engine::contended_gpus(std::span<const Hosted> programs) const {
  std::uint32_t gpus = 0;
  for (unsigned gpu = 0; gpu < machine_.gpus.size(); ++gpu) {
    const std::vector<unsigned>& users = machine_.users[gpu];
    if (users.size() < 2) continue;
    std::uint64_t free = machine_.gpus[gpu].memory.chunk_count();
    bool fits = true;
    for (const unsigned user : users) {
      const std::uint64_t blocks = programs[user].blocks;
      fits = fits && blocks != 0 && blocks <= free;
      free -= std::min(free, blocks);
    }
    if (!fits) gpus |= gpu_processor(gpu).bit();
  }
  return gpus;
}

void Engine::share_gpus(GpuSharing sharing, std::span<const Hosted> programs) {
  std::vector<driver::DriverContext*> processes;
  for (const auto& program : programs_) processes.push_back(&program->driver().context());
  slices_.resize(machine_.gpus.size());
  const std::uint32_t contended = contended_gpus(programs);
  for (unsigned gpu = 0; gpu < machine_.gpus.size(); ++gpu) {
    if (machine_.users[gpu].size() < 2) continue;
    std::vector<Program*> users;
    for (const unsigned user : machine_.users[gpu]) users.push_back(programs_[user].get());
    for (Program* program : users) {
      if (std::find(sharers_.begin(), sharers_.end(), program) != sharers_.end()) continue;
      program->driver().share(processes, contended);
      sharers_.push_back(program);
    }
    machine_.gpus[gpu].process_pages.resize(programs_.size());
    if (sharing == GpuSharing::kTimeSlices) {
      const RunOptions& options = programs[machine_.users[gpu].front()].options;
      naming(users.front()->name(), [&] {
        slices_[gpu] = std::make_unique<TimeSlices>(gpu, users, options, options.seed + gpu, machine_.system.runtime,
                                                    machine_.gpus[gpu], machine_.topology, machine_.events);
      });
    }
  }
}

// Call after every event: updates the turns on shared GPUs, then lets the kernels compute up to the next event.
void Engine::look_at_shared_gpus() {
  for (const auto& slices : slices_) {
    if (slices) slices->look();
  }
  for (Program* program : sharers_) naming(program->name(), [&] { program->look(); });
}

std::uint64_t Engine::left_out_iterations() const {
  std::uint64_t sum = 0;
  for (const auto& program : programs_) sum += program->left_out_iterations();
  return sum;
}

Program& Engine::program_of(const Event& event) const {
  switch (event.kind) {
    case EventKind::kHost:
    case EventKind::kStreamStart:
    case EventKind::kOperationEnd:
      return *programs_[event.program];
    case EventKind::kFetch:
    case EventKind::kReplay:
    case EventKind::kPlan:
    case EventKind::kPrefetch:
    case EventKind::kSlice:
      break;
  }
  return *programs_[machine_.users[event.subject].front()];
}

std::vector<RunResult> Engine::run() {
  const bool endless =
      std::any_of(programs_.begin(), programs_.end(), [](const auto& p) { return p->process().repeats; });
  const auto has_ended = [](const auto& program) { return program->process().repeats || program->idle(); };
  const bool prefetches = machine_.harvest && machine_.harvest->choice().prefetch;
  for (const auto& program : programs_) program->start();
  constexpr std::uint64_t kEventsPerPoll = 256;
  for (std::uint64_t events = 1; !machine_.events.empty(); ++events) {
    if (events % kEventsPerPoll == 0) {
      for (const auto& each : programs_) {
        if (each->process().observer.poll) each->process().observer.poll();
      }
    }
    const Event event = machine_.events.pop();
    Program& program = program_of(event);
    if (event.kind == EventKind::kSlice) {
      slices_[event.subject]->on_event();
    } else {
      naming(program.name(), [&] { program.on_event(event); });
    }
    if (!sharers_.empty()) look_at_shared_gpus();
    if (prefetches) {
      for (const auto& each : programs_) naming(each->name(), [&] { each->look(); });
    }
    if constexpr (kModelChecks) {
      if (event.kind == EventKind::kOperationEnd) audit_sometimes();
    }
    if (endless && std::all_of(programs_.begin(), programs_.end(), has_ended)) break;
  }
  if constexpr (kModelChecks) audit();
  for (const auto& slices : slices_) {
    if (slices) slices->finish();
  }
  std::vector<RunResult> results;
  for (const auto& program : programs_) naming(program->name(), [&] { results.push_back(program->finish()); });
  return results;
}

// An audit visits every block. Audits are so rare that on average an operation pays for kAuditedBlocks.
void Engine::audit_sometimes() {
  constexpr std::uint64_t kAuditedBlocks = 64;
  if (++operations_since_audit_ * kAuditedBlocks >= machine_.space.block_count()) audit();
}

void Engine::audit() {
  operations_since_audit_ = 0;
  ++audits_;
  Counters counters;
  std::uint64_t host_resident_pages = 0;
  for (unsigned number = 0; number < programs_.size(); ++number) {
    const Program& program = *programs_[number];
    const std::uint64_t on_host = program.driver().context().host_resident_pages;
    add(counters, program.process().result.counters, 1);
    host_resident_pages += on_host;
    audit_program(machine_.space, number, on_host);
  }
  audit_memory(machine_.space, machine_.gpus, host_resident_pages);
  audit_host(machine_.space, machine_.host, machine_.system.ssd.memory_bytes);
  audit_counters(counters, machine_.gpus, machine_.ledger);
}

}  // namespace uvmsim::engine
