// SPDX-License-Identifier: Apache-2.0
// The pages of a mask, in a digest of the model's state.
#pragma once

#include "sim/common/state_digest.h"
#include "sim/memory/page_mask.h"

namespace uvmsim {

inline void add_mask(StateDigest& digest, const PageMask& mask) {
  for (unsigned word = 0; word < PageMask::kWords; ++word) digest.add(mask.word(word));
}

}  // namespace uvmsim
