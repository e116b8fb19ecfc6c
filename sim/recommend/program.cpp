// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/common/error.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;

constexpr std::uint64_t kPooledElementBytes = 4;  // fp32, as FBGEMM's kernels write them by default

std::string program_text(const Workload& workload, const Placement& placement, const ProgramOptions& options) {
  std::string text =
      fmt::format("{}, {} as {}", workload.name, options.training ? "training" : "inference", placement.name);
  if (options.gpus != 1) text += fmt::format(", {} GPUs, {}", options.gpus, options.sharding->name);
  if (options.optimizer->state != Optimizer::State::kNone) text += fmt::format(", {}", options.optimizer->name);
  return text;
}

}  // namespace

Program::Program(const Workload& workload, const Placement& placement, const ProgramOptions& options,
                 const config::SystemConfig& system)
    : workload_(workload),
      placement_(placement),
      options_(options),
      costs_(workload, system.gpus.front()),
      batches_(workload, options.training, options.seed, options.gpus),
      shards_(workload, *options.sharding, options.gpus),
      dense_bytes_(dense_parameter_bytes(workload)),
      exchange_(pending_, queues_) {
  header_.quantum_bytes = static_cast<std::uint32_t>(workload.row_bytes());
  header_.tool = "uvmsim recommend";
  header_.program = program_text(workload, placement, options);
  header_.provenance = "generated";
  check_joined(system, options.gpus);
  for (unsigned gpu = 0; gpu < options.gpus; ++gpu) {
    queues_.emplace_back(pending_, gpu);
    gpus_.emplace_back(workload_, shards_.shares()[gpu], placement_, options_, system, costs_, queues_.back());
  }
  check_room(system);
}

void Program::check_room(const config::SystemConfig& system) const {
  const bool ssd = placement_.memory == Memory::kSsd;
  if (ssd && (options_.gpus != 1 || gpus_.front().state_bytes() != 0)) {
    throw_input_error("{}: {} GPUs with {}; allowed: one GPU with sgd", placement_.name, options_.gpus,
                      options_.optimizer->name);
  }
  if (ssd && system.ssd.memory_bytes < workload_.bytes()) {
    throw_input_error("{}: tables of {} bytes on an SSD of {}; allowed: a system with an SSD tier that holds them",
                      placement_.name, workload_.bytes(), system.ssd.memory_bytes);
  }
  std::uint64_t host_bytes = 0;
  for (const GpuTables& gpu : gpus_) host_bytes += gpu.host_bytes();
  if (system.host.memory_bytes != 0 && system.host.memory_bytes < host_bytes) {
    throw_input_error("{}: tables of {} bytes on a host of {}; allowed: tables that the host holds", placement_.name,
                      host_bytes, system.host.memory_bytes);
  }
}

std::int64_t Program::dense_ns() const { return costs_.dense_forward_ns() * (options_.training ? 3 : 1); }

RowStatistics Program::statistics() const {
  RowStatistics sum;
  for (const GpuTables& gpu : gpus_) sum.add(gpu.statistics());
  return sum;
}

bool Program::next(trace::Record& record) {
  while (pending_.empty()) {
    switch (stage_) {
      case Stage::kSetUp:
        set_up();
        stage_ = Stage::kSteps;
        break;
      case Stage::kSteps:
        if (step_ > options_.steps) {
          pending_.push_back(trace::Sync{});
          stage_ = Stage::kDone;
        } else {
          emit_step(step_++);
        }
        break;
      case Stage::kDone:
        return false;
    }
  }
  record = std::move(pending_.front());
  pending_.pop_front();
  return true;
}

// Gives the lookups of a batch to the GPUs that have their rows.
void Program::draw(std::uint64_t number, std::uint64_t step) {
  batches_.draw(number, lookups_);
  shards_.split(lookups_, parts_);
  for (unsigned gpu = 0; gpu < options_.gpus; ++gpu) gpus_[gpu].lookups(step).swap(parts_[gpu]);
}

void Program::set_up() {
  for (std::uint64_t number = 0; placement_.cached && number < options_.warm_up; ++number) {
    draw(number, number);
    for (GpuTables& gpu : gpus_) gpu.warm_up(number);
  }
  for (GpuTables& gpu : gpus_) gpu.set_up();
  for (unsigned gpu = 0; gpu < options_.gpus && options_.gpus != 1; ++gpu) {
    queues_[gpu].allocate(Object::kMessages, std::max(pooled_bytes(workload_.rows.size()), dense_bytes_));
  }
  pending_.push_back(trace::Sync{});
  if (!placement_.ahead) return;
  draw(options_.warm_up, 0);
  for (GpuTables& gpu : gpus_) gpu.fetch(0, Stream::kCompute);
}

// Makes all GPUs wait for each other: a step begins when all have completed the previous one.
void Program::begin_together() {
  if (options_.gpus == 1) return;
  queues_.front().record(Stream::kCompute, Event::kBegun);
  for (unsigned gpu = 1; gpu < options_.gpus; ++gpu) {
    queues_[gpu].add_sync(trace::SyncKind::kEventWait, Stream::kCompute, queues_.front().number(Event::kBegun));
  }
}

