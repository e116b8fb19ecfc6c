// SPDX-License-Identifier: Apache-2.0
#include "sim/import/warp_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <deque>
#include <filesystem>
#include <optional>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/printable.h"
#include "sim/trace/foreign.h"
#include "sim/trace/limits.h"
#include "sim/trace/line_reader.h"

namespace uvmsim::trace {

namespace {

using std::string_view;

constexpr ObjectId kAllMemory = 1;
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;  // generic addresses of shared and local memory
constexpr std::size_t kMostLaunches = std::size_t{1} << 22;

// Splits a line into words.
class Words {
 public:
  explicit Words(string_view line) : rest_(line) {}
  string_view next() {
    const std::size_t first = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    rest_.remove_prefix(first);
    const std::size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  std::uint64_t number(string_view what, int base = 10) {
    string_view word = next();
    if (base == 16 && word.starts_with("0x")) word.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
      throw_input_error("'{}' is no {}", printable(word), what);
    }
    return value;
  }
  std::int64_t signed_number(string_view what) {
    const string_view word = next();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
      throw_input_error("'{}' is no {}", printable(word), what);
    }
    return value;
  }

  bool done() const { return rest_.find_first_not_of(" \t") == string_view::npos; }

 private:
  string_view rest_;
};

// Mode and width of one thread's access to global memory. operation_of() returns nothing for other instructions.
struct Operation {
  AccessMode mode;
  std::uint32_t bytes;
};
std::optional<Operation> operation_of(string_view opcode) {
  const string_view kind = opcode.substr(0, opcode.find('.'));
  const auto is = [kind](std::initializer_list<string_view> names) {
    return std::ranges::find(names, kind) != names.end();
  };
  Operation out{AccessMode::kRead, 4};
  if (is({"STG", "ST"})) {
    out.mode = AccessMode::kWrite;
  } else if (is({"ATOM", "ATOMG", "RED", "REDG"})) {
    out.mode = AccessMode::kReadWrite;
  } else if (!is({"LDG", "LD", "LDGSTS"})) {
    return std::nullopt;
  }
  for (std::size_t at = kind.size(); at < opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', at + 1), opcode.size());
    string_view part = opcode.substr(at + 1, end - at - 1);
    if (part.starts_with('U') || part.starts_with('S')) part.remove_prefix(1);
    std::uint32_t bits = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), bits);
    if (!part.empty() && error == std::errc{} && rest == part.data() + part.size() && bits >= 8 && bits <= 256) {
      out.bytes = bits / 8;
      break;
    }
    at = end;
  }
  return out;
}

void touch(AccessSet& set, std::uint64_t address, const Operation& operation) {
  if (address >= kMaxAddress - operation.bytes) throw_input_error("address {} lies beyond the address space", address);
  set.add(kAllMemory, address / kAddressQuantum, (address + operation.bytes - 1) / kAddressQuantum + 1, operation.mode);
}

Dim3 dimensions(string_view text, string_view what) {
  std::array<std::uint32_t, 3> sizes{};
  const auto refuse = [&] { throw_input_error("'{}' is no {}", printable(text), what); };
  string_view rest = text;
  if (rest.starts_with('(')) rest.remove_prefix(1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), sizes[i]);
    if (error != std::errc{}) refuse();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (i < 2 && !rest.starts_with(',')) refuse();
    if (i < 2) rest.remove_prefix(1);
  }
  return {sizes[0], sizes[1], sizes[2]};
}
Dim3 positive_dimensions(string_view text, string_view what) {
  const Dim3 out = dimensions(text, what);
  if (out.x == 0 || out.y == 0 || out.z == 0) throw_input_error("'{}' is no {}", printable(text), what);
  return out;
}

std::uint64_t linear(const Dim3& grid, const Dim3& at) {
  if (at.x >= grid.x || at.y >= grid.y || at.z >= grid.z) {
    throw_input_error("thread block {},{},{} lies beyond the grid {}x{}x{}", at.x, at.y, at.z, grid.x, grid.y, grid.z);
  }
  return (static_cast<std::uint64_t>(at.z) * grid.y + at.y) * grid.x + at.x;
}

