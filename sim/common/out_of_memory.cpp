// SPDX-License-Identifier: Apache-2.0
#include "sim/common/out_of_memory.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>

#include "sim/common/atomic_file.h"

namespace uvmsim {
namespace {

constexpr std::size_t kReservedBytes = std::size_t{16} << 20;
void* reserved = nullptr;

bool memory_ran_out = false;
int (*words)() = nullptr;
std::terminate_handler terminate_as_usual = nullptr;

void give_reserve_and_throw() {
  memory_ran_out = true;
  std::set_new_handler(nullptr);
  std::free(reserved);
  throw std::bad_alloc();
}

// Returns if lack of memory is not the reason.
void end_if_without_memory() {
  if (!memory_ran_out) return;
  remove_temporary_files();
  ::_exit(words());
}

void on_terminate() {
  end_if_without_memory();
  terminate_as_usual();
}

// If it returns, abort() continues.
void on_abort(int) { end_if_without_memory(); }

}  // namespace

void end_without_memory_by(int (*last_words)()) {
  words = last_words;
  if (terminate_as_usual != nullptr) return;
  reserved = std::malloc(kReservedBytes);
  std::set_new_handler(give_reserve_and_throw);
  terminate_as_usual = std::set_terminate(on_terminate);
  std::signal(SIGABRT, on_abort);
}

}  // namespace uvmsim
