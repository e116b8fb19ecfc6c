// SPDX-License-Identifier: Apache-2.0
#include "python/policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/convert.h"
#include "sim/common/error.h"
#include "sim/policy/registry.h"

namespace uvmsim::python {
namespace {

namespace py = pybind11;
using namespace uvmsim::policy;

constexpr const char* kOrigin = "Python";

// Gives a Python object access to arguments only during the call, because the object may outlive it.
template <class Seen>
class Lent {
 public:
  const Seen& get() const {
    if (seen_ == nullptr) throw std::runtime_error("this is valid only during the call that it was given to");
    return *seen_;
  }
  class During {
   public:
    During(Lent& lent, const Seen& seen) : lent_(lent) { lent_.seen_ = &seen; }
    ~During() { lent_.seen_ = nullptr; }

   private:
    Lent& lent_;
  };

 private:
  const Seen* seen_ = nullptr;
};

using LentBlock = Lent<FaultedBlock>;
using LentPrefetchQueries = Lent<PrefetchQueries>;
using LentEvictionQueries = Lent<EvictionQueries>;
using LentLaunch = Lent<KernelLaunch>;
using LentPlanQueries = Lent<PlanQueries>;
using LentFaultedPages = Lent<FaultedPages>;
using LentAccesses = Lent<RemoteAccesses>;
using LentMove = Lent<Move>;
using LentRouteQueries = Lent<RouteQueries>;
using LentBatchMoment = Lent<BatchMoment>;
using LentServedBatch = Lent<ServedBatch>;
using LentFaultBatch = Lent<FaultBatch>;
using LentKernelStart = Lent<KernelStart>;

// The future of a program, lent to a policy of class D4 during its lifetime.
class LentFuture {
 public:
  explicit LentFuture(const Future& future) : future_(&future) {}
  const Future& get() const {
    if (future_ == nullptr) throw std::runtime_error("the future is known during the run only");
    return *future_;
  }
  void take_back() { future_ = nullptr; }

 private:
  const Future* future_;
};

// A policy created by Python. When it is destroyed, its access to the future ends, even if its construction failed half
// way, because Python may keep references to both.
class Made {
 public:
  Made() = default;
  Made(Made&&) = default;
  ~Made() {
    if (future_) future_->take_back();
  }
  // Returns the future for a policy of class D4.
  py::object tell(const Future& future) {
    future_ = std::make_shared<LentFuture>(future);
    return py::cast(future_);
  }
  static py::object tell(const KernelFuture& future) { return py::cast(future); }

  py::object policy;

 private:
  std::shared_ptr<LentFuture> future_;
};

// Converts a processor: None is the host, a number is a GPU.
ProcessorId processor_of(std::optional<unsigned> gpu) {
  if (!gpu) return kHost;
  return *gpu < kMaxGpus ? gpu_processor(*gpu) : kNoProcessor;
}
std::optional<unsigned> gpu_of(ProcessorId processor) {
  return processor.is_host() ? std::nullopt : std::optional(processor.gpu());
}

const char* cause_name(MoveCause cause) {
  constexpr const char* kNames[] = {"fault", "prefetch", "access_counter", "user", "evict"};
  return kNames[static_cast<unsigned>(cause)];
}

// A method of a policy; a method that the class does not define is not called.
class Method {
 public:
  Method(const py::object& policy, const char* name) {
    if (py::hasattr(policy, name)) method_ = policy.attr(name);
  }
  explicit operator bool() const { return static_cast<bool>(method_); }
  template <class... Arguments>
  py::object operator()(Arguments&&... arguments) const {
    return method_(std::forward<Arguments>(arguments)...);
  }

 private:
  py::object method_;
};

// The common part of all adapters: the policy and its release.
template <class Slot>
class Adapter : public Slot {
 protected:
  Adapter(Made made, std::string label)
      : made_(std::move(made)), label_(std::move(label)), state_(made_.policy, "state") {}
  Method method(const char* name) const { return Method(made_.policy, name); }
  std::string says(const char* method) const { return fmt::format("{}: {}()", label_, method); }
  // Adds the bytes of state(), which must cover everything that later answers depend on. Without it no iteration counts
  // as recurring.
  void digest_state(StateDigest& digest) const {
    if (!state_) return digest.refuse();
    const py::object answer = state_();
    if (!py::isinstance<py::bytes>(answer)) throw py::type_error(says("state") + " returned no bytes");
    const std::string bytes = answer.cast<std::string>();
    digest.add(bytes.size());
    for (const char byte : bytes) digest.add(static_cast<unsigned char>(byte));
  }

  Made made_;
  std::string label_;
  Method state_;
};

// The optional methods of a policy of any slot: sim/policy/features.h.
class PythonListener : public FeatureListener {
 public:
  static constexpr const char* kHooks[] = {"on_faults", "on_kernel_start", "on_prefetch_used", "on_prefetch_wasted"};
  static bool wanted_by(const py::object& policy) {
    return std::any_of(std::begin(kHooks), std::end(kHooks),
                       [&](const char* hook) { return py::hasattr(policy, hook); });
  }

  explicit PythonListener(const py::object& policy)
      : faults_(policy, kHooks[0]),
        kernel_(policy, kHooks[1]),
        used_(policy, kHooks[2]),
        wasted_(policy, kHooks[3]),
        batch_(py::cast(LentFaultBatch())),
        start_(py::cast(LentKernelStart())) {}

