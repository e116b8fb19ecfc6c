// SPDX-License-Identifier: Apache-2.0
#include "sim/import/accelprof_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "sim/common/error.h"
#include "sim/trace/foreign.h"
#include "sim/trace/input.h"
#include "sim/trace/limits.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kRule = "--------";  // uvm_advisor begins with a line of these
constexpr std::string_view kDoubleRule = "========";
constexpr std::string_view kTensorStart = "Tensor start -", kTensorEnd = "Tensor end -";
constexpr std::size_t kMostRanges = std::size_t{1} << 24;    // of one kernel
constexpr std::size_t kMostAccesses = std::size_t{1} << 28;  // lines of one mem_trace file
constexpr std::size_t kCompactAt = std::size_t{1} << 16;     // number of accesses at which repeated ones are joined
constexpr std::uint64_t kMostAccessBytes = 1 << 20;          // one instruction of one thread
constexpr std::uint64_t kReadFlag = 1, kWriteFlag = 2, kAtomicFlag = 4;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes a number off the front of the text; returns nothing if there is none, or if it does not fit 64 bits.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take_text(std::string_view expected, std::string_view& text) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Reads numbers separated by blanks; returns none if the line holds anything else.
std::vector<std::uint64_t> numbers_of(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  line = trimmed(line);
  while (!line.empty()) {
    const auto number = take_number(line);
    if (!number || (!line.empty() && line.front() != ' ')) return {};
    numbers.push_back(*number);
    line = trimmed(line);
  }
  return numbers;
}

AccelprofRange checked(std::uint64_t address, std::uint64_t bytes) {
  if (address == 0 || bytes == 0 || bytes > kMaxObjectBytes || address > kMaxAddress - bytes) {
    throw_input_error("{} bytes at {}; allowed: 1 to {} bytes between 1 and {}", bytes, address, kMaxObjectBytes,
                      kMaxAddress);
  }
  return {address, bytes};
}

void add_range(std::uint64_t address, std::uint64_t bytes, std::vector<AccelprofRange>& ranges) {
  if (bytes == 0) return;  // empty tensors are listed too
  if (ranges.size() == kMostRanges) throw_input_error("more than {} allocations of one kernel", kMostRanges);
  ranges.push_back(checked(address, bytes));
}

// Reads "MemAlloc (2): 7:(140001, 4096), 8:(150000, 8192), "; the count in the brackets must match the list.
std::vector<AccelprofRange> keyed_ranges(std::string_view text, std::string_view label) {
  const auto fail = [&]() { throw_input_error("this is no list of '{} (count): key:(address, size), ...'", label); };
  text = trimmed(text);
  if (!take_text(label, text) || !take_text(" (", text)) fail();
  const auto count = take_number(text);
  if (!count || !take_text("):", text)) fail();
  std::vector<AccelprofRange> ranges;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const auto key = take_number(text);
    if (!key || !take_text(":(", text)) fail();
    const auto address = take_number(text);
    if (!address || !take_text(", ", text)) fail();
    const auto bytes = take_number(text);
    if (!bytes || !take_text(")", text)) fail();
    take_text(",", text);
    add_range(*address, *bytes, ranges);
  }
  if (ranges.size() != *count) throw_input_error("{} ({}) lists {}", label, *count, ranges.size());
  return ranges;
}

}  // namespace

const char* accelprof_tool_name(AccelprofTool tool) {
  constexpr std::array kNames = {"uvm_advisor", "mem_trace", "hot_analysis"};
  return kNames.at(static_cast<std::size_t>(tool));
}

std::optional<AccelprofTool> accelprof_tool_of(std::string_view line) {
  if (line.starts_with(kRule)) return AccelprofTool::kUvmAdvisor;
  if (line.starts_with(kTensorStart)) return AccelprofTool::kHotAnalysis;
  // A kernel without accesses leaves only these lists in a file of mem_trace.
  if (line.starts_with("ALLOCATION:") || line.starts_with("KERNEL:")) return AccelprofTool::kMemTrace;
  const std::size_t numbers = numbers_of(line).size();
  if (numbers == 6) return AccelprofTool::kMemTrace;
  if (numbers == 3) return AccelprofTool::kHotAnalysis;
  return std::nullopt;
}

struct AccelprofReader::State {
  explicit State(std::string file) : path(std::move(file)), input(Input::from_file(path)), lines(input) {
    lines.with_place(path, [&] {
      while (more && trimmed(line).empty()) advance();
      const auto found = more ? accelprof_tool_of(line) : std::nullopt;
      if (!found) {
        const std::string hint = foreign_hint(path);
        throw_input_error(
            "not a log that can be imported{}",
            hint.empty() ? "; allowed: uvm_advisor_opt.log, and kernel_N.txt of mem_trace or hot_analysis" : hint);
      }
      tool = *found;
    });
  }

  void advance() { more = lines.next(line); }

  bool next(AccelprofKernel& kernel) {
    kernel = {};
    if (tool == AccelprofTool::kUvmAdvisor) return next_advised(kernel);
    if (!more) return false;
    kernel.name = std::filesystem::path(path).stem().string();
    if (tool == AccelprofTool::kMemTrace) {
      read_mem_trace(kernel);
    } else {
      read_hotness(kernel);
    }
    return true;
  }

