// SPDX-License-Identifier: Apache-2.0
// Messages between the GPUs of a program: every GPU sends one to every other, over the links that join each two, all at
// the same time. All-to-all, reduce-scatter and all-gather are such exchanges; NCCL's rings move the same bytes.
#pragma once

#include <deque>
#include <functional>

#include "sim/config/system.h"
#include "sim/recommend/gpu_queue.h"

namespace uvmsim::recommend {

// What is sent; each has events of its own.
enum class Message : std::uint8_t { kPooledRows, kRowGradients, kDenseGradients, kDenseSums, kCount };

// Throws InputError where the system has fewer GPUs, or no link between two of them.
void check_joined(const config::SystemConfig& system, unsigned gpus);

class Exchange {
 public:
  using Bytes = std::function<std::uint64_t(unsigned from, unsigned to)>;

  // `records` and `queues`, one per GPU, must outlive it.
  Exchange(std::deque<trace::Record>& records, std::vector<GpuQueue>& queues) : records_(records), queues_(queues) {}

  // A GPU's messages leave when its `stream` has come here. Returns the bytes of all of them, each more than 0.
  std::uint64_t send(Message message, Stream stream, const Bytes& bytes);
  // What is added to the GPU's stream from now on has the messages of all, its own part too.
  void await(Message message, unsigned gpu, Stream stream);

 private:
  std::uint64_t send(Message message, unsigned from, unsigned to, const Bytes& bytes);
  unsigned gpus() const { return static_cast<unsigned>(queues_.size()); }
  std::uint32_t stream_of(unsigned from, unsigned to) const;
  std::uint64_t event_of(Message message, unsigned from, unsigned to) const;  // from == to: ready to send

  std::deque<trace::Record>& records_;
  std::vector<GpuQueue>& queues_;
};

}  // namespace uvmsim::recommend
