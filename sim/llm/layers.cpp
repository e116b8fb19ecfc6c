// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/layers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/llm/launch_shapes.h"

namespace uvmsim::llm {
namespace {

constexpr std::string_view kMul = "vectorized_elementwise_kernel<mul>", kAdd = "vectorized_elementwise_kernel<add>",
                           kConvert = "vectorized_elementwise_kernel<convert>";

// Elements per thread block, from the grids of the recordings.
constexpr std::uint64_t kStreamElements = 1024;
constexpr std::uint64_t kStridedElementsOf4 = 256, kStridedElementsOf2 = 512;

std::vector<Use> all_read(std::initializer_list<Tensor> inputs) {
  std::vector<Use> uses;
  uses.reserve(inputs.size() + 1);
  for (const Tensor& input : inputs) uses.push_back(reads(input));
  return uses;
}

}  // namespace

Value Layers::result(Tensor data, std::initializer_list<const Value*> inputs) const {
  const bool wanted = tape_.is_recording() &&
                      std::ranges::any_of(inputs, [](const Value* input) { return input->gradient != nullptr; });
  return {std::move(data), wanted ? std::make_shared<Gradient>() : nullptr};
}

Tensor Layers::take(const std::shared_ptr<Gradient>& gradient) { return std::move(gradient->tensor); }

void Layers::accumulate(const std::shared_ptr<Gradient>& gradient, Tensor tensor, bool is_view) {
  if (gradient == nullptr) return;
  if (gradient->tensor == nullptr) {
    *gradient = {std::move(tensor), is_view};
  } else if (gradient->tensor.use_count() == 1 && !gradient->is_view) {
    in_place(kAdd, gradient->tensor, tensor);
  } else {
    Tensor sum = elementwise(kAdd, {gradient->tensor, tensor}, tensor->bytes());
    *gradient = {std::move(sum), false};
  }
}

void Layers::accumulate(Parameter& parameter, Tensor tensor) {
  if (parameter.gradient == nullptr) {
    parameter.gradient = std::move(tensor);
    return;
  }
  parameter.gradient = elementwise(kAdd, {parameter.gradient, tensor}, tensor->bytes());
}

Tensor Layers::elementwise(std::string_view name, std::initializer_list<Tensor> inputs, std::uint64_t bytes) {
  recorder_.begin_operator();
  Tensor out = recorder_.tensor(bytes);
  std::vector<Use> uses = all_read(inputs);
  uses.push_back(writes(out));
  recorder_.launch({name, {}, std::move(uses), {blocks_for(bytes / element_bytes_, kStreamElements), 1, 1}});
  return out;
}

void Layers::in_place(std::string_view name, const Tensor& target, const Tensor& input) {
  recorder_.begin_operator();
  recorder_.launch({name,
                    {},
                    {updates(target), reads(input)},
                    {blocks_for(target->bytes() / element_bytes_, kStreamElements), 1, 1}});
}

Tensor Layers::strided(std::string_view name, std::initializer_list<Tensor> inputs, std::uint64_t bytes) {
  recorder_.begin_operator();
  Tensor out = recorder_.tensor(bytes);
  std::vector<Use> uses = all_read(inputs);
  uses.push_back(writes(out));
  const std::uint64_t elements = bytes / element_bytes_;
  recorder_.launch({name,
                    {Kind::kStrided, 0, elements},
                    std::move(uses),
                    {blocks_for(elements, element_bytes_ == 4 ? kStridedElementsOf4 : kStridedElementsOf2), 1, 1}});
  return out;
}

Tensor Layers::strided_part(std::string_view name, const Tensor& input, std::uint64_t first, std::uint64_t bytes) {
  recorder_.begin_operator();
  Tensor out = recorder_.tensor(bytes);
  const std::uint64_t elements = bytes / element_bytes_;
  recorder_.launch({name,
                    {Kind::kStrided, 0, elements},
                    {reads(input, first, bytes), writes(out)},
                    {blocks_for(elements, element_bytes_ == 4 ? kStridedElementsOf4 : kStridedElementsOf2), 1, 1}});
  return out;
}

Tensor Layers::concatenate(std::initializer_list<Tensor> inputs, std::uint64_t bytes) {
  recorder_.begin_operator();
  Tensor out = recorder_.tensor(bytes);
  std::vector<Use> uses = all_read(inputs);
  uses.push_back(writes(out));
  recorder_.launch({"CatArrayBatchedCopy",
                    {Kind::kConcatenate, 0, 0},
                    std::move(uses),
                    {static_cast<std::uint32_t>(2 * sm_count_), static_cast<std::uint32_t>(inputs.size()), 1}});
  return out;
}

void Layers::fill(const Tensor& tensor) {
  recorder_.begin_operator();
  recorder_.launch({"vectorized_elementwise_kernel<fill>",
                    {},
                    {writes(tensor)},
                    {blocks_for(tensor->bytes() / element_bytes_, kStreamElements), 1, 1}});
}

void Layers::rows(std::string_view name, std::uint64_t rows, std::vector<Use> uses, Kind kind) {
  recorder_.launch({name, {kind, 0, 0}, std::move(uses), {blocks_for(rows, 1), 1, 1}});
}

void Layers::product(const ProductShape& shape, Operands operands, std::vector<Use> uses) {
  const ProductKernel kernel = product_kernel(shape, operands, number_, sm_count_);
  recorder_.launch({kernel.name,
                    {shape.batches == 1 ? Kind::kProduct : Kind::kBatchedProduct,
                     2 * shape.batches * shape.rows * shape.sum * shape.columns, 0},
                    std::move(uses),
                    kernel.grid});
}

// Column sums over many rows: each block writes a partial sum into a buffer of which only a small part is touched.
Tensor Layers::column_sum(const Tensor& input, std::uint64_t rows, std::uint64_t columns) {
  constexpr std::uint64_t kColumnsOfBlock = 128, kRowsOfBlock = 64, kBlocksOfSm = 16, kThreads = 128;
  recorder_.begin_operator();
  Tensor out = recorder_.tensor(columns * element_bytes_);
  const std::uint64_t across = (columns + kColumnsOfBlock - 1) / kColumnsOfBlock;
  const std::uint64_t parts =
      std::max<std::uint64_t>(1, std::min(rows / kRowsOfBlock, kBlocksOfSm * sm_count_ / across));
  std::vector<Use> uses = {reads(input), writes(out)};
  Tensor partial;
  if (parts > 1) {
    const std::uint64_t touched = columns * parts * 4;
    partial = recorder_.tensor(touched * kThreads);
    uses.push_back({partial.get(), trace::AccessMode::kReadWrite, {{0, touched}}});
  }
  recorder_.launch({"reduce_kernel<sum>",
                    {Kind::kColumns, 0, 0},
                    std::move(uses),
                    {blocks_for(across, 1), blocks_for(parts, 1), 1}});
  return out;
}

Value Layers::linear(const Value& x, const Linear& layer, std::uint64_t rows) {
  Value base = base_linear(x, layer, rows);
  if (layer.rank == 0) return base;
  Linear down, up;
  down.weight = layer.down;
  down.in = layer.in;
  down.out = up.in = layer.rank;
  up.weight = layer.up;
  up.out = layer.out;
  const Value narrow = base_linear(x, down, rows);
  const Value wide = base_linear(narrow, up, rows);
  Value scaled = result(elementwise(kMul, {wide.data}, wide.data->bytes()), {&wide});
  if (scaled.gradient != nullptr) {
    tape_.push([this, to = wide.gradient, from = scaled.gradient] {
      const Tensor given = take(from);
      accumulate(to, elementwise(kMul, {given}, given->bytes()));
    });
  }
  return add(base, scaled);
}

Value Layers::base_linear(const Value& x, const Linear& layer, std::uint64_t rows) {
  recorder_.begin_operator();
  const bool trains = tape_.is_recording() && layer.weight->is_trained;
  Value y{recorder_.tensor(rows * layer.out * element_bytes_), nullptr};
  std::vector<Use> uses = {reads(layer.weight->data), reads(x.data), writes(y.data)};
  if (layer.bias != nullptr) uses.push_back(reads(layer.bias->data));
  product({rows, layer.in, layer.out, 1}, layer.is_in_first ? Operands::kNn : Operands::kTn, std::move(uses));
  if (!trains && !wants(x)) return y;
  y.gradient = std::make_shared<Gradient>();
  tape_.push([this, layer, rows, trains, to = x.gradient, from = y.gradient, saved = trains ? x.data : nullptr] {
    const Tensor given = take(from);
    const auto input_gradient = [&] {
      if (to == nullptr) return;
      recorder_.begin_operator();
      Tensor out = recorder_.tensor(rows * layer.in * element_bytes_);
      product({rows, layer.out, layer.in, 1}, layer.is_in_first ? Operands::kTn : Operands::kNn,
              {reads(layer.weight->data), reads(given), writes(out)});
      accumulate(to, std::move(out), true);
    };
    const auto weight_gradient = [&] {
      if (!trains) return;
      recorder_.begin_operator();
      Tensor out = recorder_.tensor(layer.weight->bytes);
      const std::uint64_t first = layer.is_in_first ? layer.in : layer.out;
      const std::uint64_t second = layer.is_in_first ? layer.out : layer.in;
      product({first, rows, second, 1}, Operands::kNt, {reads(saved), reads(given), writes(out)});
      accumulate(*layer.weight, std::move(out));
    };
    // addmm's backward pass begins with the gradient of the input, that of mm with the gradient of the weight.
    if (layer.bias != nullptr) {
      input_gradient();
      weight_gradient();
      if (trains) accumulate(*layer.bias, column_sum(given, rows, layer.out));
    } else {
      weight_gradient();
      input_gradient();
    }
  });
  return y;
}

Value Layers::norm(const Value& x, const Norm& layer, std::uint64_t rows) {
  constexpr std::uint64_t kStatisticBytes = 4;
  recorder_.begin_operator();
  Value y{recorder_.tensor(x.data->bytes()), nullptr};
  const bool is_rms = layer.bias == nullptr;
  const Tensor mean = is_rms ? nullptr : recorder_.tensor(rows * kStatisticBytes);
  const Tensor deviation = recorder_.tensor(rows * kStatisticBytes);
  std::vector<Use> uses = {reads(layer.weight->data), reads(x.data), writes(y.data), writes(deviation)};
  if (!is_rms) uses.insert(uses.end(), {reads(layer.bias->data), writes(mean)});
  this->rows("vectorized_layer_norm_kernel", rows, std::move(uses));
  const bool trains = tape_.is_recording() && layer.weight->is_trained;
  if (!trains && !wants(x)) return y;
  y.gradient = std::make_shared<Gradient>();
  tape_.push([this, layer, rows, trains, to = x.gradient, from = y.gradient, saved = x.data, mean, deviation] {
    recorder_.begin_operator();
    const Tensor given = take(from);
    Tensor out = recorder_.tensor(given->bytes());
    const Tensor weight = trains ? recorder_.tensor(layer.weight->bytes) : nullptr;
    const Tensor bias = trains && layer.bias != nullptr ? recorder_.tensor(layer.bias->bytes) : nullptr;
    std::vector<Use> statistics = {reads(saved), reads(deviation), reads(given)};
    if (mean != nullptr) statistics.push_back(reads(mean));
    std::vector<Use> all = statistics;
    all.insert(all.end(), {reads(layer.weight->data), writes(out)});
    this->rows("layer_norm_grad_input_kernel_vectorized", rows, std::move(all));
    if (trains) {
      statistics.push_back(writes(weight));
      if (bias != nullptr) statistics.push_back(writes(bias));
      recorder_.launch({"GammaBetaBackwardCUDAKernel",
                        {Kind::kColumns, 0, 0},
                        std::move(statistics),
                        {blocks_for(layer.width, 32), 1, 1}});
      accumulate(*layer.weight, weight);
      if (bias != nullptr) accumulate(*layer.bias, bias);
    }
    accumulate(to, std::move(out));
  });
  return y;
}

Value Layers::dropout(const Value& x) {
  recorder_.begin_operator();
  const std::uint64_t elements = x.data->bytes() / element_bytes_;
  const Tensor mask = recorder_.tensor(elements);
  Value y = result(recorder_.tensor(x.data->bytes()), {&x});
  constexpr std::uint32_t kBlocksOfSm = 8;
  recorder_.launch(
      {"fused_dropout_kernel_vec",
       {Kind::kDropout, 0, 0},
       {reads(x.data), writes(mask), writes(y.data)},
       {std::min(blocks_for(elements, kStreamElements), kBlocksOfSm * static_cast<std::uint32_t>(sm_count_)), 1, 1}});
  if (y.gradient != nullptr) {
    tape_.push([this, to = x.gradient, from = y.gradient, mask] {
      const Tensor given = take(from);
      accumulate(to, elementwise("vectorized_elementwise_kernel<masked_scale>", {mask, given}, given->bytes()));
    });
  }
  return y;
}

Value Layers::add(const Value& a, const Value& b) {
  Value y = result(elementwise(kAdd, {a.data, b.data}, a.data->bytes()), {&a, &b});
  if (y.gradient != nullptr) {
    tape_.push([this, first = a.gradient, second = b.gradient, from = y.gradient] {
      Tensor given = take(from);
      accumulate(first, given);
      accumulate(second, std::move(given));
    });
  }
  return y;
}

Value Layers::multiply(const Value& a, const Value& b) {
  Value y = result(elementwise(kMul, {a.data, b.data}, a.data->bytes()), {&a, &b});
  if (y.gradient != nullptr) {
    tape_.push([this, first = a, second = b, from = y.gradient] {
      const Tensor given = take(from);
      if (second.gradient != nullptr) {
        accumulate(second.gradient, elementwise(kMul, {first.data, given}, given->bytes()));
      }
      if (first.gradient != nullptr) {
        accumulate(first.gradient, elementwise(kMul, {second.data, given}, given->bytes()));
      }
    });
  }
  return y;
}

Value Layers::activation(Activation kind, const Value& x) {
  if (kind == Activation::kGeluTanh) return gelu_tanh(x);
  Value y = result(elementwise("vectorized_elementwise_kernel<activation>", {x.data}, x.data->bytes()), {&x});
  if (y.gradient != nullptr) {
    tape_.push([this, to = x.gradient, from = y.gradient, saved = x.data] {
      const Tensor given = take(from);
      accumulate(to, elementwise("vectorized_elementwise_kernel<activation_backward>", {saved, given}, given->bytes()));
    });
  }
  return y;
}

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))), one kernel per operation, as `gelu_new` of transformers computes it.
Value Layers::gelu_tanh(const Value& x) {
  const std::uint64_t bytes = x.data->bytes();
  const Tensor half = elementwise(kMul, {x.data}, bytes);
  Tensor inner = elementwise("vectorized_elementwise_kernel<pow>", {x.data}, bytes);
  inner = elementwise(kMul, {inner}, bytes);
  inner = elementwise(kAdd, {x.data, inner}, bytes);
  inner = elementwise(kMul, {inner}, bytes);
  const Tensor bent = elementwise("vectorized_elementwise_kernel<tanh>", {inner}, bytes);
  inner.reset();
  const Tensor one_more = elementwise(kAdd, {bent}, bytes);
  Value y = result(elementwise(kMul, {half, one_more}, bytes), {&x});
  if (y.gradient == nullptr) return y;
  struct Saved {
    Tensor x, half, bent, one_more;
  };
  // Each is freed as soon as the last step that needs it has run.
  auto saved = std::make_shared<Saved>(Saved{x.data, half, bent, one_more});
  tape_.push([this, bytes, to = x.gradient, from = y.gradient, saved] {
    Tensor given = take(from);
    Tensor of_sum = elementwise(kMul, {saved->half, given}, bytes);
    Tensor of_half = elementwise(kMul, {saved->one_more, given}, bytes);
    given.reset();
    saved->one_more.reset();
    saved->half.reset();
    of_sum = elementwise("vectorized_elementwise_kernel<tanh_backward>", {saved->bent, of_sum}, bytes);
    saved->bent.reset();
    of_sum = elementwise(kMul, {of_sum}, bytes);
    Tensor of_cube = elementwise(kMul, {of_sum}, bytes);
    // Temporaries of the power's backward pass live until its product is made.
    Tensor square = elementwise("vectorized_elementwise_kernel<pow>", {saved->x}, bytes);
    Tensor scaled = elementwise(kMul, {square}, bytes);
    Tensor product = elementwise(kMul, {of_cube, scaled}, bytes);
    scaled.reset();
    square.reset();
    of_cube = std::move(product);
    saved->x.reset();
    in_place(kAdd, of_sum, of_cube);
    of_cube.reset();
    of_half = elementwise(kMul, {of_half}, bytes);
    in_place(kAdd, of_sum, of_half);
    of_half.reset();
    accumulate(to, std::move(of_sum));
  });
  return y;
}