// Returns the text between `before` and " - " or the end.
std::optional<string_view> field_after(string_view line, string_view before) {
  const std::size_t at = line.find(before);
  if (at == string_view::npos) return std::nullopt;
  const string_view rest = line.substr(at + before.size());
  return rest.substr(0, std::min(rest.find(" - "), rest.size()));
}

std::uint64_t number_in(string_view text, string_view what) { return Words(text).number(what); }

// A log of NVBit. Instructions of a launch may follow the lines of later launches: all launches are kept until the end.
class NvbitLog final : public WarpLog {
 public:
  explicit NvbitLog(const std::string& path) : path_(path), input_(Input::from_file(path)), lines_(input_) {
    if (const std::string hint = other_kind(path); !hint.empty()) {
      throw_input_error("{}: no log of NVBit's mem_trace: it is {}", path, hint);
    }
    string_view line;
    while (lines_.next(line)) lines_.with_place(path_, [&] { take(line); });
    if (launches_.empty()) throw_input_error("{}: no log of NVBit's mem_trace: no line says LAUNCH", path);
  }
  bool next(WarpEvent& event) override {
    if (launches_.empty()) return false;
    event = {};
    event.launch = std::move(launches_.front());
    launches_.pop_front();
    return true;
  }

 private:
  static std::string other_kind(const std::string& path) {
    const std::string what = describe_foreign_file(path);
    return what.find("mem_trace") != std::string::npos ? "" : what;
  }

  void take(string_view line) {
    const std::size_t context = line.find("CTX 0x");
    if (context == string_view::npos) return;
    line.remove_prefix(context);
    if (line.find(" - LAUNCH - ") != string_view::npos) {
      launch(line);
    } else if (const auto id = field_after(line, " - grid_launch_id ")) {
      access(line, number_in(*id, "grid_launch_id"));
    }
  }

  void launch(string_view line) {
    // The search goes from the end, because the name of a kernel may contain any text.
    const std::size_t tail = line.rfind(" - grid launch id ");
    const auto name = line.find(" - Kernel name ");
    if (name == string_view::npos || tail == string_view::npos || tail < name + 15) {
      throw_input_error("a LAUNCH without a kernel's name and grid launch id");
    }
    const string_view rest = line.substr(tail);
    const auto required = [&rest](string_view before) {
      const auto found = field_after(rest, before);
      if (!found) throw_input_error("a LAUNCH without '{}'", before);
      return *found;
    };
    if (launches_.size() >= kMostLaunches) throw_input_error("more than {} launches", kMostLaunches);
    WarpLaunch out;
    out.name = std::string(line.substr(name + 15, tail - name - 15));
    if (!is_utf8(out.name)) out.name = printable(out.name);
    out.grid = positive_dimensions(required(" - grid size "), "grid size");
    out.block = positive_dimensions(required(" - block size "), "block size");
    if (const auto registers = field_after(rest, " - nregs ")) {
      out.registers = static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(*registers, "nregs"), 255));
    }
    if (const auto shared = field_after(rest, " - shmem ")) {
      out.shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(*shared, "shmem"), 1 << 24));
    }
    if (const auto stream = field_after(rest, " - cuda stream id ")) out.stream = number_in(*stream, "cuda stream id");
    by_id_[number_in(required(" - grid launch id "), "grid launch id")] = launches_.size();
    launches_.push_back(std::move(out));
  }

  void access(string_view line, std::uint64_t id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) throw_input_error("grid_launch_id {} was not launched", id);
    WarpLaunch& launch = launches_[found->second];
    const auto block = field_after(line, " - CTA "), warp = field_after(line, " - warp ");
    if (!block || !warp) throw_input_error("an access without CTA and warp");
    const std::size_t after = static_cast<std::size_t>(warp->data() - line.data()) + warp->size();
    string_view rest = line.substr(std::min(after + 3, line.size()));
    const string_view opcode = rest.substr(0, std::min(rest.find(" - "), rest.size()));
    const auto operation = operation_of(opcode);
    if (!operation) return;
    rest.remove_prefix(std::min(opcode.size() + 3, rest.size()));
    ++launch.instructions;
    AccessSet& set = launch.blocks[linear(launch.grid, dimensions(*block, "CTA"))];
    Words words(rest);
    while (!words.done()) {
      const std::uint64_t address = words.number("address", 16);
      if (address != 0) touch(set, address, *operation);
    }
  }

  std::string path_;
  Input input_;
  LineReader lines_;
  std::deque<WarpLaunch> launches_;
  std::map<std::uint64_t, std::size_t> by_id_;
};