  void on_faults(const FaultBatch& batch) override {
    if (!faults_) return;
    const LentFaultBatch::During during(batch_.cast<LentFaultBatch&>(), batch);
    faults_(batch_);
  }
  void on_kernel(const KernelStart& kernel) override {
    if (!kernel_) return;
    const LentKernelStart::During during(start_.cast<LentKernelStart&>(), kernel);
    kernel_(start_);
  }
  void on_prefetch_used(BlockIndex block, const PageMask& pages) override {
    if (used_) used_(block.value, to_python(pages));
  }
  void on_prefetch_wasted(BlockIndex block, const PageMask& pages) override {
    if (wasted_) wasted_(block.value, to_python(pages));
  }

 private:
  Method faults_, kernel_, used_, wasted_;
  py::object batch_, start_;
};

// The adapter from a policy in Python to one in C++, for each slot.
template <class Interface>
class PythonPolicy;

// An adapter for a policy that has any of a listener's methods.
template <class Interface>
class Listening final : public PythonPolicy<Interface>, public PythonListener {
 public:
  Listening(Made made, const std::string& label, const py::object& policy)
      : PythonPolicy<Interface>(std::move(made), label), PythonListener(policy) {}
};

template <>
class PythonPolicy<Prefetcher> : public Adapter<Prefetcher> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        prefetch_(method("prefetch")),
        beyond_(method("prefetch_beyond")),
        evicted_(method("on_evicted")),
        freed_(method("on_freed")),
        block_(py::cast(LentBlock())),
        queries_(py::cast(LentPrefetchQueries())) {}

  PageMask prefetch(const FaultedBlock& block) override {
    const LentBlock::During during(block_.cast<LentBlock&>(), block);
    return to_mask(prefetch_(block_), says("prefetch"));
  }
  void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries& queries,
                       std::vector<PageSpan>& spans) override {
    if (!beyond_) return;
    const LentBlock::During during(block_.cast<LentBlock&>(), block);
    const LentPrefetchQueries::During asking(queries_.cast<LentPrefetchQueries&>(), queries);
    const py::object answer = beyond_(block_, queries_);
    try {
      for (const auto& [first, end] : answer.cast<std::vector<std::pair<std::uint64_t, std::uint64_t>>>()) {
        spans.push_back({PageIndex(first), PageIndex(end)});
      }
    } catch (const py::cast_error&) {
      throw py::type_error(says("prefetch_beyond") + " returned no list of pairs of pages (first, end)");
    }
  }
  void on_evicted(BlockIndex block, const PageMask& pages, const PageMask& touched) override {
    if (evicted_) evicted_(block.value, to_python(pages), to_python(touched));
  }
  void on_freed(BlockIndex block) override {
    if (freed_) freed_(block.value);
  }
  void add_state(StateDigest& digest) const override { digest_state(digest); }

 private:
  Method prefetch_, beyond_, evicted_, freed_;
  py::object block_, queries_;
};

template <>
class PythonPolicy<Evictor> : public Adapter<Evictor> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        allocated_(method("on_allocated")),
        process_(method("on_process")),
        migrated_(method("on_migrated")),
        emptied_(method("on_emptied")),
        discarded_(method("on_discarded")),
        released_(method("on_released")),
        freed_(method("on_freed")),
        touched_(method("on_touched")),
        victim_(method("select_victim")),
        early_(method("select_early_victim")),
        queries_(py::cast(LentEvictionQueries())) {}

  void on_allocated(ChunkId chunk, ContentIndex content) override {
    if (allocated_) allocated_(chunk.value, content.value);
  }
  void on_process(ChunkId chunk, std::uint32_t process) override {
    if (process_) process_(chunk.value, process);
  }
  void on_migrated(ChunkId chunk) override {
    if (migrated_) migrated_(chunk.value);
  }
  void on_emptied(ChunkId chunk) override {
    if (emptied_) {
      emptied_(chunk.value);
    } else {
      on_migrated(chunk);
    }
  }
  void on_discarded(ChunkId chunk) override {
    if (discarded_) {
      discarded_(chunk.value);
    } else {
      on_emptied(chunk);
    }
  }
  void on_released(ChunkId chunk) override {
    if (released_) released_(chunk.value);
  }
  void on_freed(ContentIndex content) override {
    if (freed_) freed_(content.value);
  }
  void on_touched(ChunkId chunk) override {
    if (touched_) touched_(chunk.value);
  }
  ChunkId select_victim(const EvictionQueries& queries) override { return ask(victim_, "select_victim", queries); }
  ChunkId select_early_victim(const EvictionQueries& queries) override {
    return early_ ? ask(early_, "select_early_victim", queries) : ChunkId{};
  }
  // Python names chunks by id, so equal states must have the same content in every chunk.
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    for (const std::uint64_t name : names) digest.add(name);
    digest_state(digest);
  }

 private:
  ChunkId ask(const Method& method, const char* name, const EvictionQueries& queries) {
    const LentEvictionQueries::During asking(queries_.cast<LentEvictionQueries&>(), queries);
    return to_chunk(method(queries_), says(name));
  }

  Method allocated_, process_, migrated_, emptied_, discarded_, released_, freed_, touched_, victim_, early_;
  py::object queries_;
};