void Program::emit_step(std::uint64_t step) {
  const trace::Range begin{trace::RangeKind::kIterationBegin, "", step};
  pending_.push_back(begin);
  begin_together();
  const std::uint64_t fetched = placement_.ahead ? step + 1 : step;
  draw(options_.warm_up + fetched, fetched);
  emit_forward(step);
  if (options_.training) emit_backward(step);
  for (GpuTables& gpu : gpus_) gpu.end_step(step, step != 0);
  if (step == 0) sent_ = {};
  for (unsigned gpu = 1; gpu < options_.gpus; ++gpu) {
    queues_.front().add_sync(trace::SyncKind::kEventWait, Stream::kCompute, queues_[gpu].number(Event::kUpdated));
  }
  trace::Range end = begin;
  end.kind = trace::RangeKind::kIterationEnd;
  pending_.push_back(end);
}

// The layers below the embeddings compute during the exchange of pooled rows.
void Program::emit_forward(std::uint64_t step) {
  for (GpuTables& gpu : gpus_) {
    gpu.begin_step(step);
    gpu.emit_forward(step);
  }
  const std::int64_t bottom = costs_.dense_bottom_ns(), top = costs_.dense_forward_ns() - bottom;
  if (options_.gpus == 1) {
    queues_.front().add_kernel("dense_forward", Stream::kCompute,
                               bottom + top + gpus_.front().disturbed_ns(dense_ns()));
    return;
  }
  sent_.pooled_rows += exchange_.send(Message::kPooledRows, Stream::kCompute,
                                      [&](unsigned from, unsigned) { return pooled_bytes(tables_of(from)); });
  for (unsigned gpu = 0; gpu < options_.gpus; ++gpu) {
    if (options_.training && step != 0) exchange_.await(Message::kDenseSums, gpu, Stream::kCompute);
    queues_[gpu].add_kernel("dense_bottom_forward", Stream::kCompute, bottom);
    exchange_.await(Message::kPooledRows, gpu, Stream::kCompute);
    if (options_.sharding->by_rows()) add_sum(gpu, Stream::kCompute, pooled_bytes(tables_of(gpu)));
    queues_[gpu].add_kernel("dense_top_forward", Stream::kCompute, top + gpus_[gpu].disturbed_ns(dense_ns()));
  }
}

// The rows' gradients come first; the dense gradients are summed concurrently with the following work.
void Program::emit_backward(std::uint64_t step) {
  const std::int64_t bottom = 2 * costs_.dense_bottom_ns(), top = 2 * costs_.dense_forward_ns() - bottom;
  if (options_.gpus == 1) {
    queues_.front().add_kernel("dense_backward", Stream::kCompute, bottom + top);
    gpus_.front().emit_backward(step);
    return;
  }
  for (GpuQueue& queue : queues_) queue.add_kernel("dense_top_backward", Stream::kCompute, top);
  sent_.row_gradients += exchange_.send(Message::kRowGradients, Stream::kCompute,
                                        [&](unsigned, unsigned to) { return pooled_bytes(tables_of(to)); });
  for (GpuQueue& queue : queues_) queue.add_kernel("dense_bottom_backward", Stream::kCompute, bottom);
  reduce_dense_gradients();
  for (unsigned gpu = 0; gpu < options_.gpus; ++gpu) {
    exchange_.await(Message::kRowGradients, gpu, Stream::kCompute);
    gpus_[gpu].emit_backward(step);
  }
}

// All-reduce: every GPU sums its part of all GPUs' gradients and sends the sums to all.
void Program::reduce_dense_gradients() {
  sent_.dense_gradients +=
      exchange_.send(Message::kDenseGradients, Stream::kCompute, [&](unsigned, unsigned to) { return dense_part(to); });
  for (unsigned gpu = 0; gpu < options_.gpus; ++gpu) {
    exchange_.await(Message::kDenseGradients, gpu, Stream::kReduce);
    add_sum(gpu, Stream::kReduce, dense_part(gpu));
  }
  sent_.dense_gradients +=
      exchange_.send(Message::kDenseSums, Stream::kReduce, [&](unsigned from, unsigned) { return dense_part(from); });
}

// Adds a kernel that reads `bytes` of every GPU and writes their sum.
void Program::add_sum(unsigned gpu, Stream stream, std::uint64_t bytes) {
  queues_[gpu].add_kernel("sum", stream, costs_.stream_ns((options_.gpus + std::uint64_t{1}) * bytes));
}

std::uint64_t Program::pooled_bytes(std::uint64_t tables) const {
  return workload_.batch * tables * workload_.dimension * kPooledElementBytes;
}

std::uint64_t Program::dense_part(unsigned gpu) const {
  return dense_bytes_ * (gpu + 1) / options_.gpus - dense_bytes_ * gpu / options_.gpus;
}

}  // namespace uvmsim::recommend
