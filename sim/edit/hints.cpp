// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/hints.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/common/wildcard.h"
#include "sim/edit/iteration_plan.h"
#include "sim/formats/decimal.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {
namespace {

using When = HintRule::When;
using Do = HintRule::Do;

// The names are in the order of the enums.
constexpr std::array<std::string_view, 5> kWhenNames = {"tensor_alloc", "tensor_free", "object_alloc", "kernel",
                                                        "iteration"};
constexpr std::array<std::string_view, 13> kDoNames = {
    "pin",       "unpin",      "read_mostly", "prefer_gpu", "prefer_host", "accessed_by",  "prefetch",
    "dont_need", "as_managed", "as_device",   "as_pinned",  "as_system",   "device_memory"};
struct AdviceOf {
  Advice advice;
  Device device;
};
constexpr std::array kAdvice = {AdviceOf{Advice::kSetPinned, Device::kGpu0},
                                AdviceOf{Advice::kUnsetPinned, Device::kGpu0},
                                AdviceOf{Advice::kSetReadMostly, Device::kGpu0},
                                AdviceOf{Advice::kSetPreferredLocation, Device::kGpu0},
                                AdviceOf{Advice::kSetPreferredLocation, Device::kHost},
                                AdviceOf{Advice::kSetAccessedBy, Device::kGpu0}};

// Returns the kind of memory that the action gives to an allocation; nothing if the action adds a call instead.
std::optional<ObjectKind> kind_by(Do action) {
  switch (action) {
    case Do::kAsManaged:
      return ObjectKind::kManaged;
    case Do::kAsDevice:
      return ObjectKind::kDevice;
    case Do::kAsPinned:
      return ObjectKind::kPinned;
    case Do::kAsSystem:
      return ObjectKind::kSystem;
    default:
      return std::nullopt;
  }
}

// Prefetches ahead use this stream, which no recording uses, so that kernels do not wait for them.
constexpr std::uint32_t kHintStream = 31;

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

template <class Enum, std::size_t N>
Enum named(std::string_view word, const std::array<std::string_view, N>& names, const std::string& where) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    throw_input_error("{}: unknown word '{}'{}", where, printable(word), allowed_hint(word, names));
  }
  return static_cast<Enum>(found - names.begin());
}

// Reads a part of an allocation: "0-50%"
void read_part(std::string_view word, HintRule& rule, const std::string& where) {
  const std::size_t dash = word.find('-');
  std::optional<std::uint64_t> first, end;
  if (word.ends_with('%') && dash != std::string_view::npos) {
    first = parse_digits(word.substr(0, dash));
    end = parse_digits(word.substr(dash + 1, word.size() - dash - 2));
  }
  if (!first || !end || *first >= *end || *end > 100) {
    throw_input_error("{}: '{}' is no part; allowed: FIRST-END%, from 0 to 100, such as 0-50%", where, printable(word));
  }
  rule.first_percent = static_cast<std::uint32_t>(*first);
  rule.end_percent = static_cast<std::uint32_t>(*end);
}

// Returns the offset of a percentage of an allocation, rounded to 2 MiB, the driver's granularity.
std::uint64_t part_of(std::uint64_t bytes, std::uint32_t percent) {
  return percent == 100 ? bytes : bytes / 100 * percent / kBlockBytes * kBlockBytes;
}

bool concerns(const HintRule& rule, std::string_view name, ObjectId id) {
  if (rule.when != When::kObjectAlloc && rule.name.starts_with('@')) return rule.name.substr(1) == std::to_string(id);
  return matches(rule.name, name);
}

}  // namespace

std::string hint_text(const HintRule& rule) {
  std::string text = fmt::format("{} {} {}", kWhenNames.at(static_cast<std::size_t>(rule.when)), rule.name,
                                 kDoNames.at(static_cast<std::size_t>(rule.action)));
  if (rule.when == When::kKernel) {
    text += fmt::format(" {}", rule.ahead);
  } else if (rule.action == Do::kDeviceMemory) {
    text += fmt::format(" {}", rule.bytes);
  } else if (rule.first_percent != 0 || rule.end_percent != 100) {
    text += fmt::format(" {}-{}%", rule.first_percent, rule.end_percent);
  }
  return text;
}