template <>
class PythonPolicy<Planner> : public Adapter<Planner> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        launched_(method("on_launched")),
        begin_(method("on_begin")),
        end_(method("on_end")),
        faulted_(method("on_faulted")),
        migrated_(method("on_migrated")),
        released_(method("on_released")),
        next_(method("next")),
        victim_(method("victim")),
        launch_(py::cast(LentLaunch())),
        queries_(py::cast(LentPlanQueries())) {}

  void on_launched(const KernelLaunch& kernel) override { tell(launched_, kernel); }
  void on_begin(const KernelLaunch& kernel) override { tell(begin_, kernel); }
  void on_end(std::uint64_t number) override {
    if (end_) end_(number);
  }
  void on_faulted(BlockIndex block, const PageMask& pages) override {
    if (faulted_) faulted_(block.value, to_python(pages));
  }
  void on_migrated(BlockIndex block) override {
    if (migrated_) migrated_(block.value);
  }
  void on_released(BlockIndex block) override {
    if (released_) released_(block.value);
  }
  PlanCommand next(const PlanQueries& queries) override { return ask(next_, "next", queries); }
  PlanCommand victim(const PlanQueries& queries) override {
    return victim_ ? ask(victim_, "victim", queries) : PlanCommand{};
  }

 private:
  void tell(const Method& method, const KernelLaunch& kernel) {
    if (!method) return;
    const LentLaunch::During during(launch_.cast<LentLaunch&>(), kernel);
    method(launch_);
  }
  PlanCommand ask(const Method& method, const char* name, const PlanQueries& queries) {
    const LentPlanQueries::During asking(queries_.cast<LentPlanQueries&>(), queries);
    return command_of(method(queries_), says(name));
  }
  // Accepts None, ("prefetch", block, pages), ("evict", block), ("drop", block), ("wait", ns); a latency in ns may
  // follow the first three.
  static PlanCommand command_of(const py::object& answer, const std::string& what) {
    if (answer.is_none()) return {};
    if (py::isinstance<py::tuple>(answer)) {
      const auto parts = py::reinterpret_borrow<py::tuple>(answer);
      const bool named = parts.size() > 1 && py::isinstance<py::str>(parts[0]) && PyLong_Check(parts[1].ptr());
      const std::string kind = named ? parts[0].cast<std::string>() : "";
      if (kind == "wait" && parts.size() == 2) return {PlanCommand::Kind::kWait, {}, {}, time_of(parts[1])};
      const std::size_t usual = kind == "prefetch" ? 3 : kind == "evict" || kind == "drop" ? 2 : 0;
      const bool late = parts.size() == usual + 1 && PyLong_Check(parts[usual].ptr());
      if (usual != 0 && (parts.size() == usual || late)) {
        const BlockIndex block(parts[1].cast<std::uint64_t>());
        const Nanoseconds latency = late ? time_of(parts[usual]) : Nanoseconds{};
        if (kind == "prefetch") return {PlanCommand::Kind::kPrefetch, block, to_mask(parts[2], what), latency};
        return {kind == "evict" ? PlanCommand::Kind::kEvict : PlanCommand::Kind::kDrop, block, {}, latency};
      }
    }
    throw py::type_error(fmt::format(
        "{} returned {}; allowed: None, ('prefetch', block, pages), ('evict', block), ('drop', block), each "
        "with a latency in ns after it or none, ('wait', ns)",
        what, py::repr(answer).cast<std::string>()));
  }
  static Nanoseconds time_of(const py::handle& ns) { return Nanoseconds(ns.cast<std::int64_t>()); }

  Method launched_, begin_, end_, faulted_, migrated_, released_, next_, victim_;
  py::object launch_, queries_;
};

template <>
class PythonPolicy<Migrator> : public Adapter<Migrator> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        rest_(method("rest")),
        fetch_(method("fetch")),
        evicted_(method("on_evicted")),
        migrated_(method("on_migrated")),
        kernel_(method("on_kernel")),
        freed_(method("on_freed")),
        pages_(py::cast(LentFaultedPages())),
        accesses_(py::cast(LentAccesses())) {}

  // Accepts an int, or two: all remote-mapped pages, and those of them that may be written.
  RestingPages rest(const FaultedPages& faulted) override {
    const LentFaultedPages::During during(pages_.cast<LentFaultedPages&>(), faulted);
    const py::object answer = rest_(pages_);
    if (!py::isinstance<py::tuple>(answer)) {
      const PageMask pages = to_mask(answer, says("rest"));
      return {pages, pages};
    }
    const auto both = answer.cast<py::tuple>();
    if (both.size() != 2) throw py::type_error(says("rest") + " returned a tuple; allowed: (pages, writable)");
    return {to_mask(both[0], says("rest")), to_mask(both[1], says("rest"))};
  }
  PageMask fetch(const RemoteAccesses& accesses) override {
    if (!fetch_) return {};
    const LentAccesses::During during(accesses_.cast<LentAccesses&>(), accesses);
    return to_mask(fetch_(accesses_), says("fetch"));
  }
  bool on_evicted(BlockIndex block, const PageMask& pages) override {
    return evicted_ && py::bool_(evicted_(block.value, to_python(pages)));
  }
  void on_migrated(BlockIndex block, const PageMask& pages) override {
    if (migrated_) migrated_(block.value, to_python(pages));
  }
  void on_kernel(std::uint32_t) override {
    if (kernel_) kernel_();
  }
  void on_freed(BlockIndex block) override {
    if (freed_) freed_(block.value);
  }
  void add_state(StateDigest& digest) const override { digest_state(digest); }

 private:
  Method rest_, fetch_, evicted_, migrated_, kernel_, freed_;
  py::object pages_, accesses_;
};

