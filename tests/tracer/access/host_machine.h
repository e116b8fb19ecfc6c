// SPDX-License-Identifier: Apache-2.0
// The marking code's memory operations on the host: threads take the place of warps, std::atomic that of the GPU's
// atomic operations.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/access/mark.h"

namespace uvmtrace::access {

struct HostMachine {
  template <typename Word>
  static std::atomic_ref<Word> at(std::uint64_t address) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(address));
  }
  static std::uint32_t load(std::uint64_t address) {
    return at<std::uint32_t>(address).load(std::memory_order_relaxed);
  }
  static std::uint64_t load_entry(std::uint64_t address) { return *reinterpret_cast<const std::uint64_t*>(address); }
  static std::uint32_t set(std::uint64_t address, std::uint32_t bits) {
    return at<std::uint32_t>(address).fetch_or(bits, std::memory_order_relaxed);
  }
  static std::uint32_t add(std::uint64_t address, std::uint32_t n) {
    return at<std::uint32_t>(address).fetch_add(n, std::memory_order_relaxed);
  }
  static std::uint64_t add_wide(std::uint64_t address, std::uint64_t n) {
    return at<std::uint64_t>(address).fetch_add(n, std::memory_order_relaxed);
  }
  // The running grid's number, set by the test.
  static std::uint64_t& grid() {
    thread_local std::uint64_t number = 0;
    return number;
  }
  // Every thread is a warp of one.
  static bool elect(std::uint64_t) { return true; }
  static bool elect_counted(std::uint32_t* threads) {
    *threads = 1;
    return true;
  }
  static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
  }
};

}  // namespace uvmtrace::access
