// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/version.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"
#include "tracer/merge/coverage.h"
#include "tracer/merge/devices.h"
#include "tracer/merge/limit_size.h"
#include "tracer/merge/map_operands.h"
#include "tracer/merge/match.h"
#include "tracer/merge/timing_pass.h"

namespace uvmtrace {

namespace {

using uvmsim::throw_input_error;

// Formats the number of memory events by kind, as the program caused them: "12 device, 1 pinned".
std::string recorded_kinds(const PassLog& log) {
  static constexpr std::array<std::string_view, 6> kNames = {"device", "managed", "pinned", "pool", "vmm", "module"};
  std::array<std::uint64_t, 6> counts{};
  for (const Event& event : log.events) {
    if (const auto* alloc = std::get_if<AllocEvent>(&event.what); alloc != nullptr && !alloc->segment) {
      ++counts[static_cast<std::size_t>(alloc->kind)];
    }
  }
  std::string out;
  for (std::size_t kind = 0; kind < kNames.size(); ++kind) {
    if (counts[kind] != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[kind], kNames[kind]);
  }
  return out.empty() ? "none" : out;
}

constexpr std::string_view kWhatToTry =
    "what may help: record --warm-up yes, settings that choose nothing by timing, iterations marked by the program "
    "(tracer/README.md, 'When the passes differ')";

}  // namespace

class Merger::State {
 public:
  State(const PassLog& timing, const PassLog* access, const MergeOptions& options)
      : timing_(timing), access_(access), options_(options), devices_(timing) {
    if (access != nullptr) match();
    make_header();
  }

  void run(const std::function<void(const trace::Record&)>& take) {
    const auto numbered = [&](trace::Record&& record) {
      devices_.apply(record);
      take(record);
    };
    TimingPass pass(timing_, options_, summary, match_.cut.timing, timing_kept_);
    pass.run([&](const Event& event, std::size_t launch,
                 trace::Kernel& kernel) { fill(pass, event, launch, kernel, numbered); },
             [&](trace::Record&& record) {
               add_time(record);
               numbered(std::move(record));
             });
  }

  trace::Header header;
  MergeSummary summary;