class AccelsimKernel {
 public:
  explicit AccelsimKernel(const std::string& path) : path_(path), input_(Input::from_file(path)), lines_(input_) {
    string_view line;
    bool named = false;
    while (lines_.next(line)) {
      lines_.with_place(path_, [&] {
        if (line.starts_with("-kernel name = ")) named = true;
        if (!named && line.find_first_not_of(" \t") != string_view::npos) {
          const std::string hint = foreign_hint(path_);
          throw_input_error("no kernel of Accel-Sim{}", hint.empty() ? ": it begins with '-kernel name = '" : hint);
        }
        take(line);
      });
    }
    if (!named) throw_input_error("{}: no kernel of Accel-Sim: the file is empty", path_);
  }
  WarpLaunch launch;

 private:
  void take(string_view line) {
    if (line.starts_with('-')) {
      header(line);
    } else if (line.starts_with("#BEGIN_TB")) {
      grouped_ = true;
    } else if (line.starts_with("thread block = ")) {
      set_ = &launch.blocks[linear(launch.grid, dimensions(line.substr(15), "thread block"))];
    } else if (!line.starts_with('#') && !line.starts_with("warp = ") && !line.starts_with("insts = ") &&
               line.find_first_not_of(" \t") != string_view::npos) {
      instruction(line);
    }
  }

  void header(string_view line) {
    const std::size_t equals = line.find(" = ");
    if (equals == string_view::npos) return;
    const string_view key = line.substr(1, equals - 1), value = line.substr(equals + 3);
    if (key == "kernel name") launch.name = is_utf8(value) ? std::string(value) : printable(value);
    if (key == "grid dim") launch.grid = positive_dimensions(value, "grid");
    if (key == "block dim") launch.block = positive_dimensions(value, "block");
    if (key == "shmem") {
      launch.shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(value, "shmem"), 1 << 24));
    }
    // In files of version 5 the key may hold another launch parameter: values beyond the registers of a thread are
    // ignored.
    if (key == "nregs") {
      const std::uint64_t registers = number_in(value, "nregs");
      launch.registers = registers <= 255 ? static_cast<std::uint32_t>(registers) : 0;
    }
    if (key == "cuda stream id") launch.stream = number_in(value, "cuda stream id");
    if (key == "shmem base_addr") windows_.push_back(Words(value).number("address", 16));
    if (key == "local mem base_addr") windows_.push_back(Words(value).number("address", 16));
    if (key == "enable lineinfo") line_numbers_ = number_in(value, "0 or 1") != 0;
  }

  void instruction(string_view line) {
    Words words(line);
    AccessSet* set = set_;
    if (!grouped_) {
      Dim3 block;
      block.x = static_cast<std::uint32_t>(words.number("block") & UINT32_MAX);
      block.y = static_cast<std::uint32_t>(words.number("block") & UINT32_MAX);
      block.z = static_cast<std::uint32_t>(words.number("block") & UINT32_MAX);
      set = &launch.blocks[linear(launch.grid, block)];
      words.number("warp");
    }
    if (set == nullptr) throw_input_error("an instruction outside of a thread block");
    if (line_numbers_) words.number("line");
    words.number("PC", 16);
    const auto mask = static_cast<std::uint32_t>(words.number("mask", 16));
    for (std::uint64_t left = registers(words); left != 0; --left) words.next();
    const string_view opcode = words.next();
    for (std::uint64_t left = registers(words); left != 0; --left) words.next();
    if (words.number("width") == 0) return;
    const auto operation = operation_of(opcode);
    if (!operation || mask == 0) return;
    ++launch.instructions;
    addresses(words, mask, *operation, *set);
  }
  static std::uint64_t registers(Words& words) {
    const std::uint64_t count = words.number("count of registers");
    if (count > 16) throw_input_error("{} registers of an instruction; allowed: 0 to 16", count);
    return count;
  }

  void addresses(Words& words, std::uint32_t mask, const Operation& operation, AccessSet& set) {
    constexpr std::uint64_t kAll = 0, kStride = 1, kDeltas = 2;
    const std::uint64_t form = words.number("form of addresses");
    if (form > kDeltas) throw_input_error("form of addresses {}; allowed: 0 to 2", form);
    const int threads = std::popcount(mask);
    std::uint64_t address = words.number("address", 16);
    const std::int64_t stride = form == kStride ? words.signed_number("stride") : 0;
    for (int thread = 0; thread < threads; ++thread) {
      if (thread != 0 && form == kAll) address = words.number("address", 16);
      if (thread != 0 && form == kStride) address += static_cast<std::uint64_t>(stride);
      if (thread != 0 && form == kDeltas) address += static_cast<std::uint64_t>(words.signed_number("delta"));
      const bool in_window = std::ranges::any_of(
          windows_, [&](std::uint64_t window) { return address >= window && address - window < kWindowBytes; });
      if (!in_window) touch(set, address, operation);
    }
  }

  std::string path_;
  Input input_;
  LineReader lines_;
  AccessSet* set_ = nullptr;
  bool grouped_ = false, line_numbers_ = false;
  std::vector<std::uint64_t> windows_;
};