Value Layers::copy_strided(const Value& x) {
  Value y = result(strided("elementwise_kernel<copy>", {x.data}, x.data->bytes()), {&x});
  if (y.gradient != nullptr) {
    tape_.push([this, to = x.gradient, from = y.gradient] {
      const Tensor given = take(from);
      accumulate(to, strided("elementwise_kernel<copy>", {given}, given->bytes()));
    });
  }
  return y;
}

Value Layers::add_broadcast(const Value& large, const Value& small) {
  Value y = result(strided("elementwise_kernel<add>", {large.data, small.data}, large.data->bytes()), {&large, &small});
  if (y.gradient != nullptr) {
    tape_.push([this, first = large.gradient, second = small.gradient, bytes = small.data->bytes(), from = y.gradient] {
      const Tensor given = take(from);
      accumulate(first, given);
      if (second == nullptr) return;
      recorder_.begin_operator();
      Tensor sum = recorder_.tensor(bytes);
      rows("reduce_kernel<sum>", 1 + bytes / 2048, {reads(given), writes(sum)});
      accumulate(second, std::move(sum));
    });
  }
  return y;
}

Value Layers::embedding(Parameter& table, std::uint64_t row_bytes, std::uint64_t count, const Tensor& words,
                        Places places) {
  recorder_.begin_operator();
  const std::uint64_t table_rows = table.bytes / row_bytes;
  std::vector<Use::Stretch> touched;
  constexpr std::uint64_t kManyTimes = 16;
  if (places == Places::kFirst || count >= kManyTimes * table_rows) {
    touched.push_back({0, std::min(table.bytes, count * row_bytes)});
  } else {
    std::set<std::uint64_t> chosen;
    for (std::uint64_t i = 0; i < count; ++i) chosen.insert(random_.below(table_rows));
    for (const std::uint64_t row : chosen) touched.push_back({row * row_bytes, row_bytes});
  }
  Value y{recorder_.tensor(count * row_bytes), nullptr};
  rows("vectorized_gather_kernel", count,
       {{table.data.get(), trace::AccessMode::kRead, touched}, reads(words), writes(y.data)});
  if (!tape_.is_recording() || !table.is_trained) return y;
  y.gradient = std::make_shared<Gradient>();
  tape_.push([this, &table, row_bytes, count, touched, words, from = y.gradient] {
    const Tensor given = take(from);
    recorder_.begin_operator();
    const Tensor order = recorder_.tensor(count * 8), sorted = recorder_.tensor(count * 8);
    constexpr int kSortPasses = 8;
    for (int pass = 0; pass < kSortPasses; ++pass) {
      rows("DeviceRadixSortOnesweepKernel", 1 + count / 4096, {reads(words), updates(order), updates(sorted)});
    }
    Tensor out = recorder_.tensor(table.bytes);
    fill(out);
    Tensor partial = recorder_.tensor(given->bytes() + row_bytes);
    rows("compute_grad_weight", 1 + count, {reads(given), reads(order), writes(partial)}, Kind::kColumns);
    rows("sum_and_scatter", 1 + count, {reads(partial), reads(sorted), {out.get(), trace::AccessMode::kWrite, touched}},
         Kind::kColumns);
    partial.reset();
    accumulate(table, std::move(out));
  });
  return y;
}