template <>
class PythonPolicy<Router> : public Adapter<Router> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        route_(method("route")),
        kernels_(method("on_kernels")),
        move_(py::cast(LentMove())),
        queries_(py::cast(LentRouteQueries())) {}

  Route route(const Move& move, const RouteQueries& queries) override {
    const LentMove::During during(move_.cast<LentMove&>(), move);
    const LentRouteQueries::During asking(queries_.cast<LentRouteQueries&>(), queries);
    return route_of(route_(move_, queries_), says("route"));
  }
  void on_kernels(unsigned gpu, unsigned running) override {
    if (kernels_) kernels_(gpu, running);
  }
  void add_state(StateDigest& digest) const override { digest_state(digest); }

 private:
  // Accepts None, "host", "later", ("gpu", number), ("spare", number), ("striped", weight, {number: weight}).
  static Route route_of(const py::object& answer, const std::string& what) {
    if (answer.is_none()) return {};
    if (py::isinstance<py::str>(answer)) {
      const auto way = answer.cast<std::string>();
      if (way == "host") return {Route::Way::kHost, 0};
      if (way == "later") return {Route::Way::kLater, 0};
    }
    if (py::isinstance<py::tuple>(answer)) {
      const auto parts = py::reinterpret_borrow<py::tuple>(answer);
      if (parts.size() == 2 && py::isinstance<py::str>(parts[0]) && PyLong_Check(parts[1].ptr())) {
        const auto way = parts[0].cast<std::string>();
        const auto gpu = parts[1].cast<unsigned>();
        if (way == "gpu") return {Route::Way::kGpu, gpu};
        if (way == "spare") return {Route::Way::kSpare, gpu};
      }
      if (parts.size() == 3 && py::isinstance<py::str>(parts[0]) && parts[0].cast<std::string>() == "striped") {
        try {
          Route route{Route::Way::kStriped, 0};
          route.direct = parts[1].cast<std::uint16_t>();
          for (const auto& [gpu, weight] : parts[2].cast<std::map<unsigned, std::uint16_t>>()) {
            if (gpu >= kMaxGpus) return {Route::Way::kGpu, gpu};  // the number is refused later
            route.through[gpu] = weight;
          }
          return route;
        } catch (const py::cast_error&) {  // see below
        }
      }
    }
    throw py::type_error(
        fmt::format("{} returned {}; allowed: None, 'host', 'later', ('gpu', number), ('spare', number), "
                    "('striped', weight, {{number: weight}}), weights below 65536",
                    what, py::repr(answer).cast<std::string>()));
  }

  Method route_, kernels_;
  py::object move_, queries_;
};

template <>
class PythonPolicy<Batcher> : public Adapter<Batcher> {
 public:
  PythonPolicy(Made made, const std::string& label)
      : Adapter(std::move(made), label),
        shape_(method("shape")),
        arrange_(method("arrange")),
        sms_(method("running_sms")),
        moment_(py::cast(LentBatchMoment())),
        faults_(py::cast(LentFaultBatch())),
        served_(py::cast(LentServedBatch())) {}

  // Accepts None, or (faults, delay in ns).
  BatchShape shape(const BatchMoment& moment) override {
    if (!shape_) return {};
    const LentBatchMoment::During during(moment_.cast<LentBatchMoment&>(), moment);
    const py::object answer = shape_(moment_);
    if (answer.is_none()) return {};
    try {
      const auto [faults, delay] = answer.cast<std::pair<std::uint32_t, std::int64_t>>();
      return {faults, Nanoseconds(delay)};
    } catch (const py::cast_error&) {
      throw py::type_error(says("shape") + " returned no pair (faults, delay in ns), and not None");
    }
  }
  void arrange(const FaultBatch& batch, std::vector<BlockIndex>& first) override {
    if (!arrange_) return;
    const LentFaultBatch::During during(faults_.cast<LentFaultBatch&>(), batch);
    const py::object answer = arrange_(faults_);
    try {
      for (const std::uint64_t block : answer.cast<std::vector<std::uint64_t>>()) first.emplace_back(block);
    } catch (const py::cast_error&) {
      throw py::type_error(says("arrange") + " returned no list of blocks");
    }
  }
  std::uint32_t running_sms(const ServedBatch& batch) override {
    if (!sms_) return 0;
    const LentServedBatch::During during(served_.cast<LentServedBatch&>(), batch);
    const py::object answer = sms_(served_);
    try {
      return answer.is_none() ? 0 : answer.cast<std::uint32_t>();
    } catch (const py::cast_error&) {
      throw py::type_error(says("running_sms") + " returned no number of SMs, and not None");
    }
  }
  void add_state(StateDigest& digest) const override { digest_state(digest); }

 private:
  Method shape_, arrange_, sms_;
  py::object moment_, faults_, served_;
};

// The argument of the constructor of a policy in Python.
struct Context {
  py::dict parameters;
  Random random;
  std::uint32_t chunk_count;
  std::uint64_t chunk_bytes;
  py::object future;  // None except for class D4
};