class AccelsimKernels final : public WarpLog {
 public:
  explicit AccelsimKernels(const std::string& path) {
    std::error_code error;
    std::string list = path;
    if (std::filesystem::is_directory(path, error)) {
      list = (std::filesystem::path(path) / "kernelslist.g").string();
      if (!std::filesystem::exists(list, error)) list = (std::filesystem::path(path) / "kernelslist").string();
      if (!std::filesystem::exists(list, error)) {
        throw_input_error("{}: the folder holds neither kernelslist.g nor kernelslist", path);
      }
    }
    Input input = Input::from_file(list);
    const std::string start(input.peek(64));
    if (!start.starts_with("kernel-") && !start.starts_with("Memcpy")) {
      files_.push_back({0, 0, list});
      return;
    }
    LineReader lines(input);
    string_view line;
    while (lines.next(line)) lines.with_place(list, [&] { take(line, std::filesystem::path(list).parent_path()); });
  }
  bool next(WarpEvent& event) override {
    if (at_ == files_.size()) return false;
    const Entry& entry = files_[at_++];
    event = {entry.address, entry.bytes, {}};
    if (entry.bytes == 0) event.launch = AccelsimKernel(entry.file).launch;
    return true;
  }

 private:
  struct Entry {
    std::uint64_t address, bytes;
    std::string file;
  };
  void take(string_view line, const std::filesystem::path& folder) {
    if (line.starts_with("MemcpyHtoD,")) {
      const string_view rest = line.substr(11);
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::uint64_t address = Words(rest.substr(0, comma)).number("address", 16);
      const std::uint64_t bytes = number_in(rest.substr(std::min(comma + 1, rest.size())), "number of bytes");
      if (bytes > kMaxObjectBytes || address >= kMaxAddress - bytes) {
        throw_input_error("a copy of {} bytes to {} leaves the address space", bytes, address);
      }
      if (bytes != 0) files_.push_back({address, bytes, {}});
    } else if (line.starts_with("kernel-")) {
      if (line.find('/') != string_view::npos) throw_input_error("a kernel's file outside of the folder");
      files_.push_back({0, 0, (folder / std::string(line)).string()});
    }
  }
  std::vector<Entry> files_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<WarpLog> open_nvbit_log(const std::string& path) { return std::make_unique<NvbitLog>(path); }
std::unique_ptr<WarpLog> open_accelsim_kernels(const std::string& path) {
  return std::make_unique<AccelsimKernels>(path);
}

}  // namespace uvmsim::trace
