// SPDX-License-Identifier: Apache-2.0
// Programs that make one library call on whole tensors.
#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "sim/common/units.h"
#include "sim/import/access_set.h"
#include "sim/trace/attributes.h"
#include "sim/trace/kernel_names.h"
#include "sim/validate/experiment_program.h"

namespace uvmsim::validate {

namespace {

bool has_fault(const Experiment& experiment, std::size_t allocation) {
  return std::ranges::any_of(experiment.events, [=](const MeasuredEvent& event) {
    return event.kind == EventKind::kFaultBatch && event.allocation == allocation;
  });
}

// index = torch.randint(0, rows, (count,)) of a CPU generator seeded `seed`
struct RandomIndex {
  std::uint64_t rows = 0, count = 0, seed = 0;
};

// Returns the unsigned number that follows `prefix` in `text`.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view prefix) {
  const std::size_t at = text.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + prefix.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<RandomIndex> random_index(const std::string& note) {
  const std::size_t call = note.find("torch.randint(0,");
  if (call == std::string::npos) return std::nullopt;
  const std::string_view text = std::string_view(note).substr(call);
  const auto rows = number_after(text, "torch.randint(0,");
  const auto count = number_after(text, ",(");
  const auto seed = number_after(text, "seeded ");
  if (!rows || !count || !seed || *rows == 0 || *rows >= (1u << 28) || *count > (1u << 28)) return std::nullopt;
  return RandomIndex{*rows, *count, *seed};
}

}  // namespace

void ProgramBuilder::add_library_call() {
  constexpr std::size_t kNchwDimensions = 4;
  for (const Allocation& tensor : experiment_.allocations) {
    if (!tensor.output || tensor.shape.size() != kNchwDimensions) continue;
    program_.header.attributes.emplace_back(trace::kImagesAttribute, std::to_string(tensor.shape[0]));
    break;
  }
  for (std::size_t i = 0; i < experiment_.allocations.size(); ++i) {
    const Allocation& tensor = experiment_.allocations[i];
    if (experiment_.mode == Mode::kRemote) {
      if (tensor.output == experiment_.outputs_remote) {
        add_in_place(i);
      } else {
        add_prefetch(i, whole(i), trace::Device::kGpu0);
      }
    } else if (!tensor.output) {
      // Inputs were created on the GPU; those "on the host" were prefetched there: of the shared 2 MB block of small
      // tensors only their own pages move (measured: layernorm_12m, conv3x3_64c_128px).
      add_prefetch(i, whole(i), experiment_.inputs_on_host ? trace::Device::kHost : trace::Device::kGpu0);
    } else if (experiment_.outputs_on_host) {
      add_host_access(i, whole(i), trace::AccessMode::kWrite);
    } else if (tensor.bytes < kBlockBytes && !has_fault(experiment_, i)) {
      // A small output without faults is in a shared block that earlier calls of the process had populated (measured:
      // sum_lastdim_48m with its input on the GPU has no fault at all).
      add_prefetch(i, whole(i), trace::Device::kGpu0);
    }
  }
  begin_measurement();
  for (const MeasuredKernel& kernel : experiment_.kernels) add_library_kernel(kernel);
  end_measurement();
}

// Models pinned memory, which the GPU sees as host memory that is mapped and never moves.
void ProgramBuilder::add_in_place(std::size_t allocation) {
  add_prefetch(allocation, whole(allocation), trace::Device::kHost);
  for (const auto& [advice, device] : {std::pair(trace::Advice::kSetPreferredLocation, trace::Device::kHost),
                                       std::pair(trace::Advice::kSetAccessedBy, trace::Device::kGpu0)}) {
    trace::Advise record;
    record.object = object_id(allocation);
    record.bytes = experiment_.allocations[allocation].bytes;
    record.advice = advice;
    record.device = static_cast<std::int32_t>(device);
    program_.records.emplace_back(record);
  }
}

void ProgramBuilder::add_library_kernel(const MeasuredKernel& measured) {
  trace::Kernel kernel;
  kernel.name = measured.name;
  kernel.distribution = trace::distribution_by_name(measured.name);
  kernel.grid = measured.grid;
  kernel.block = measured.block;
  kernel.registers_per_thread = measured.registers_per_thread;
  kernel.shared_bytes_per_block = measured.shared_bytes_per_block;
  kernel.duration_ns = measured.native_ns > 0 ? measured.native_ns : library_ns(experiment_, measured, system_.gpus[0]);
  for (std::size_t i = 0; i < experiment_.allocations.size(); ++i) {
    const bool output = experiment_.allocations[i].output;
    const auto mode = output ? trace::AccessMode::kWrite : trace::AccessMode::kRead;
    kernel.accesses.push_back({object_id(i), {extent(whole(i), mode)}});
  }
  add_gather(kernel);
  program_.records.emplace_back(std::move(kernel));
}

// A gather reads the rows that its index names: one thread block reads one entry of the index and copies that row.
// torch draws index entries below 2^28 as 32-bit Mersenne Twister numbers modulo the number of rows; all 806 pages that
// faulted in the measured embedding are among those of the index computed in this way.
void ProgramBuilder::add_gather(trace::Kernel& kernel) const {
  const std::optional<RandomIndex> draw = random_index(experiment_.note);
  if (!draw) return;
  std::optional<std::uint32_t> table, index, result;
  for (std::uint32_t i = 0; i < experiment_.allocations.size(); ++i) {
    const Allocation& tensor = experiment_.allocations[i];
    if (tensor.output) {
      result = i;
    } else if (tensor.shape.size() == 1 && tensor.shape[0] == draw->count) {
      index = i;
    } else if (!tensor.shape.empty() && tensor.shape[0] == draw->rows) {
      table = i;
    }
  }
  if (!table || !index || !result || kernel.grid.count() != draw->count) return;
  const std::uint64_t quantum = program_.header.quantum_bytes;
  const auto quantum_of_row = [&](std::uint32_t slot, std::uint64_t row, std::uint64_t rows) {
    const std::uint64_t bytes = experiment_.allocations[slot].bytes;
    return std::min(row * (bytes / rows), bytes - 1) / quantum;
  };
  std::mt19937 generator(static_cast<std::uint32_t>(draw->seed));
  kernel.touches.reserve(3 * draw->count);
  for (std::uint64_t block = 0; block < draw->count; ++block) {
    const std::uint64_t row = generator() % draw->rows;
    kernel.touches.push_back({*index, quantum_of_row(*index, block, draw->count), trace::AccessMode::kRead});
    kernel.touches.push_back({*table, quantum_of_row(*table, row, draw->rows), trace::AccessMode::kRead});
    kernel.touches.push_back({*result, quantum_of_row(*result, block, draw->count), trace::AccessMode::kWrite});
  }
  // One thread stands for the block: its threads touch the same page at the same time.
  kernel.distribution = trace::Distribution::kThreadChunk;
  kernel.block = {1, 1, 1};
  // The table's extent is reduced to the touched rows.
  trace::AccessSet rows;
  for (const trace::Touch& touch : kernel.touches) {
    if (touch.slot == *table) rows.add(object_id(*table), touch.quantum, touch.quantum + 1, touch.mode);
  }
  kernel.accesses[*table] = std::move(rows.take().front());
}

}  // namespace uvmsim::validate