std::vector<HintRule> parse_hints(std::string_view text, const std::string& file) {
  std::vector<HintRule> rules;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    const std::string where = fmt::format("{}: line {}", file, number);
    if (words.size() < 3 || words.size() > 4) {
      throw_input_error(
          "{}: {} words; allowed: WHEN NAME DO, and a number after `prefetch` of a kernel and `device_memory`, or a "
          "part",
          where, words.size());
    }
    HintRule rule{named<When>(words[0], kWhenNames, where), named<Do>(words[2], kDoNames, where),
                  std::string(words[1])};
    if (rule.when == When::kKernel && rule.action != Do::kPrefetch) {
      throw_input_error("{}: '{}' after kernel; allowed: prefetch", where, words[2]);
    }
    if (kind_by(rule.action) && rule.when != When::kObjectAlloc) {
      throw_input_error("{}: '{}' after {}; allowed: after object_alloc", where, words[2], words[0]);
    }
    if ((rule.when == When::kIteration) != (rule.action == Do::kDeviceMemory)) {
      throw_input_error("{}: '{}' after {}; allowed: `device_memory BYTES` after iteration, and only there", where,
                        words[2], words[0]);
    }
    if (rule.action == Do::kDeviceMemory) {
      if (words.size() == 4) rule.bytes = parse_digits(words[3]).value_or(0);
      if (rule.bytes == 0 || rule.bytes > kMaxObjectBytes) {
        throw_input_error("{}: '{}' bytes of device_memory; allowed: a number from 1 to {}", where,
                          words.size() == 4 ? printable(words[3]) : "no", kMaxObjectBytes);
      }
    } else if (words.size() == 4 && rule.when != When::kKernel && rule.action != Do::kDontNeed &&
               !kind_by(rule.action)) {
      read_part(words[3], rule, where);
    } else if (words.size() == 4) {
      const auto ahead = parse_digits(words[3]);
      if (rule.when != When::kKernel || !ahead || *ahead > kMostAhead) {
        throw_input_error("{}: '{}' is not allowed; allowed: after `prefetch` of a kernel, 0 to {} kernels ahead",
                          where, printable(words[3]), kMostAhead);
      }
      rule.ahead = static_cast<std::uint32_t>(*ahead);
    }
    rules.push_back(std::move(rule));
  }
  if (rules.empty()) throw_input_error("{}: no rule; allowed: lines of WHEN NAME DO", file);
  return rules;
}

bool makes_objects(const std::vector<HintRule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const HintRule& r) { return r.action == Do::kDeviceMemory; });
}

HintedProgram::HintedProgram(Source source, const Header& header, std::vector<HintRule> rules, ObjectId free_id)
    : source_(std::move(source)), quantum_bytes_(header.quantum_bytes), rules_(std::move(rules)), free_id_(free_id) {
  for (const HintRule& rule : rules_) farthest_ = std::max(farthest_, rule.ahead);
}