 private:
  void match() {
    match_ = match_launches(timing_, *access_, options_.match_thousandths, options_.drop_prologue);
    summary.matched = match_.matched;
    summary.divergence = match_.divergence;
    if (!match_.at_least(options_.match_thousandths)) {
      throw_input_error("{} and {}: {} of {} launches match, fewer than {}.{} %; {}; {}", timing_.path, access_->path,
                        match_.matched, match_.compared, options_.match_thousandths / 10,
                        options_.match_thousandths % 10, match_.divergence, kWhatToTry);
    }
    std::set<std::string> with_copies;
    for (const auto& [name, copies] : timing_.copies) with_copies.insert(timing_.names[name]);
    for (const Launch& launch : timing_.launches) {
      if (!launch.maps.empty()) with_copies.insert(timing_.names[launch.name]);
    }
    pass_.emplace(*access_, match_, [&](const std::string& kernel) {
      return may_use_tensor_copies(kernel) || with_copies.contains(kernel);
    });
    World timing_world(timing_);
    std::vector<ThingIndex> made(timing_.events.size(), kNothing);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i == match_.cut.timing) timing_kept_ = timing_world.live_things();
      made[i] = timing_world.apply(i).made;
    }
    const std::size_t kept_from_prologue =
        static_cast<std::size_t>(std::count(timing_kept_.begin(), timing_kept_.end(), true));
    timing_kept_.resize(timing_world.things().size(), true);
    partner_ = match_things(timing_, timing_world, made, timing_kept_, *access_, pass_->world, pass_->made, pass_->kept,
                            match_);
    describe_prologue(kept_from_prologue);
    extra_.assign(partner_.size(), trace::kNoObject);
    summary.repairs += pass_->world.repairs();
    for (std::size_t i = 0; i < partner_.size(); ++i) {
      const bool module = pass_->world.things()[i].kind == MemoryKind::kModule;
      summary.unmatched_memory += partner_[i] == kNothing && pass_->kept[i] && !module ? 1 : 0;
    }
  }

  void describe_prologue(std::size_t kept) {
    if (!match_.prologue) return;
    const Prologue& prologue = *match_.prologue;
    const std::string before =
        match_.cut.iteration ? fmt::format("before iteration {}", *match_.cut.iteration) : "before what repeats itself";
    summary.dropped = fmt::format(
        "{} launches of the timing pass and {} of the access pass {}: only {} of {} launches match with them, {}; {} "
        "allocations of that time stay",
        prologue.timing_launches, prologue.access_launches, before, prologue.matched, prologue.compared,
        prologue.divergence, kept);
  }

  void make_header() {
    const LogHeader& log = timing_.header;
    header.tool = fmt::format("uvmtrace {}", uvmsim::version());
    header.gpu = log.gpu;
    header.driver = log.driver;
    header.program = fmt::format("{}", fmt::join(log.program, " "));
    header.provenance = options_.provenance;
    const auto add = [this](std::string key, std::string value) {
      if (!value.empty()) header.attributes.emplace_back(std::move(key), std::move(value));
    };
    add("cuda", log.cuda);
    add("sm_count", log.sm_count == 0 ? "" : std::to_string(log.sm_count));
    add("compute_capability", log.compute_capability[0] == 0
                                  ? ""
                                  : fmt::format("{}.{}", log.compute_capability[0], log.compute_capability[1]));
    add("recorded_allocations", recorded_kinds(timing_));
    add("device_memory_as", options_.as_managed ? "managed" : "recorded");
    add("settings", log.settings);
    add("devices", devices_.text());
    add("unseen_waits",
        timing_.unseen_waits == 0 ? "" : fmt::format("{} added at ends of iterations", timing_.unseen_waits));
    if (match_.cut.timing < timing_.events.size()) {
      summary.begin_ns = timing_.events[match_.cut.timing].begin_ns;
      add("begins_at_ns", std::to_string(summary.begin_ns));
    }
    for (const auto& [key, value] : options_.attributes) add(key, value);
    add("access_pass",
        access_ == nullptr ? "none" : fmt::format("{} of {} launches matched", match_.matched, match_.compared));
    add("left_out", summary.dropped);
    const bool cut = !timing_.complete || (access_ != nullptr && !access_->complete);
    add("tensor_maps", timing_.maps_decoded ? fmt::format("decoded, {} encodings verified", timing_.maps_verified)
                       : timing_.maps_refused.empty() ? ""
                                                      : "not decoded: " + timing_.maps_refused);
    add("incomplete", cut ? "the program ended before its log did" : "");
    const std::uint64_t dropped = timing_.dropped + (access_ != nullptr ? access_->dropped : 0);
    add("dropped_records", dropped == 0 ? "" : std::to_string(dropped));
  }

  void add_time(const trace::Record& record) {
    const std::int64_t time = std::visit(
        [](const auto& r) -> std::int64_t {
          std::int64_t sum = 0;
          if constexpr (requires { r.host_gap_ns; }) sum += r.host_gap_ns;
          if constexpr (requires { r.duration_ns; }) sum += r.duration_ns;
          return sum;
        },
        record);
    if (time > trace::kMaxTimeNs - total_ns_) {
      throw_input_error("{}: its times add up to more than 2^61 nanoseconds", timing_.path);
    }
    total_ns_ += time;
  }

  // What a slot of the access pass is in the timing pass: a live thing, or an object that only the access pass saw, or
  // lost.
  struct Target {
    trace::ObjectId id = trace::kNoObject;
    ThingIndex thing = kNothing;
  };
  Target target(TimingPass& pass, ThingIndex thing, const TimingPass::Take& take) {
    if (partner_[thing] != kNothing) {
      const ThingIndex partner = partner_[thing];
      const bool live = partner < pass.world().things().size() && pass.world().things()[partner].live;
      return live ? Target{pass.id_of(partner), partner} : Target{};
    }
    if (pass_->world.things()[thing].kind != MemoryKind::kModule) return {};
    if (extra_[thing] == trace::kNoObject) extra_[thing] = pass.add_object(pass_->world.things()[thing], take);
    return {extra_[thing], kNothing};
  }

  void fill(TimingPass& pass, const Event& event, std::size_t number, trace::Kernel& kernel,
            const TimingPass::Take& take) {
    const std::size_t partner = access_ == nullptr ? kUnmatched : match_.access_of[number];
    const ResolvedLaunch* seen = partner == kUnmatched ? nullptr : &pass_->launches[partner];
    const bool instrumented = seen != nullptr && seen->patched;
    kernel.coverage = instrumented ? trace::Coverage::kInstrumented : trace::Coverage::kNone;
    std::vector<Slot> touched;
    if (instrumented) touched = add_seen(pass, *seen, kernel, take);
    const Launch& launch = timing_.launches[number];
    const auto copies = timing_.copies.find(launch.name);
    const bool has_copies = copies != timing_.copies.end() || !launch.maps.empty();
    if (!instrumented || has_copies || may_use_tensor_copies(kernel.name)) {
      const MapOperands maps =
          has_copies ? operands_of_maps(launch, copies == timing_.copies.end() ? nullptr : &copies->second)
                     : MapOperands{};
      add_given(pass, event, number, seen, maps, std::move(touched), kernel, take);
    }
    summary.coarsened += limit_size(kernel) ? 1 : 0;
    const bool linear =
        instrumented && kernel.phases.empty() && seen->linear && kernel.coverage == trace::Coverage::kInstrumented;
    kernel.distribution = linear ? trace::Distribution::kBlockLinear : trace::distribution_by_name(kernel.name);
  }

  // Adds the instrumented accesses. Returns them by thing of the timing pass.
  std::vector<Slot> add_seen(TimingPass& pass, const ResolvedLaunch& seen, trace::Kernel& kernel,
                             const TimingPass::Take& take) {
    constexpr std::uint32_t kLost = UINT32_MAX;
    struct Found {
      Target target;
      std::uint32_t slot;
    };
    std::vector<Found> found;
    kernel.unknown_accesses = seen.unknown;
    for (std::uint32_t slot = 0; slot < seen.slots.size(); ++slot) {
      const Target place = target(pass, seen.slots[slot].thing, take);
      if (place.id != trace::kNoObject) {
        found.push_back({place, slot});
        continue;
      }
      for (const trace::Extent& extent : seen.slots[slot].extents) {
        kernel.unknown_accesses += extent.count;
        summary.lost_quanta += extent.count;
      }
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.target.id < b.target.id; });
    std::vector<std::uint32_t> slot_of(seen.slots.size(), kLost);
    std::vector<Slot> touched;
    for (const Found& item : found) {
      slot_of[item.slot] = static_cast<std::uint32_t>(kernel.accesses.size());
      kernel.accesses.push_back({item.target.id, seen.slots[item.slot].extents});
      if (item.target.thing != kNothing) touched.push_back({item.target.thing, seen.slots[item.slot].extents});
    }
    for (const SlotPhase& phase : seen.phases) {
      trace::Phase& out = kernel.phases.edit().emplace_back();
      out.first_block = phase.first_block;
      out.block_count = phase.block_count;
      for (const trace::PhaseAccess& access : phase.accesses) {
        if (slot_of[access.slot] != kLost) out.accesses.push_back({slot_of[access.slot], access.extents});
      }
      std::sort(out.accesses.begin(), out.accesses.end(),
                [](const trace::PhaseAccess& a, const trace::PhaseAccess& b) { return a.slot < b.slot; });
    }
    for (const trace::FirstTouch& touch : seen.order) {
      if (slot_of[touch.slot] != kLost) kernel.order.push_back({slot_of[touch.slot], touch.unit});
    }
    for (const trace::UnitCount& item : seen.counts) {
      if (slot_of[item.slot] != kLost) kernel.counts.push_back({slot_of[item.slot], item.unit, item.count});
    }
    std::sort(kernel.counts.begin(), kernel.counts.end(), [](const trace::UnitCount& a, const trace::UnitCount& b) {
      return std::pair(a.slot, a.unit) < std::pair(b.slot, b.unit);
    });
    return touched;
  }

  // Returns the accesses that follow from the operator around the launch, or without one from its parameters.
  std::vector<Slot> given_of(TimingPass& pass, const Event& event, std::size_t number, const ResolvedLaunch* seen,
                             const TimingPass::Take& take, trace::Coverage& source) {
    source = trace::Coverage::kOperatorSchema;
    std::vector<Slot> given = pass.operators().operands(event.tid, pass.world());
    if (given.empty() && seen != nullptr) {
      for (const Slot& slot : seen->operands) {
        if (const Target place = target(pass, slot.thing, take); place.thing != kNothing) {
          given.push_back({place.thing, slot.extents});
        }
      }
    }
    if (given.empty()) {
      source = trace::Coverage::kParameters;
      given = of_parameters(timing_.launches[number].params, pass.world());
    }
    return given;
  }

  // Adds accesses that follow from tensor maps, operator or parameters, if the instrumentation saw nothing or missed
  // operands.
  void add_given(TimingPass& pass, const Event& event, std::size_t number, const ResolvedLaunch* seen,
                 const MapOperands& maps, std::vector<Slot>&& touched, trace::Kernel& kernel,
                 const TimingPass::Take& take) {
    const bool instrumented = kernel.coverage == trace::Coverage::kInstrumented;
    trace::Coverage source = trace::Coverage::kNone;
    std::vector<Slot> known = with_extents(touched, resolve_ranges(maps.ranges, pass.world()));
    std::vector<Slot> given;
    if (!instrumented || !maps.complete || !maps.undirected.empty()) {
      given = given_of(pass, event, number, seen, take, source);
    }
    if (!maps.undirected.empty()) {
      std::vector<Slot> undirected = resolve_ranges(maps.undirected, pass.world());
      const bool all = source == trace::Coverage::kOperatorSchema && take_modes(undirected, given);
      summary.undirected_maps += all ? 0 : 1;
      known = with_extents(known, undirected);
    }
    const bool missing =
        instrumented ? !maps.complete && misses_operands(known, given, pass.world()) : names_others(known, given);
    if (instrumented && !missing && maps.empty()) return;
    if (missing) {
      summary.tensor_copies += instrumented ? 1 : 0;
      kernel.coverage = given.empty() ? trace::Coverage::kNone : source;
      known = with_missing(std::move(known), given);
    } else {
      summary.by_tensor_maps += maps.empty() ? 0 : 1;
      kernel.coverage = maps.empty() ? trace::Coverage::kNone : trace::Coverage::kTensorMaps;
    }
    // Phases, order and counts describe only the instrumented part.
    kernel.phases.clear();
    kernel.order.clear();
    kernel.counts.clear();
    std::vector<trace::ObjectAccess> others;  // of objects that only the access pass saw
    for (trace::ObjectAccess& access : kernel.accesses) {
      const bool is_thing = std::any_of(touched.begin(), touched.end(),
                                        [&](const Slot& slot) { return pass.id_of(slot.thing) == access.object; });
      if (!is_thing) others.push_back(std::move(access));
    }
    kernel.accesses = std::move(others);
    for (Slot& slot : known) kernel.accesses.push_back({pass.id_of(slot.thing), std::move(slot.extents)});
    std::sort(kernel.accesses.begin(), kernel.accesses.end(),
              [](const trace::ObjectAccess& a, const trace::ObjectAccess& b) { return a.object < b.object; });
  }

  const PassLog& timing_;
  const PassLog* access_;
  MergeOptions options_;
  DeviceNumbers devices_;
  LaunchMatch match_;
  std::optional<AccessPass> pass_;
  std::vector<bool> timing_kept_;    // by thing of the timing pass: not freed before the cut; empty without access pass
  std::vector<ThingIndex> partner_;  // by thing of the access pass: the thing of the timing pass
  std::vector<trace::ObjectId> extra_;  // by thing of the access pass: the object created for it
  std::int64_t total_ns_ = 0;
};

Merger::Merger(const PassLog& timing, const PassLog* access, const MergeOptions& options)
    : state_(std::make_unique<State>(timing, access, options)) {}
Merger::~Merger() = default;
Merger::Merger(Merger&&) noexcept = default;

const trace::Header& Merger::header() const { return state_->header; }
void Merger::run(const std::function<void(const trace::Record&)>& take) { state_->run(take); }
const MergeSummary& Merger::summary() const { return state_->summary; }

}  // namespace uvmtrace