Context context_of(const PolicyContext& given, const ParameterTable& table) {
  Context context{py::dict(), given.random, given.chunk_count, given.chunk_bytes, py::none()};
  for (const Parameter& parameter : table) {
    const py::str name(parameter.name);
    switch (parameter.type) {
      case ParameterType::kInteger:
        context.parameters[name] = given.parameters.integer(parameter.name);
        break;
      case ParameterType::kReal:
        context.parameters[name] = given.parameters.real(parameter.name);
        break;
      case ParameterType::kBoolean:
        context.parameters[name] = given.parameters.boolean(parameter.name);
        break;
      case ParameterType::kChoice:
        context.parameters[name] = given.parameters.choice(parameter.name);
        break;
      case ParameterType::kText:
        context.parameters[name] = given.parameters.text(parameter.name);
        break;
      case ParameterType::kPath: {
        const std::string* contents = given.parameters.file(parameter.name);
        context.parameters[name] = contents == nullptr ? py::object(py::none()) : py::object(py::bytes(*contents));
        break;
      }
    }
  }
  return context;
}

InformationClass class_of(const std::string& name) {
  for (const InformationClass information : {InformationClass::kD0, InformationClass::kD1, InformationClass::kD2,
                                             InformationClass::kD3, InformationClass::kD4}) {
    if (information_class_name(information) == name) return information;
  }
  throw_input_error("information_class: '{}' is not allowed; allowed: D0, D1, D2, D3, D4", name);
}

// Returns a factory of policies of the class `factory`.
template <class Interface>
Factory<Interface> maker(const PolicyEntry& entry, const py::object& factory) {
  return [factory, label = entry.label(), table = entry.parameters, wants_future = entry.wants_future](
             const PolicyContext& given, const FutureOf<Interface>* future) -> std::shared_ptr<Interface> {
    Made made;
    Context context = context_of(given, table);
    if (wants_future) context.future = made.tell(*future);
    made.policy = factory(context);
    if (!PythonListener::wanted_by(made.policy)) {
      return std::make_shared<PythonPolicy<Interface>>(std::move(made), label);
    }
    const py::object policy = made.policy;
    return std::make_shared<Listening<Interface>>(std::move(made), label, policy);
  };
}

void register_policy(Registry& registry, const std::string& slot, PolicyInfo info, const std::string& information,
                     std::int64_t decision_cost_ns, ParameterTable parameters, const py::object& factory) {
  info.information = class_of(information);
  info.decision_cost = Nanoseconds(decision_cost_ns);
  PolicyEntry entry;
  entry.info = std::move(info);
  entry.parameters = std::move(parameters);
  entry.origin = kOrigin;
  entry.wants_future = entry.info.information == InformationClass::kD4;
  std::vector<std::string_view> allowed;
  bool known = false;
  Slots::for_each([&]<class Interface>() {
    if constexpr (requires { sizeof(PythonPolicy<Interface>); }) {
      allowed.push_back(slot_name(kSlotOf<Interface>));
      if (slot != allowed.back()) return;
      known = true;
      entry.slot = kSlotOf<Interface>;
      entry.fill<Interface>(maker<Interface>(entry, factory));
    }
  });
  if (!known) throw_input_error("slot: '{}' is not allowed; allowed: {}", slot, fmt::join(allowed, ", "));
  registry.add_or_replace(std::move(entry));
}

void add_parameters(py::module_& module) {
  py::class_<Parameter>(module, "Parameter",
                        "the declaration of a parameter: integer(), real(), boolean(), choice(), text(), "
                        "path()")
      .def_readonly("name", &Parameter::name)
      .def_readonly("doc", &Parameter::doc);
  module.def(
      "integer",
      [](std::string name, std::int64_t value, std::pair<std::int64_t, std::int64_t> range, std::string doc) {
        return integer(std::move(name), value, {range.first, range.second}, std::move(doc));
      },
      py::arg("name"), py::arg("default"), py::arg("range"), py::arg("doc"));
  module.def(
      "real",
      [](std::string name, double value, std::pair<double, double> range, std::string doc) {
        return real(std::move(name), value, {range.first, range.second}, std::move(doc));
      },
      py::arg("name"), py::arg("default"), py::arg("range"), py::arg("doc"));
  module.def("boolean", &boolean, py::arg("name"), py::arg("default"), py::arg("doc"));
  module.def("text", &text, py::arg("name"), py::arg("default"), py::arg("doc"));
  module.def("path", &path, py::arg("name"), py::arg("doc"),
             "a file; the policy gets what it contains as bytes, or None");
  module.def("choice", &choice, py::arg("name"), py::arg("default"), py::arg("choices"), py::arg("doc"));
}

// Converts a position to Python, with None for never.
std::optional<Future::Position> position_of(Future::Position position) {
  return position == Future::kNever ? std::nullopt : std::optional(position);
}