bool HintedProgram::next(Record& record) {
  if (ready_.empty()) {
    fill();
    if (ahead_.empty()) return false;
    Record first = std::move(ahead_.front());
    ahead_.pop_front();
    expand(std::move(first));
  }
  record = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

// Reads records until it has the kernel that the farthest prefetch of the first record may refer to.
void HintedProgram::fill() {
  Record record;
  while (kernels_ahead_ <= farthest_ && source_(record)) {
    if (std::holds_alternative<Kernel>(record)) ++kernels_ahead_;
    ahead_.push_back(std::move(record));
  }
}

void HintedProgram::expand(Record record) {
  if (const auto* kernel = std::get_if<Kernel>(&record)) {
    --kernels_ahead_;
    prefetch_of(*kernel);
  } else if (const auto freed = freed_by(record)) {
    const auto found = live_.find(*freed);
    if (found != live_.end() && std::holds_alternative<TensorFree>(record)) {
      apply(When::kTensorFree, found->second.name, *freed, found->second);
    }
    live_.erase(*freed);
  }
  if (auto* object = std::get_if<ObjectAlloc>(&record)) change_kind(*object);
  const Record& given = ready_.emplace_back(std::move(record));
  if (const auto* tensor = std::get_if<TensorAlloc>(&given)) {
    live_[tensor->id] = {tensor->bytes, tensor->stream, tensor->name};
    apply(When::kTensorAlloc, tensor->name, tensor->id, live_[tensor->id]);
  } else if (const auto* object = std::get_if<ObjectAlloc>(&given);
             object != nullptr && object->kind == ObjectKind::kManaged) {
    live_[object->id] = {object->bytes, 0, {}};
    apply(When::kObjectAlloc, std::to_string(object->id), object->id, live_[object->id]);
  } else if (const auto* range = std::get_if<Range>(&given);
             range != nullptr && range->kind == RangeKind::kIterationBegin) {
    take_device_memory(range->index);
  }
}

void HintedProgram::change_kind(ObjectAlloc& object) {
  for (const HintRule& rule : rules_) {
    const std::optional<ObjectKind> kind = kind_by(rule.action);
    if (!kind || object.kind == *kind || !matches(rule.name, std::to_string(object.id))) continue;
    object.kind = *kind;
    ++hints_;
  }
}

void HintedProgram::apply(When when, std::string_view name, ObjectId id, const Live& live) {
  for (const HintRule& rule : rules_) {
    if (rule.when != when || live.bytes == 0 || kind_by(rule.action) || !concerns(rule, name, id)) continue;
    const std::uint64_t first = part_of(live.bytes, rule.first_percent),
                        bytes = part_of(live.bytes, rule.end_percent) - first;
    if (bytes == 0) continue;
    if (rule.action == Do::kPrefetch) {
      add(Prefetch{id, first, bytes, 0, live.stream, 0});
    } else if (rule.action == Do::kDontNeed) {
      add(Discard{id, 0, live.bytes, live.stream});
    } else {
      const AdviceOf advice = kAdvice.at(static_cast<std::size_t>(rule.action));
      add(Advise{id, first, bytes, advice.advice, static_cast<std::int32_t>(advice.device)});
    }
  }
}

// Adds prefetches of the memory that a kernel ahead of the launched one touches, as far as it is allocated already.
void HintedProgram::prefetch_of(const Kernel& launched) {
  for (const HintRule& rule : rules_) {
    if (rule.when != When::kKernel || !matches(rule.name, launched.name)) continue;
    const Kernel* target = rule.ahead == 0 ? &launched : nullptr;
    std::uint32_t passed = 0;
    for (const Record& record : ahead_) {
      if (target != nullptr) break;
      const auto* kernel = std::get_if<Kernel>(&record);
      if (kernel != nullptr && ++passed == rule.ahead) target = kernel;
    }
    if (target == nullptr) continue;
    for (const ObjectAccess& access : target->accesses) {
      const auto live = live_.find(access.object);
      if (live == live_.end() || access.extents.empty()) continue;
      const std::uint64_t first = access.extents.front().first * quantum_bytes_;
      const std::uint64_t end =
          std::min((access.extents.back().first + access.extents.back().count) * quantum_bytes_, live->second.bytes);
      if (first < end) {
        const std::uint32_t stream = rule.ahead == 0 ? launched.stream : kHintStream;
        add(Prefetch{access.object, first, end - first, target->device, stream, 0});
      }
    }
  }
}

void HintedProgram::take_device_memory(std::uint64_t iteration) {
  for (const HintRule& rule : rules_) {
    if (rule.when != When::kIteration || !matches(rule.name, std::to_string(iteration))) continue;
    add(ObjectAlloc{free_id_++, ObjectKind::kDevice, rule.bytes, 0, 0});
  }
}

void HintedProgram::add(Record hint) {
  ++hints_;
  ready_.push_back(std::move(hint));
}

}  // namespace uvmsim::trace
