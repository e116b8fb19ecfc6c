// SPDX-License-Identifier: Apache-2.0
// The device memory in which one launch marks, and its transfer to the host. Launches of a context run one after the
// other, so they share a set. The kernels of a graph are announced before any of them runs, so each has its own. Not
// thread-safe: the caller holds its context's lock.
#pragma once

#include <cuda.h>
#include <sanitizer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/access/chunk_table.h"
#include "tracer/access/extract.h"
#include "tracer/access/layout.h"
#include "tracer/access/options.h"
#include "tracer/access/slices.h"

namespace uvmtrace::access {

struct Phase {
  std::uint64_t first_block = 0;
  std::uint64_t block_count = 0;
  std::vector<Run> runs;  // 64 KB pages
};

// The recorded accesses of a launch.
struct LaunchAccesses {
  std::vector<Run> quanta;
  std::vector<Phase> phases;
  std::vector<std::uint64_t> order;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> counts;
  std::uint64_t unknown = 0;
  std::vector<std::uint64_t> unknown_at;
  std::uint64_t heap_low = 0;  // addresses that the kernel's malloc() returned; empty if low >= high
  std::uint64_t heap_high = 0;
};

// The table of chunks on one context's device.
class DeviceTable {
 public:
  explicit DeviceTable(CUcontext context) : context_(context) {}
  // Uploads the entries before the next work of the stream. Returns false if device memory is short; `why` then says
  // so.
  bool upload(const ChunkTable& chunks, Sanitizer_StreamHandle stream, std::string& why);
  void put_into(Marks& marks) const;

 private:
  CUcontext context_;
  void* entries_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t shift_ = 0;
};

// Host memory for the device's copies, shared by a context's sets: each copy is read and processed at once.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(CUcontext context) : context_(context) {}
  // Returns at least this much memory, without its previous content. Returns null if host memory is short; `why` then
  // says so.
  char* reserve(std::uint64_t bytes, std::string& why);

 private:
  CUcontext context_;
  char* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class MarkSet {
 public:
  MarkSet(CUcontext context, const Options& options);
  // The destructor frees nothing: sets live as long as their context.

  // Clears everything and uploads the launch's parameters before the next work of the stream.
  bool begin(const DeviceTable& table, std::uint32_t records, const Slices& slices, Sanitizer_StreamHandle stream,
             std::string& why);
  // Returns the user data of the patches.
  void* device_address() const { return control_; }
  // Reads what was touched since begin(). Before the call the launch must have ended and its stream been synchronised.
  bool collect(const ChunkTable& chunks, Sanitizer_StreamHandle stream, PinnedBuffer& buffer, LaunchAccesses& out,
               std::string& why);
  // Returns the bytes of device memory for this many chunks.
  static std::uint64_t device_bytes(std::uint32_t records, const Options& options);

 private:
  struct Touched {
    std::uint64_t chunk = 0;
    const std::uint64_t* record = nullptr;
  };

  bool reserve(std::uint32_t records, Sanitizer_StreamHandle stream, std::string& why);
  bool clear(Sanitizer_StreamHandle stream, std::string& why);
  bool read_records(const ChunkTable& chunks, const std::uint64_t* dirty, Sanitizer_StreamHandle stream,
                    std::string& why);
  void extract(LaunchAccesses& out) const;
  void extract_phases(LaunchAccesses& out) const;
  std::uint64_t control_bytes() const { return kControlHead + (capacity_ + 63) / 64 * 8; }

  static constexpr std::uint64_t kControlHead = 256;  // Marks, padded

  CUcontext context_;
  Options options_;
  std::uint32_t record_bytes_ = 0;
  std::uint32_t order_offset_ = 0;
  std::uint32_t counts_offset_ = 0;
  Slices slices_{1, 0};

  std::uint32_t capacity_ = 0;  // records
  char* control_ = nullptr;     // Marks, then the dirty bits
  char* records_ = nullptr;
  char* order_log_ = nullptr;
  char* host_ = nullptr;           // while collecting: control, then records at their own offsets
  std::uint32_t clear_first_ = 0;  // records that the last launch left marked
  std::uint32_t clear_end_ = 0;
  std::vector<Touched> touched_;
};

}  // namespace uvmtrace::access
