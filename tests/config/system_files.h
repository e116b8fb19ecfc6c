// SPDX-License-Identifier: Apache-2.0
// Systems for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/common/error.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::config {

class TemporaryFolder : public ScratchFolder {
 public:
  std::string write_json(const std::string& name, const nlohmann::ordered_json& document) const {
    return write(name, document.dump(2));
  }
};

// Returns the smallest valid system.
inline nlohmann::ordered_json small_system() {
  return nlohmann::ordered_json::parse(R"({
    "description": "a small system",
    "gpus": [{
      "source": "test",
      "model": "Test GPU",
      "memory_bytes": "1 GiB",
      "reserved_bytes": 0,
      "sm_count": 4,
      "max_threads_per_sm": 1024,
      "max_blocks_per_sm": 16,
      "registers_per_sm": 65536,
      "shared_bytes_per_sm": "64 KiB",
      "sm_clock_khz": "1.5 GHz",
      "memory_bytes_per_us": "500 GB/s",
      "fp32_flops_per_us": "10 TFLOPS",
      "tf32_flops_per_us": "80 TFLOPS",
      "half_flops_per_us": "160 TFLOPS"
    }],
    "host_links": [{
      "source": "test",
      "kind": "pcie",
      "host_to_device": {"latency_ns": "1.6 us", "run_ns": 300, "bytes_per_us": "12.9 GB/s"},
      "device_to_host": {"latency_ns": 1600, "run_ns": 300, "bytes_per_us": 12900},
      "both_ways_bytes_per_us": 0,
      "zero_copy_read_bytes_per_us": 12000,
      "zero_copy_write_bytes_per_us": 12000
    }],
    "host": {"source": "test", "pageable_copy_bytes_per_us": 6000}
  })");
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the message of the InputError that the call throws; reports a failure if it throws none.
template <class Call>
std::string input_error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

}  // namespace uvmsim::config