  bool next_advised(AccelprofKernel& kernel) {
    const auto next_ranges = [this](std::string_view label) {
      advance();
      if (!more) throw_input_error("the file ends within a kernel");
      return keyed_ranges(line, label);
    };
    for (; more; advance()) {
      std::string_view rest = trimmed(line);
      if (take_text("Op - ", rest)) {
        const auto end = rest.rfind(", op_id: ");
        if (end == std::string_view::npos) throw_input_error("an operator without op_id");
        operation = printable(rest.substr(0, end));
      } else if (take_text("Kernel: ", rest)) {
        const auto end = rest.rfind(", kernel_id: ");
        if (end == std::string_view::npos) throw_input_error("a kernel without kernel_id");
        kernel.name = printable(rest.substr(0, end));
        kernel.operation = operation;
        kernel.allocations = next_ranges("MemAlloc");
        kernel.tensors = next_ranges("TenAlloc");
        advance();
        return true;
      } else if (!rest.empty() && rest.front() != '[' && !rest.starts_with(kRule) && !rest.starts_with(kDoubleRule)) {
        throw_input_error("'{}' is no line of uvm_advisor", printable(rest.substr(0, 60)));
      }
    }
    return false;
  }

  void read_mem_trace(AccelprofKernel& kernel) {
    std::size_t count = 0;
    for (; more; advance()) {
      std::string_view rest = trimmed(line);
      if (rest.empty()) continue;
      const bool allocation = take_text("ALLOCATION:", rest);
      if (allocation || take_text("TENSOR:", rest)) {
        const auto numbers = numbers_of(rest);
        if (numbers.size() != 2) throw_input_error("this list needs an address and a size");
        add_range(numbers[0], numbers[1], allocation ? kernel.allocations : kernel.tensors);
      } else if (!take_text("KERNEL:", rest)) {
        const auto numbers = numbers_of(rest);  // page, address, size, time, flags, warp
        if (numbers.size() != 6) throw_input_error("an access needs six numbers");
        if (++count > kMostAccesses) throw_input_error("more than {} accesses of one kernel", kMostAccesses);
        if (numbers[2] == 0 || numbers[2] > kMostAccessBytes || numbers[5] > UINT32_MAX) {
          throw_input_error("an access of {} bytes by warp {}; allowed: 1 to {} bytes", numbers[2], numbers[5],
                            kMostAccessBytes);
        }
        kernel.warps = std::max(kernel.warps, numbers[5] + 1);
        add_access(checked(numbers[1], numbers[2]), numbers[4], kernel);
      }
    }
  }

  // Joins the access to the last one, or compacts the list: most accesses continue or repeat an earlier one.
  void add_access(const AccelprofRange& range, std::uint64_t flags, AccelprofKernel& kernel) {
    unsigned bits = (flags & kReadFlag) != 0 ? 1u : 0u;
    if ((flags & kWriteFlag) != 0) bits |= 2u;
    if ((flags & kAtomicFlag) != 0 || bits == 0) bits = 3u;
    const auto mode = static_cast<AccessMode>(bits);
    if (!kernel.accesses.empty()) {
      AccelprofAccess& last = kernel.accesses.back();
      const std::uint64_t end = last.range.address + last.range.bytes;
      if (last.mode == mode && range.address >= last.range.address && range.address <= end) {
        last.range.bytes = std::max(end, range.address + range.bytes) - last.range.address;
        return;
      }
    }
    kernel.accesses.push_back({range, mode});
    if (kernel.accesses.size() < compact_at) return;
    compact(kernel.accesses);
    compact_at = std::max(kCompactAt, 2 * kernel.accesses.size());
  }

  // Sorts the accesses by mode and address, and joins those that overlap or touch.
  static void compact(std::vector<AccelprofAccess>& accesses) {
    std::ranges::sort(accesses, {}, [](const AccelprofAccess& a) { return std::tie(a.mode, a.range.address); });
    std::size_t kept = 0;
    for (const AccelprofAccess& next : accesses) {
      AccelprofAccess& last = accesses[kept == 0 ? 0 : kept - 1];
      const std::uint64_t end = last.range.address + last.range.bytes;
      if (kept != 0 && last.mode == next.mode && next.range.address <= end) {
        last.range.bytes = std::max(end, next.range.address + next.range.bytes) - last.range.address;
      } else {
        accesses[kept++] = next;
      }
    }
    accesses.resize(kept);
  }

  void read_hotness(AccelprofKernel& kernel) {
    int list = 0;  // ranges, allocations, tensors: separated by empty lines
    for (; more; advance()) {
      const std::string_view rest = trimmed(line);
      if (rest.empty()) {
        ++list;
        continue;
      }
      if (rest.starts_with(kTensorStart) || rest.starts_with(kTensorEnd)) continue;
      const auto numbers = numbers_of(rest);
      if (list == 0) {
        if (numbers.size() != 3 || numbers[1] <= numbers[0]) throw_input_error("a range needs start, end and count");
        if (kernel.accesses.size() == kMostRanges) throw_input_error("more than {} ranges", kMostRanges);
        const AccelprofRange range = checked(numbers[0], numbers[1] - numbers[0]);
        if (numbers[2] > 0) kernel.accesses.push_back({range, AccessMode::kReadWrite});
      } else if (numbers.size() != 2) {
        throw_input_error("this list needs an address and a size");
      } else {
        add_range(numbers[0], numbers[1], list == 1 ? kernel.allocations : kernel.tensors);
      }
    }
  }

  std::string path;
  Input input;
  LineReader lines;
  AccelprofTool tool = AccelprofTool::kUvmAdvisor;
  std::string_view line;
  bool more = true;
  std::string operation;
  std::size_t compact_at = kCompactAt;
};

AccelprofReader::AccelprofReader(std::string path) : state_(std::make_unique<State>(std::move(path))) {}
AccelprofReader::~AccelprofReader() = default;

AccelprofTool AccelprofReader::tool() const { return state_->tool; }

bool AccelprofReader::next(AccelprofKernel& kernel) {
  return state_->lines.with_place(state_->path, [&] { return state_->next(kernel); });
}

}  // namespace uvmsim::trace
