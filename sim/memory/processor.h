// SPDX-License-Identifier: Apache-2.0
// The processors that can hold a page: the host, each GPU, and later an SSD tier below the host.
#pragma once

#include <compare>
#include <cstdint>

namespace uvmsim {

struct ProcessorId {
  std::uint8_t index = 0;
  constexpr auto operator<=>(const ProcessorId&) const = default;
  constexpr bool is_host() const { return index == 0; }
  constexpr bool is_gpu() const { return index != 0 && index != kNoneIndex; }
  constexpr bool is_none() const { return index == kNoneIndex; }
  constexpr unsigned gpu() const { return index - 1u; }
  constexpr std::uint32_t bit() const { return std::uint32_t{1} << index; }

  static constexpr std::uint8_t kNoneIndex = 0xff;
};

inline constexpr ProcessorId kHost{0};
inline constexpr ProcessorId kNoProcessor{ProcessorId::kNoneIndex};
constexpr ProcessorId gpu_processor(unsigned gpu) { return ProcessorId{static_cast<std::uint8_t>(gpu + 1)}; }

inline constexpr unsigned kMaxGpus = 16;

}  // namespace uvmsim
