// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records: the times at which the GPU ran operations. They come in buffers, which this code hands out,
// reads and frees.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace uvmtrace {

class Activity {
 public:
  static Activity& instance();

  // Registers the buffers and requests records of kernels, copies and sets. Call before CUDA is initialised. Returns an
  // empty text on success, otherwise the error.
  std::string start();
  // Requests the counters of managed memory on one GPU. Call after CUDA is initialised. Returns an empty text on
  // success.
  std::string start_uvm_counters(std::uint32_t device);
  // Delivers finished records every 0.2 seconds, so that a killed program leaves most of them. Call after a context
  // exists.
  void start_periodic_flush();
  // Delivers all records and stops; returns how many were lost.
  std::uint64_t finish();

 private:
  Activity() = default;
};

}  // namespace uvmtrace
