// Records are read into one variant again and again; their vectors keep their storage.
#pragma once

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Makes `record` hold a T with default values, keeping the storage of the T that it may hold already. Of a Kernel the
// lists of `accesses` keep their inner storage too: its size stays as it was, for the caller to resize and overwrite.
template <class T>
T& reset_to(Record& record) {
  T* held = std::get_if<T>(&record);
  if (held == nullptr) {
    return record.emplace<T>();
  }
  if constexpr (std::is_same_v<T, Kernel>) {
    Kernel fresh;
    fresh.name = std::move(held->name);
    fresh.accesses = std::move(held->accesses);
    fresh.touches = std::move(held->touches);
    fresh.phases = std::move(held->phases);
    fresh.name.clear();
    fresh.touches.clear();
    fresh.phases.clear();
    *held = std::move(fresh);
  } else {
    *held = T{};
  }
  return *held;
}

}  // namespace uvmsim::trace
