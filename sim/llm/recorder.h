// SPDX-License-Identifier: Apache-2.0
// Records the actions of a framework: tensors that live as long as they are referenced, and kernels that touch them.
// The model of PyTorch's caching allocator places the tensors; the host takes time between launches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/layout/caching_allocator.h"
#include "sim/llm/model.h"
#include "sim/llm/roofline.h"
#include "sim/trace/record.h"

namespace uvmsim::llm {

class Recorder;

// Memory of a tensor; freed with the last reference to it.
class Storage {
 public:
  Storage(Recorder& recorder, trace::ObjectId id, std::uint64_t bytes, std::uint64_t place)
      : recorder_(recorder), id_(id), bytes_(bytes), place_(place) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  trace::ObjectId id() const { return id_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Recorder& recorder_;
  trace::ObjectId id_;
  std::uint64_t bytes_, place_;
};
using Tensor = std::shared_ptr<const Storage>;

// A kernel's accesses to a tensor: all of it, or the given stretches (ascending, in bytes).
struct Use {
  struct Stretch {
    std::uint64_t first = 0, bytes = 0;
  };
  const Storage* storage = nullptr;
  trace::AccessMode mode = trace::AccessMode::kRead;
  std::vector<Stretch> stretches;
};
Use reads(const Tensor& tensor);
Use reads(const Tensor& tensor, std::uint64_t first, std::uint64_t bytes);
Use writes(const Tensor& tensor);
Use updates(const Tensor& tensor);  // reads and writes

struct Launch {
  std::string_view name;
  Work work;
  std::vector<Use> uses;
  trace::Dim3 grid;
};

class Recorder {
 public:
  using Sink = std::function<void(trace::Record)>;

  Recorder(const Roofline& roofline, Number number, Sink sink)
      : roofline_(roofline), number_(number), sink_(std::move(sink)) {}

  Tensor tensor(std::uint64_t bytes, std::string name = {});
  // Allocates memory that a library keeps for itself.
  void library_memory(std::uint64_t bytes);

  void launch(const Launch& launch);
  void copy_to_gpu(const Tensor& tensor);
  void copy_to_host(const Tensor& tensor);  // waits for the copy
  void synchronize();

  void begin_module(const std::string& name);
  void end_module();
  void begin_iteration(std::uint64_t index);
  void end_iteration(std::uint64_t index);

  // Set the host's time before the next launch: for an operator of the framework, and for any other operation.
  void begin_operator();
  void spend_on_host(std::int64_t ns) { host_ns_ += ns; }

  // Ends the recording. Tensors that are still referenced are freed without a record.
  void finish();

 private:
  friend class Storage;
  void release(trace::ObjectId id, std::uint64_t place);
  std::int64_t take_host_ns();

  const Roofline& roofline_;
  Number number_;
  Sink sink_;
  layout::CachingAllocator allocator_;
  std::vector<trace::ObjectId> segments_;  // by number
  trace::ObjectId next_id_ = 1;
  std::int64_t host_ns_ = 0;
  bool finished_ = false;
};

// A part of the model, as profiles show it.
class Module {
 public:
  Module(Recorder& recorder, const std::string& name) : recorder_(recorder) { recorder_.begin_module(name); }
  ~Module() { recorder_.end_module(); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

 private:
  Recorder& recorder_;
};

}  // namespace uvmsim::llm
