// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/tape.h"

#include <utility>

namespace uvmsim::llm {

void Tape::run_back_to(std::size_t mark) {
  while (steps_.size() > mark) {
    const Step step = std::move(steps_.back());
    steps_.pop_back();
    step();
  }
}

}  // namespace uvmsim::llm
