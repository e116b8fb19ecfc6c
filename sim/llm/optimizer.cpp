// SPDX-License-Identifier: Apache-2.0
// PyTorch's optimizers: one operation at a time over the pieces of all parameters ("foreach").
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/llm/network.h"

namespace uvmsim::llm {
namespace {

// Constants of ATen/native/cuda/MultiTensorApply.cuh of PyTorch: elements of a thread block, blocks of a launch, and
// tensors of a launch by the number of lists that an operation takes.
constexpr std::uint64_t kPieceElements = 65536, kMostBlocks = 320;
constexpr std::size_t kMostTensors[] = {0, 110, 64, 48, 36};

// One list of tensors that an operation takes.
struct List {
  std::vector<Tensor> tensors;
  trace::AccessMode mode = trace::AccessMode::kRead;
};

// The launches of one operation over lists of equally large tensors.
class ForEach {
 public:
  ForEach(Layers& layers, std::string_view name, std::vector<List> lists)
      : layers_(layers), name_(name), lists_(std::move(lists)) {
    layers.recorder().begin_operator();
    for (std::size_t i = 0; i < lists_.front().tensors.size(); ++i) add(i);
    flush();
  }

 private:
  void add(std::size_t tensor) {
    const std::uint64_t bytes = lists_.front().tensors[tensor]->bytes();
    const std::uint64_t piece = kPieceElements * layers_.element_bytes();
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t room = (kMostBlocks - blocks_) * piece;
      const std::uint64_t taken = std::min(bytes - done, room);
      for (const List& list : lists_) uses_.push_back({list.tensors[tensor].get(), list.mode, {{done, taken}}});
      blocks_ += (taken + piece - 1) / piece;
      ++tensors_;
      done += taken;
      if (blocks_ == kMostBlocks || tensors_ == kMostTensors[lists_.size()]) flush();
    }
  }
  void flush() {
    if (uses_.empty()) return;
    layers_.recorder().launch({name_,
                               {Kind::kOptimizer, 0, blocks_ * kPieceElements},
                               std::exchange(uses_, {}),
                               {static_cast<std::uint32_t>(blocks_), 1, 1}});
    blocks_ = 0;
    tensors_ = 0;
  }

  Layers& layers_;
  std::string_view name_;
  std::vector<List> lists_;
  std::vector<Use> uses_;
  std::uint64_t blocks_ = 0;
  std::size_t tensors_ = 0;
};

}  // namespace

void Network::step() {
  using trace::AccessMode;
  std::vector<Parameter*> trained;
  for (const auto& one : parameters_) {
    if (one->gradient != nullptr) trained.push_back(one.get());
  }
  const auto list = [&](auto member, AccessMode mode) {
    List out{{}, mode};
    for (const Parameter* one : trained) out.tensors.push_back(member(*one));
    return out;
  };
  const auto weights = [&](AccessMode mode) { return list([](const Parameter& one) { return one.data; }, mode); };
  const auto gradients = [&] { return list([](const Parameter& one) { return one.gradient; }, AccessMode::kRead); };
  const auto states = [&](std::size_t which, AccessMode mode) {
    return list([which](const Parameter& one) { return one.states[which]; }, mode);
  };
  constexpr AccessMode kUpdate = AccessMode::kReadWrite;

  switch (settings_.optimizer) {
    case Optimizer::kSgd:
      ForEach(layers_, "multi_tensor_apply_kernel<add>", {weights(kUpdate), gradients()});
      return;
    case Optimizer::kSgdMomentum: {
      // The first step initialises the momentum with a copy of the gradient.
      if (trained.front()->states.empty()) {
        for (Parameter* one : trained) {
          one->states.push_back(
              layers_.elementwise("vectorized_elementwise_kernel<copy>", {one->gradient}, one->bytes));
        }
      } else {
        ForEach(layers_, "multi_tensor_apply_kernel<mul>", {states(0, kUpdate)});
        ForEach(layers_, "multi_tensor_apply_kernel<add>", {states(0, kUpdate), gradients()});
      }
      ForEach(layers_, "multi_tensor_apply_kernel<add>", {weights(kUpdate), states(0, AccessMode::kRead)});
      return;
    }
    case Optimizer::kAdamw:
      break;
  }
  if (trained.front()->states.empty()) {
    for (Parameter* one : trained) {
      for (int state = 0; state < 2; ++state) {
        one->states.push_back(recorder_.tensor(one->bytes));
        layers_.fill(one->states.back());
      }
    }
  }
  ForEach(layers_, "multi_tensor_apply_kernel<mul>", {weights(kUpdate)});  // weight decay
  ForEach(layers_, "multi_tensor_apply_kernel<lerp>", {states(0, kUpdate), gradients()});
  ForEach(layers_, "multi_tensor_apply_kernel<mul>", {states(1, kUpdate)});
  ForEach(layers_, "multi_tensor_apply_kernel<addcmul>", {states(1, kUpdate), gradients()});
  List roots{{}, AccessMode::kWrite};
  for (const Parameter* one : trained) roots.tensors.push_back(recorder_.tensor(one->bytes));
  ForEach(layers_, "multi_tensor_apply_kernel<sqrt>", {states(1, AccessMode::kRead), roots});
  roots.mode = kUpdate;
  ForEach(layers_, "multi_tensor_apply_kernel<div>", {roots});
  ForEach(layers_, "multi_tensor_apply_kernel<add>", {roots});
  roots.mode = AccessMode::kRead;
  ForEach(layers_, "multi_tensor_apply_kernel<addcdiv>", {weights(kUpdate), states(0, AccessMode::kRead), roots});
}

}  // namespace uvmsim::llm
