// SPDX-License-Identifier: Apache-2.0
// The steps that a forward pass records for the backward pass, which runs them from the last to the first. After it has
// run, each step frees the tensors that it saved.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/llm/recorder.h"

namespace uvmsim::llm {

// The gradient of a value, as far as it is accumulated.
struct Gradient {
  Tensor tensor;
  bool is_view = false;  // its tensor is a view of another shape, so that PyTorch does not add to it in place
};

struct Value {
  Tensor data;
  std::shared_ptr<Gradient> gradient;  // null: no gradient is needed
};

struct Parameter {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_trained = true;
  Tensor data, gradient;
  std::vector<Tensor> states;  // of the optimizer
};

class Tape {
 public:
  using Step = std::function<void()>;

  bool is_recording() const { return is_recording_; }
  void set_recording(bool is_recording) { is_recording_ = is_recording; }
  void push(Step step) { steps_.push_back(std::move(step)); }
  void run_backward() { run_back_to(0); }

  // mark() and run_back_to() are for a layer that runs again within the backward pass.
  std::size_t mark() const { return steps_.size(); }
  void run_back_to(std::size_t mark);

 private:
  std::vector<Step> steps_;
  bool is_recording_ = false;
};

}  // namespace uvmsim::llm
