// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/foreign.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "sim/trace/varint.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

using std::string_view;

constexpr std::size_t kStartBytes = std::size_t{64} << 10;

struct KnownStart {
  string_view mark;
  string_view what;
};

// Magic bytes at the beginning of files.
constexpr std::array kBegins = {
    KnownStart{{"SQLite format 3\0", 16},
               "an SQLite database; a report of Nsight Systems is read with `uvmsim trace import nsys`"},
    KnownStart{"\x1f\x8b", "compressed with gzip; unpack it first with `gunzip -k`"},
    KnownStart{{"\xfd\x37zXZ\0", 6}, "compressed with xz; unpack it first with `unxz -k`"},
    KnownStart{"BZh", "compressed with bzip2; unpack it first with `bunzip2 -k`"},
    KnownStart{"PK\x03\x04", "a ZIP archive; unpack it first"},
    KnownStart{"\x7f"
               "ELF",
               "a program; record what it does, as `uvmtrace` does"},
    KnownStart{"NVR",
               "a report of Nsight Compute, which knows no migrations; record with Nsight Systems (`nsys profile`)"},
    KnownStart{"-kernel name = ", "a kernel of Accel-Sim (traceg); read it with `uvmsim trace import accelsim`"},
    KnownStart{"MemcpyHtoD,", "a list of kernels of Accel-Sim; read it with `uvmsim trace import accelsim`"},
    KnownStart{"kernel-", "a list of kernels of Accel-Sim; read it with `uvmsim trace import accelsim`"},
};

// Words near the beginning of text files.
constexpr std::array kHolds = {
    KnownStart{"MEMTRACE: CTX 0x", "a log of NVBit's mem_trace; read it with `uvmsim trace import nvbit`"},
    KnownStart{" - LAUNCH - Kernel pc ", "a log of NVBit's mem_trace; read it with `uvmsim trace import nvbit`"},
    KnownStart{
        "\"traceEvents\"",
        "a profile of PyTorch (Kineto) or another trace of Chrome's form; read PyTorch's with `uvmsim trace import "
        "kineto`"},
    KnownStart{"\"schemaVersion\"", "a profile of PyTorch (Kineto); read it with `uvmsim trace import kineto`"},
    KnownStart{"-chakra.", "an execution trace of PyTorch (Chakra); read it with `uvmsim trace import chakra`"},
    KnownStart{"[pytorch|profiler|execution_",
               "an execution trace of PyTorch (Chakra); read it with `uvmsim trace import chakra`"},
    KnownStart{"\"device_traces\"", "a memory snapshot of PyTorch; read it with `uvmsim trace import snapshot`"},
    KnownStart{"\"segment_type\"", "a memory snapshot of PyTorch; read it with `uvmsim trace import snapshot`"},
};

constexpr std::array kEndings = {
    KnownStart{".nsys-rep", "a report of Nsight Systems that is not exported; run `nsys export --type sqlite` on it"},
    KnownStart{".qdrep", "a report of Nsight Systems that is not exported; run `nsys export --type sqlite` on it"},
    KnownStart{".qdstrm",
               "an unfinished report of Nsight Systems; open it with a full installation, then `nsys export`"},
    KnownStart{".ncu-rep",
               "a report of Nsight Compute, which knows no migrations; record with Nsight Systems (`nsys profile`)"},
};

bool is_pickle(string_view start) { return start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5; }

}  // namespace

std::string describe_foreign(string_view start, string_view name) {
  for (const KnownStart& known : kEndings) {
    if (name.ends_with(known.mark)) return std::string(known.what);
  }
  for (const KnownStart& known : kBegins) {
    if (start.starts_with(known.mark)) return std::string(known.what);
  }
  if (is_pickle(start)) {
    return "a pickle of Python; a memory snapshot of PyTorch is read with `uvmsim trace import snapshot`";
  }
  if (starts_chakra_trace(start)) {
    return "an execution trace of Chakra (protobuf); read it with `uvmsim trace import chakra`";
  }
  for (const KnownStart& known : kHolds) {
    if (start.find(known.mark) != string_view::npos) return std::string(known.what);
  }
  return {};
}

bool starts_chakra_trace(string_view start) {
  std::uint64_t size = 0;
  if (!take_varint(start, size) || size == 0 || size > start.size()) return false;
  for (start = start.substr(0, size); !start.empty();) {
    // A version (field 1, text) or an attribute (field 2, a message that begins with its name). The header of our own
    // traces, perhaps a damaged one, is a message in field 2 that begins with its magic.
    const char key = start.front();
    start.remove_prefix(1);
    if ((key != '\x0a' && key != '\x12') || !take_varint(start, size) || size > start.size()) return false;
    const string_view content = start.substr(0, size);
    const auto is_text = [](char c) { return c >= ' ' && c <= '~'; };
    if (key == '\x0a' ? !std::ranges::all_of(content, is_text) : !content.starts_with('\x0a')) return false;
    if (content.starts_with("\x0a\x04UVMT")) return false;
    start.remove_prefix(size);
  }
  return true;
}

std::string describe_foreign_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string start(kStartBytes, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (starts_zstd_frame(start)) start = ZstdDecoder::preview(start, kStartBytes);
  return describe_foreign(start, path);
}

std::string foreign_hint(const std::string& path) {
  const std::string what = describe_foreign_file(path);
  return what.empty() ? "" : ": it is " + what;
}

}  // namespace uvmsim::trace
