// SPDX-License-Identifier: Apache-2.0
#include "sim/edit/hints.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/edit/iteration_plan.h"
#include "sim/formats/decimal.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {
namespace {

using When = HintRule::When;
using Do = HintRule::Do;

// In the order of the enums.
constexpr std::array<std::string_view, 4> kWhenNames = {"tensor_alloc", "tensor_free", "object_alloc", "kernel"};
constexpr std::array<std::string_view, 5> kDoNames = {"pin", "unpin", "read_mostly", "prefetch", "dont_need"};
constexpr std::array kAdvice = {Advice::kSetPinned, Advice::kUnsetPinned, Advice::kSetReadMostly};

// Of prefetches ahead: no stream of a recording, so that kernels do not wait for them.
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

}  // namespace

std::vector<HintRule> parse_hints(std::string_view text, const std::string& file) {
  std::vector<HintRule> rules;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    const std::string where = fmt::format("{}: line {}", file, number);
    if (words.size() < 3 || words.size() > 4) {
      throw_input_error("{}: {} words; allowed: WHEN NAME DO, and a number after `prefetch` of a kernel", where,
                        words.size());
    }
    HintRule rule{named<When>(words[0], kWhenNames, where), named<Do>(words[2], kDoNames, where), std::string(words[1]),
                  0};
    if (rule.when == When::kKernel && rule.action != Do::kPrefetch) {
      throw_input_error("{}: '{}' after kernel; allowed: prefetch", where, words[2]);
    }
    if (words.size() == 4) {
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

HintedProgram::HintedProgram(Source source, const Header& header, std::vector<HintRule> rules)
    : source_(std::move(source)), quantum_bytes_(header.quantum_bytes), rules_(std::move(rules)) {
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

// Until the kernel that the farthest prefetch of the first record may look at is there.
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
  const Record& given = ready_.emplace_back(std::move(record));
  if (const auto* tensor = std::get_if<TensorAlloc>(&given)) {
    live_[tensor->id] = {tensor->bytes, tensor->stream, tensor->name};
    apply(When::kTensorAlloc, tensor->name, tensor->id, live_[tensor->id]);
  } else if (const auto* object = std::get_if<ObjectAlloc>(&given);
             object != nullptr && object->kind == ObjectKind::kManaged) {
    live_[object->id] = {object->bytes, 0, {}};
    apply(When::kObjectAlloc, std::to_string(object->id), object->id, live_[object->id]);
  }
}

void HintedProgram::apply(When when, std::string_view name, ObjectId id, const Live& live) {
  for (const HintRule& rule : rules_) {
    if (rule.when != when || live.bytes == 0 || !matches(rule.name, name)) continue;
    if (rule.action == Do::kPrefetch) {
      add(Prefetch{id, 0, live.bytes, 0, live.stream, 0});
    } else if (rule.action == Do::kDontNeed) {
      add(Discard{id, 0, live.bytes, live.stream});
    } else {
      add(Advise{id, 0, live.bytes, kAdvice.at(static_cast<std::size_t>(rule.action)), 0});
    }
  }
}

// What kernels ahead of the one that is launched touch of what is allocated by now.
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

void HintedProgram::add(Record hint) {
  ++hints_;
  ready_.push_back(std::move(hint));
}

}  // namespace uvmsim::trace
