// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/exchange.h"

#include "sim/common/error.h"
#include "sim/link/topology.h"

namespace uvmsim::recommend {

using trace::SyncKind;

void check_joined(const config::SystemConfig& system, unsigned gpus) {
  if (gpus > system.gpus.size()) {
    throw_input_error("{} GPUs; allowed: 1 to {}, as many as {} has", gpus, system.gpus.size(), system.name);
  }
  const link::Topology topology(system);
  for (unsigned from = 0; from < gpus; ++from) {
    for (unsigned to = 0; to < gpus; ++to) {
      if (from == to || topology.peer(from, to) != nullptr) continue;
      throw_input_error(
          "{} GPUs: no link joins GPUs {} and {} of {}; allowed: fewer GPUs, or a system that joins each two", gpus,
          from, to, system.name);
    }
  }
}

std::uint32_t Exchange::stream_of(unsigned from, unsigned to) const {
  return (gpus() * static_cast<std::uint32_t>(Stream::kCount)) + from * gpus() + to;
}

std::uint64_t Exchange::event_of(Message message, unsigned from, unsigned to) const {
  const std::uint64_t first = std::uint64_t{gpus()} * static_cast<std::uint64_t>(Event::kCount) + 1;
  return first + (std::uint64_t{static_cast<std::uint8_t>(message)} * gpus() + from) * gpus() + to;
}

// GPUs send in rounds, as in NCCL: in round t a GPU sends to the GPU whose number is t higher, so that no two messages
// meet at a port.
std::uint64_t Exchange::send(Message message, Stream stream, const Bytes& bytes) {
  for (unsigned gpu = 0; gpu < gpus(); ++gpu) {
    queues_[gpu].add_sync(SyncKind::kEventRecord, stream, event_of(message, gpu, gpu));
  }
  std::uint64_t sum = 0;
  for (unsigned turn = 1; turn < gpus(); ++turn) {
    for (unsigned from = 0; from < gpus(); ++from) sum += send(message, from, (from + turn) % gpus(), bytes);
  }
  return sum;
}

std::uint64_t Exchange::send(Message message, unsigned from, unsigned to, const Bytes& bytes) {
  const std::uint32_t link = stream_of(from, to);
  records_.push_back(trace::Sync{SyncKind::kEventWait, link, event_of(message, from, from), 0});
  trace::Memcpy copy;
  copy.dst = {queues_[to].number(Object::kMessages), 0};
  copy.src = {queues_[from].number(Object::kMessages), 0};
  copy.bytes = bytes(from, to);
  copy.kind = trace::CopyKind::kDeviceToDevice;
  copy.stream = link;
  copy.blocking = false;
  records_.push_back(copy);
  records_.push_back(trace::Sync{SyncKind::kEventRecord, link, event_of(message, from, to), 0});
  return copy.bytes;
}

void Exchange::await(Message message, unsigned gpu, Stream stream) {
  for (unsigned from = 0; from < gpus(); ++from) {
    queues_[gpu].add_sync(SyncKind::kEventWait, stream, event_of(message, from, gpu));
  }
}

}  // namespace uvmsim::recommend
