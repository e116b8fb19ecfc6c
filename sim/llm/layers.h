// SPDX-License-Identifier: Apache-2.0
// Operators of PyTorch in eager mode: the kernels that each launches, their accesses, the tensors that it keeps for the
// backward pass, and the order in which it frees them. They follow the recordings of `workloads/` (README.md), kernel
// by kernel.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/common/random.h"
#include "sim/llm/model.h"
#include "sim/llm/product_kernels.h"
#include "sim/llm/tape.h"

namespace uvmsim::llm {

struct Linear {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
  std::uint64_t in = 0, out = 0;
  bool is_in_first = false;  // the weight is [in, out], as of transformers' Conv1D; else [out, in]
  // Low-rank adapters of the weight.
  Parameter* down = nullptr;
  Parameter* up = nullptr;
  std::uint64_t rank = 0;
};

struct Norm {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // null: the norm is an RMS norm
  std::uint64_t width = 0;
};

class Layers {
 public:
  Layers(Recorder& recorder, Tape& tape, Number number, std::uint64_t sm_count)
      : recorder_(recorder), tape_(tape), element_bytes_(bytes_of(number)), number_(number), sm_count_(sm_count) {}

  Recorder& recorder() { return recorder_; }
  Tape& tape() { return tape_; }
  std::uint64_t element_bytes() const { return element_bytes_; }
  Number number() const { return number_; }

  // Returns a result, with a gradient if one of the inputs needs one.
  Value result(Tensor data, std::initializer_list<const Value*> inputs) const;
  bool wants(const Value& value) const { return tape_.is_recording() && value.gradient != nullptr; }
  // Adds to a gradient, if it is needed. `is_view`: the tensor is a view of a tensor with another shape.
  void accumulate(const std::shared_ptr<Gradient>& gradient, Tensor tensor, bool is_view = false);
  void accumulate(Parameter& parameter, Tensor tensor);
  // Takes the finished gradient out of a value.
  static Tensor take(const std::shared_ptr<Gradient>& gradient);

  // Launch single kernels. Elements are those of the output.
  Tensor elementwise(std::string_view name, std::initializer_list<Tensor> inputs, std::uint64_t bytes);
  void in_place(std::string_view name, const Tensor& target, const Tensor& input);
  Tensor strided(std::string_view name, std::initializer_list<Tensor> inputs, std::uint64_t bytes);
  Tensor strided_part(std::string_view name, const Tensor& input, std::uint64_t first, std::uint64_t bytes);
  Tensor concatenate(std::initializer_list<Tensor> inputs, std::uint64_t bytes);
  void fill(const Tensor& tensor);
  void rows(std::string_view name, std::uint64_t rows, std::vector<Use> uses, Kind kind = Kind::kRows);
  void product(const ProductShape& shape, Operands operands, std::vector<Use> uses);
  Tensor column_sum(const Tensor& input, std::uint64_t rows, std::uint64_t columns);

  // Operators with their backward passes.
  Value linear(const Value& x, const Linear& layer, std::uint64_t rows);
  Value norm(const Value& x, const Norm& layer, std::uint64_t rows);
  Value dropout(const Value& x);
  Value add(const Value& a, const Value& b);
  Value multiply(const Value& a, const Value& b);
  Value activation(Activation kind, const Value& x);
  Value copy_strided(const Value& x);
  // Reads `count` rows of a table: the first ones, or rows at random places; `words` holds their numbers.
  enum class Places : std::uint8_t { kRandom, kFirst };
  Value embedding(Parameter& table, std::uint64_t row_bytes, std::uint64_t count, const Tensor& words, Places places);
  // Adds the smaller tensor to every part of the larger one.
  Value add_broadcast(const Value& large, const Value& small);
  // Returns the loss, one number: the cross entropy of logits. Frees `logits` unless they are referenced elsewhere.
  Tensor cross_entropy(Value logits, std::uint64_t rows, const Tensor& words, bool in_float32);

 private:
  Value base_linear(const Value& x, const Linear& layer, std::uint64_t rows);
  Value gelu_tanh(const Value& x);

  Recorder& recorder_;
  Tape& tape_;
  std::uint64_t element_bytes_;
  Number number_;
  std::uint64_t sm_count_;
  Random random_{1};
};

}  // namespace uvmsim::llm
