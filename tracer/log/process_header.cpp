// SPDX-License-Identifier: Apache-2.0
#include "tracer/log/process_header.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tracer/log/host_clock.h"

namespace uvmtrace {

namespace {
std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void put_program(JsonLine& line) {
  const std::string arguments = read_file("/proc/self/cmdline");  // each ends with a zero byte
  line.begin_list("program");
  for (std::size_t begin = 0; begin < arguments.size();) {
    std::size_t end = arguments.find('\0', begin);
    if (end == std::string::npos) end = arguments.size();
    line.text_item(std::string_view(arguments).substr(begin, end - begin));
    begin = end + 1;
  }
  line.end_list();
}
// Returns the number of the process among those that were started together, if a launcher provides it.
const char* rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}
}  // namespace

JsonLine header_line(std::string_view pass, const GpuDescription& gpu) {
  JsonLine line("header");
  line.number("version", 1).text("pass", pass).text("tool", "uvmtrace 0.1.0").number("pid", ::getpid());
  line.number("started_ns", host_now_ns());
  put_program(line);
  if (const char* const number = rank()) line.text("rank", number);
  if (const char* const settings = std::getenv("UVMTRACE_SETTINGS")) line.text("settings", settings);
  if (!gpu.name.empty()) line.text("gpu", gpu.name);
  if (gpu.sm_count > 0) line.number("sm_count", gpu.sm_count);
  if (gpu.compute_capability_major > 0) {
    line.begin_list("compute_capability").item(gpu.compute_capability_major).item(gpu.compute_capability_minor);
    line.end_list();
  }
  std::string driver = read_file("/sys/module/nvidia/version");
  while (!driver.empty() && driver.back() == '\n') driver.pop_back();
  if (!driver.empty()) line.text("driver", driver);
  if (gpu.cuda_version > 0) {
    line.text("cuda", std::to_string(gpu.cuda_version / 1000) + '.' + std::to_string(gpu.cuda_version % 1000 / 10));
  }
  return line;
}

}  // namespace uvmtrace
