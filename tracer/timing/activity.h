// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records: when the GPU ran what. They come in buffers, which this part hands out, reads and frees.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace uvmtrace {

class Activity {
 public:
  static Activity& instance();

  // Registers the buffers and asks for records of kernels, copies and sets. Before CUDA is initialised. Empty on
  // success, else what is wrong.
  std::string start();
  // Asks for the counters of managed memory on one GPU. Only once CUDA is initialised. Empty on success.
  std::string start_uvm_counters(std::uint32_t device);
  // Delivers finished records every 0.2 seconds, so that a killed program leaves most of them. Once a context exists.
  void start_periodic_flush();
  // Delivers all records and stops; returns how many were lost.
  std::uint64_t finish();

 private:
  Activity() = default;
};

}  // namespace uvmtrace