void add_futures(py::module_& module) {
  py::class_<LentFuture, std::shared_ptr<LentFuture>>(module, "Future",
                                                      "the uses of a program in its order; sim/policy/future.h")
      .def_property_readonly("now", [](const LentFuture& lent) { return lent.get().now(); })
      .def("__len__", [](const LentFuture& lent) { return lent.get().end(); })
      .def(
          "at",
          [](const LentFuture& lent, Future::Position position) -> std::optional<std::uint64_t> {
            if (position >= lent.get().end()) {
              throw py::index_error(fmt::format("position {}; allowed: below {}", position, lent.get().end()));
            }
            const ContentIndex content = lent.get().at(position);
            return content == Future::kNothing ? std::nullopt : std::optional(content.value);
          },
          py::arg("position"), "the content that is used there; None where memory is freed")
      .def(
          "next_use",
          [](const LentFuture& lent, std::uint64_t content, std::optional<Future::Position> from) {
            return position_of(lent.get().next_use(ContentIndex(content), from.value_or(lent.get().now())));
          },
          py::arg("content"), py::arg("from_position") = py::none(),
          "the first use from there on, by default from now on; None if it is freed before, or there is none")
      .def("operation_begin",
           [](const LentFuture& lent, Future::Position at) { return lent.get().operation_begin(at); })
      .def("operation_end", [](const LentFuture& lent, Future::Position at) { return lent.get().operation_end(at); })
      .def("operation_contents",
           [](const LentFuture& lent, Future::Position at) { return lent.get().operation_contents(at); });
  py::class_<KernelFuture>(module, "KernelFuture", "the kernels of a program; sim/policy/kernel_future.h")
      .def_property_readonly(
          "kernels",
          [](const KernelFuture& future) {
            py::list kernels;
            for (const FutureKernel& kernel : future.kernels) {
              py::list uses;
              for (const FutureUse& use : kernel.uses) uses.append(py::make_tuple(use.block.value, use.object));
              kernels.append(py::make_tuple(kernel.duration.value, uses));
            }
            return kernels;
          },
          "a new list: by number of the kernel (duration in ns, [(block, object), ...])")
      .def_readonly("chunks", &KernelFuture::chunks)
      .def_readonly("htod_bytes_per_us", &KernelFuture::htod_bytes_per_us)
      .def_readonly("dtoh_bytes_per_us", &KernelFuture::dtoh_bytes_per_us)
      .def_property_readonly("link_latency_ns", [](const KernelFuture& future) { return future.link_latency.value; });
}

