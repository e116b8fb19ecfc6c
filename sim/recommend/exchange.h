// SPDX-License-Identifier: Apache-2.0
// Messages between the GPUs of a program: every GPU sends one to every other over the link between them, all at the
// same time. All-to-all, reduce-scatter and all-gather are such exchanges; NCCL's rings move the same bytes.
#pragma once

#include <deque>
#include <functional>

#include "sim/config/system.h"
#include "sim/recommend/gpu_queue.h"

namespace uvmsim::recommend {

// The kinds of messages; each has events of its own.
enum class Message : std::uint8_t { kPooledRows, kRowGradients, kDenseGradients, kDenseSums, kCount };

// Throws InputError where the system has fewer GPUs, or no link between two of them.
void check_joined(const config::SystemConfig& system, unsigned gpus);

class Exchange {
 public:
  using Bytes = std::function<std::uint64_t(unsigned from, unsigned to)>;

  // `records` and `queues`, one per GPU, must outlive the object.
  Exchange(std::deque<trace::Record>& records, std::vector<GpuQueue>& queues) : records_(records), queues_(queues) {}

  // Sends every GPU's messages when its `stream` has reached this point. Returns the bytes of all messages; each must
  // have more than 0.
  std::uint64_t send(Message message, Stream stream, const Bytes& bytes);
  // Makes the GPU's stream wait from now on for the messages of all GPUs, including its own part.
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
