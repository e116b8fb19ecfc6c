// SPDX-License-Identifier: Apache-2.0
// Records are read into one variant again and again; their vectors keep their storage.
#pragma once

#include <type_traits>
#include <utility>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Makes `record` hold a T with default values. Of a Kernel all storage is kept: of the one in `record`, or of `spare`
// when `record` holds something else, and `spare` takes it when something else comes. Its list of accesses keeps its
// size and content, for the caller to resize and overwrite.
template <class T>
T& reset_to(Record& record, Kernel& spare) {
  Kernel* held = std::get_if<Kernel>(&record);
  if constexpr (std::is_same_v<T, Kernel>) {
    if (held == nullptr) held = &record.emplace<Kernel>(std::move(spare));
    Kernel fresh;
    fresh.name.swap(held->name);
    fresh.accesses.swap(held->accesses);
    fresh.touches.swap(held->touches);
    fresh.name.clear();
    fresh.touches.clear();
    *held = std::move(fresh);
    return *held;
  } else {
    if (held != nullptr) spare = std::move(*held);
    return record.emplace<T>();
  }
}

// The same without a place for a kernel's storage, and without anything left in its lists.
template <class T>
T& reset_to(Record& record) {
  return record.emplace<T>();
}

}  // namespace uvmsim::trace