void add_what_policies_see(py::module_& module) {
  py::class_<Random>(module, "Random", "random numbers that follow from the run's seed")
      .def("next", &Random::next, "64 random bits")
      .def(
          "below",
          [](Random& random, std::uint64_t bound) {
            if (bound == 0) throw py::value_error("below(0): allowed: at least 1");
            return random.below(bound);
          },
          py::arg("bound"), "uniform in [0, bound)");
  py::class_<Context>(module, "Context", "what a policy is made with: parameters, random numbers, size of memory")
      .def_readonly("parameters", &Context::parameters)
      .def_readonly("random", &Context::random)
      .def_readonly("chunk_count", &Context::chunk_count)
      .def_readonly("chunk_bytes", &Context::chunk_bytes)
      .def_readonly("future", &Context::future);
  add_futures(module);
  py::class_<LentBlock>(module, "FaultedBlock", "one 2 MB block as faults on it are served; sim/policy/policy.h")
      .def_property_readonly("block", [](const LentBlock& lent) { return lent.get().block.value; })
      .def_property_readonly("allocation",
                             [](const LentBlock& lent) {
                               const PageSpan& span = lent.get().allocation;
                               return std::pair(span.first.value, span.end.value);
                             })
      .def_property_readonly("first_page", [](const LentBlock& lent) { return lent.get().first_page; })
      .def_property_readonly("end_page", [](const LentBlock& lent) { return lent.get().end_page; })
      .def_property_readonly("resident", [](const LentBlock& lent) { return to_python(lent.get().resident); })
      .def_property_readonly("faulted", [](const LentBlock& lent) { return to_python(lent.get().faulted); })
      .def_property_readonly("thrashing", [](const LentBlock& lent) { return to_python(lent.get().thrashing); })
      .def_property_readonly("destination_is_preferred",
                             [](const LentBlock& lent) { return lent.get().destination_is_preferred; })
      .def_property_readonly("process", [](const LentBlock& lent) { return lent.get().process; })
      .def_property_readonly("resident_nowhere", [](const LentBlock& lent) { return lent.get().resident_nowhere; })
      .def_property_readonly("to_host", [](const LentBlock& lent) { return lent.get().to_host; })
      .def_property_readonly("now_ns", [](const LentBlock& lent) { return lent.get().now.value; });
  py::class_<LentPrefetchQueries>(module, "PrefetchQueries", "what a prefetcher may ask")
      .def(
          "missing",
          [](const LentPrefetchQueries& lent, std::uint64_t block) {
            return to_python(lent.get().missing(BlockIndex(block)));
          },
          py::arg("block"))
      .def_property_readonly("free_chunks", [](const LentPrefetchQueries& lent) { return lent.get().free_chunks(); });
  py::class_<ChunkView>(module, "ChunkView", "what a chunk holds")
      .def_property_readonly("content", [](const ChunkView& view) { return view.content.value; })
      .def_readonly("resident_pages", &ChunkView::resident_pages)
      .def_readonly("unsaved_pages", &ChunkView::unsaved_pages);
  py::class_<LentEvictionQueries>(module, "EvictionQueries", "what an evictor may ask")
      .def(
          "evictable",
          [](const LentEvictionQueries& lent, std::uint32_t chunk) { return lent.get().evictable({chunk}); },
          py::arg("chunk"))
      .def(
          "view", [](const LentEvictionQueries& lent, std::uint32_t chunk) { return lent.get().view({chunk}); },
          py::arg("chunk"))
      .def_property_readonly("incoming", [](const LentEvictionQueries& lent) { return lent.get().incoming().value; })
      .def_property_readonly("process", [](const LentEvictionQueries& lent) { return lent.get().process(); })
      .def_property_readonly("free_chunks", [](const LentEvictionQueries& lent) { return lent.get().free_chunks(); })
      .def_property_readonly("now_ns", [](const LentEvictionQueries& lent) { return lent.get().now().value; });
  py::class_<LentFaultBatch>(module, "FaultBatch", "what the driver fetched of one process; sim/policy/features.h")
      .def_property_readonly("process", [](const LentFaultBatch& lent) { return lent.get().process; })
      .def_property_readonly("now_ns", [](const LentFaultBatch& lent) { return lent.get().now.value; })
      .def_property_readonly(
          "faults",
          [](const LentFaultBatch& lent) {
            py::list faults;
            for (const FaultRecord& fault : lent.get().faults) {
              faults.append(
                  py::make_tuple(fault.page.value, fault.sm, fault.write, fault.instances, fault.arrival.value));
            }
            return faults;
          },
          "in the order of the buffer: (page, sm, write, instances, arrival in ns)");
  py::class_<LentKernelStart>(module, "KernelStart", "a kernel as it begins; sim/policy/features.h")
      .def_property_readonly("name", [](const LentKernelStart& lent) { return std::string(lent.get().name); })
      .def_property_readonly("layer", [](const LentKernelStart& lent) { return lent.get().layer; })
      .def_property_readonly("thread_blocks", [](const LentKernelStart& lent) { return lent.get().thread_blocks; })
      .def_property_readonly("threads_per_block",
                             [](const LentKernelStart& lent) { return lent.get().threads_per_block; })
      .def_property_readonly("now_ns", [](const LentKernelStart& lent) { return lent.get().now.value; });
  py::class_<LentBatchMoment>(module, "BatchMoment", "a batch that is about to be fetched; sim/policy/batcher.h")
      .def_property_readonly("now_ns", [](const LentBatchMoment& lent) { return lent.get().now.value; })
      .def_property_readonly("oldest_ns", [](const LentBatchMoment& lent) { return lent.get().oldest.value; })
      .def_property_readonly("waited_ns", [](const LentBatchMoment& lent) { return lent.get().waited.value; })
      .def_property_readonly("waiting", [](const LentBatchMoment& lent) { return lent.get().waiting; })
      .def_property_readonly("driver_faults", [](const LentBatchMoment& lent) { return lent.get().driver_faults; })
      .def_property_readonly("buffer_entries", [](const LentBatchMoment& lent) { return lent.get().buffer_entries; })
      .def_property_readonly("free_chunks", [](const LentBatchMoment& lent) { return lent.get().memory.free_chunks; });
  py::class_<LentServedBatch>(module, "ServedBatch", "a batch that is about to be replayed; sim/policy/batcher.h")
      .def_property_readonly("begin_ns", [](const LentServedBatch& lent) { return lent.get().begin.value; })
      .def_property_readonly("end_ns", [](const LentServedBatch& lent) { return lent.get().end.value; })
      .def_property_readonly("raw_faults", [](const LentServedBatch& lent) { return lent.get().raw_faults; })
      .def_property_readonly("blocks", [](const LentServedBatch& lent) { return lent.get().blocks; })
      .def_property_readonly("evictions", [](const LentServedBatch& lent) { return lent.get().evictions; })
      .def_property_readonly("sms", [](const LentServedBatch& lent) { return lent.get().sms; })
      .def_property_readonly("free_chunks", [](const LentServedBatch& lent) { return lent.get().memory.free_chunks; });
  py::class_<LentLaunch>(module, "KernelLaunch", "a kernel as whoever wraps its launch sees it; sim/policy/planner.h")
      .def_property_readonly("number", [](const LentLaunch& lent) { return lent.get().number; })
      .def_property_readonly("name", [](const LentLaunch& lent) { return std::string(lent.get().name); })
      .def_property_readonly("thread_blocks", [](const LentLaunch& lent) { return lent.get().thread_blocks; })
      .def_property_readonly("threads_per_block", [](const LentLaunch& lent) { return lent.get().threads_per_block; })
      .def_property_readonly(
          "arguments",
          [](const LentLaunch& lent) {
            py::list all;
            for (const KernelArgument& argument : lent.get().arguments) {
              py::list memory;
              for (const BlockPages& part : argument.memory) {
                memory.append(py::make_tuple(part.block.value, to_python(part.pages)));
              }
              all.append(py::make_tuple(argument.address, memory));
            }
            return all;
          },
          "pointers to managed memory: (address, [(block, pages), ...])");
  py::class_<LentFaultedPages>(module, "FaultedPages", "pages of a block that fault; sim/policy/migrator.h")
      .def_property_readonly("block", [](const LentFaultedPages& lent) { return lent.get().block.value; })
      .def_property_readonly("range", [](const LentFaultedPages& lent) { return lent.get().range.value; })
      .def_property_readonly("reads", [](const LentFaultedPages& lent) { return to_python(lent.get().reads); })
      .def_property_readonly("writes", [](const LentFaultedPages& lent) { return to_python(lent.get().writes); })
      .def_property_readonly("on_host", [](const LentFaultedPages& lent) { return to_python(lent.get().on_host); })
      .def_property_readonly("chunks", [](const LentFaultedPages& lent) { return lent.get().memory.chunks; })
      .def_property_readonly("free_chunks", [](const LentFaultedPages& lent) { return lent.get().memory.free_chunks; })
      .def_property_readonly("oversubscribed",
                             [](const LentFaultedPages& lent) { return lent.get().memory.oversubscribed; })
      .def_property_readonly("now_ns", [](const LentFaultedPages& lent) { return lent.get().now.value; })
      .def_property_readonly("process", [](const LentFaultedPages& lent) { return lent.get().process; });
  py::class_<LentAccesses>(module, "RemoteAccesses", "pages that rest on the host and were touched there")
      .def_property_readonly("block", [](const LentAccesses& lent) { return lent.get().block.value; })
      .def_property_readonly("range", [](const LentAccesses& lent) { return lent.get().range.value; })
      .def_property_readonly("pages", [](const LentAccesses& lent) { return to_python(lent.get().pages); })
      .def_property_readonly("accesses", [](const LentAccesses& lent) { return lent.get().accesses; })
      .def_property_readonly("chunks", [](const LentAccesses& lent) { return lent.get().memory.chunks; })
      .def_property_readonly("free_chunks", [](const LentAccesses& lent) { return lent.get().memory.free_chunks; })
      .def_property_readonly("oversubscribed",
                             [](const LentAccesses& lent) { return lent.get().memory.oversubscribed; })
      .def_property_readonly("process", [](const LentAccesses& lent) { return lent.get().process; });
  py::class_<LentPlanQueries>(module, "PlanQueries", "what a planner may ask")
      .def(
          "missing",
          [](const LentPlanQueries& lent, std::uint64_t block) {
            return to_python(lent.get().missing(BlockIndex(block)));
          },
          py::arg("block"))
      .def(
          "evictable",
          [](const LentPlanQueries& lent, std::uint64_t block) { return lent.get().evictable(BlockIndex(block)); },
          py::arg("block"))
      .def(
          "inactive",
          [](const LentPlanQueries& lent, std::uint64_t block) { return lent.get().inactive(BlockIndex(block)); },
          py::arg("block"))
      .def_property_readonly("free_chunks", [](const LentPlanQueries& lent) { return lent.get().free_chunks(); })
      .def_property_readonly("now_ns", [](const LentPlanQueries& lent) { return lent.get().now().value; });
  py::class_<LentMove>(module, "Move", "pages of a block that are about to move; sim/policy/router.h")
      .def_property_readonly("block", [](const LentMove& lent) { return lent.get().block.value; })
      .def_property_readonly(
          "source", [](const LentMove& lent) { return gpu_of(lent.get().from); }, "GPU, or None: the host")
      .def_property_readonly("destination", [](const LentMove& lent) { return gpu_of(lent.get().to); })
      .def_property_readonly("bytes", [](const LentMove& lent) { return lent.get().bytes; })
      .def_property_readonly("cause", [](const LentMove& lent) { return cause_name(lent.get().cause); })
      .def_property_readonly("may_stay", [](const LentMove& lent) { return lent.get().may_stay; })
      .def_property_readonly("may_wait", [](const LentMove& lent) { return lent.get().may_wait; })
      .def_property_readonly("now_ns", [](const LentMove& lent) { return lent.get().now.value; });
  py::class_<LentRouteQueries>(module, "RouteQueries", "what a router may ask; None is the host, else a GPU's number")
      .def_property_readonly("gpu_count", [](const LentRouteQueries& lent) { return lent.get().gpu_count(); })
      .def(
          "joined",
          [](const LentRouteQueries& lent, std::optional<unsigned> source, std::optional<unsigned> destination) {
            return lent.get().joined(processor_of(source), processor_of(destination));
          },
          py::arg("source"), py::arg("destination"))
      .def(
          "busy_until_ns",
          [](const LentRouteQueries& lent, std::optional<unsigned> source, std::optional<unsigned> destination) {
            return lent.get().busy_until(processor_of(source), processor_of(destination)).value;
          },
          py::arg("source"), py::arg("destination"))
      .def(
          "unloaded_time_ns",
          [](const LentRouteQueries& lent, std::optional<unsigned> source, std::optional<unsigned> destination,
             std::uint64_t bytes) {
            return lent.get().unloaded_time(processor_of(source), processor_of(destination), bytes).value;
          },
          py::arg("source"), py::arg("destination"), py::arg("bytes"))
      .def("free_chunks", [](const LentRouteQueries& lent, unsigned gpu) { return lent.get().free_chunks(gpu); })
      .def("has_room", [](const LentRouteQueries& lent, unsigned gpu) { return lent.get().has_room(gpu); })
      .def("path_full", [](const LentRouteQueries& lent, unsigned gpu) { return lent.get().path_full(gpu); })
      .def("pending_chunks", [](const LentRouteQueries& lent, unsigned gpu) { return lent.get().pending_chunks(gpu); })
      .def("harvests", [](const LentRouteQueries& lent, unsigned gpu) { return lent.get().harvests(gpu); });
}

}  // namespace

void add_policies(py::module_& module, const std::shared_ptr<policy::Registry>& registry) {
  add_parameters(module);
  add_what_policies_see(module);
  module.def(
      "register_policy",
      [registry](const std::string& slot, std::string name, std::string description, std::string source,
                 const std::string& information, std::int64_t decision_cost_ns, ParameterTable parameters,
                 const py::object& factory) {
        PolicyInfo info;
        info.name = std::move(name);
        info.description = std::move(description);
        info.source = std::move(source);
        register_policy(*registry, slot, std::move(info), information, decision_cost_ns, std::move(parameters),
                        factory);
      },
      py::arg("slot"), py::arg("name"), py::arg("description"), py::arg("source"), py::arg("information_class"),
      py::arg("decision_cost_ns"), py::arg("parameters"), py::arg("factory"));
}

}  // namespace uvmsim::python