Tensor Layers::cross_entropy(Value logits, std::uint64_t row_count, const Tensor& words, bool in_float32) {
  Value wide = logits;
  const bool widens = in_float32 && number_ != Number::kFloat32;
  std::uint64_t bytes = logits.data->bytes();
  if (widens) {
    bytes *= 4 / element_bytes_;
    wide = {elementwise(kConvert, {logits.data}, bytes), std::make_shared<Gradient>()};
    tape_.push([this, to = logits.gradient, from = wide.gradient, narrow_bytes = logits.data->bytes()] {
      const Tensor given = take(from);
      accumulate(to, elementwise(kConvert, {given}, narrow_bytes));
    });
  }
  logits.data.reset();
  recorder_.begin_operator();
  const Tensor likely = recorder_.tensor(bytes);
  rows("cunn_SoftMaxForward", row_count, {reads(wide.data), writes(likely)}, Kind::kLongRows);
  recorder_.begin_operator();
  Tensor loss = recorder_.tensor(4);
  const Tensor weight = recorder_.tensor(4);
  // Each row has one word; the words are a page apart.
  const auto of_words = [row_count](const Tensor& tensor, trace::AccessMode mode) {
    Use use{tensor.get(), mode, {}};
    const std::uint64_t row_bytes = tensor->bytes() / row_count;
    for (std::uint64_t row = 0; row < row_count; ++row) use.stretches.push_back({row * row_bytes + row_bytes / 2, 4});
    return use;
  };
  rows("nll_loss_forward_reduce", 1,
       {of_words(likely, trace::AccessMode::kRead), reads(words), writes(loss), writes(weight)}, Kind::kColumns);
  tape_.push(
      [this, bytes, row_count, to = wide.gradient, saved = std::make_shared<Tensor>(likely), words, weight, of_words] {
        recorder_.begin_operator();
        Tensor given = recorder_.tensor(bytes);
        fill(given);
        rows("nll_loss_backward_reduce", 1, {of_words(given, trace::AccessMode::kWrite), reads(words), reads(weight)},
             Kind::kColumns);
        recorder_.begin_operator();
        Tensor out = recorder_.tensor(bytes);
        rows("cunn_SoftMaxBackward", row_count, {reads(*saved), reads(given), writes(out)}, Kind::kLongRows);
        given.reset();
        saved->reset();
        accumulate(to, std::move(out));
      });
  return loss;
}

}  // namespace uvmsim::llm
