// SPDX-License-Identifier: Apache-2.0
// Checks of the model's own invariants. They are on in debug builds and in every test build
// (UVMSIM_MODEL_CHECKS=1) and compile to nothing in release builds.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#ifndef UVMSIM_MODEL_CHECKS
#ifdef NDEBUG
#define UVMSIM_MODEL_CHECKS 0
#else
#define UVMSIM_MODEL_CHECKS 1
#endif
#endif

namespace uvmsim {

// A violated invariant of the simulator itself: always a bug in uvmsim or in a policy plug-in.
class ModelError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr bool kModelChecks = UVMSIM_MODEL_CHECKS != 0;

}  // namespace uvmsim

#define UVMSIM_CHECK(condition, ...)                                                                 \
  do {                                                                                               \
    if constexpr (::uvmsim::kModelChecks) {                                                          \
      if (!(condition)) {                                                                            \
        throw ::uvmsim::ModelError(                                                                  \
            fmt::format("{}:{}: {}: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__))); \
      }                                                                                              \
    }                                                                                                \
  } while (false)
