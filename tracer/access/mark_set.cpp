// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/mark_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "tracer/access/sanitizer_api.h"

namespace uvmtrace::access {

namespace {

constexpr std::uint32_t kLeastRecords = 2048;  // 4 GB of addresses, 2.3 MB
// Reading this many untouched records in between takes less time than another copy.
constexpr std::uint32_t kReadGap = 128;

bool allocate(CUcontext context, std::uint64_t bytes, char*& out, std::string& why) {
  void* address = nullptr;
  if (!succeeded(sanitizer().sanitizerAlloc(context, &address, bytes), "device memory for the marks", why)) {
    return false;
  }
  out = static_cast<char*>(address);
  return true;
}

void release(CUcontext context, char*& address) {
  if (address != nullptr) (void)sanitizer().sanitizerFree(context, address);
  address = nullptr;
}

std::uint32_t bytes_of_record(const Options& options) {
  return kPhaseOffset + options.phases * 8 + (options.order ? 8 : 0) + (options.counts ? kPagesPerChunk * 4 : 0);
}

}  // namespace

bool DeviceTable::upload(const ChunkTable& chunks, Sanitizer_StreamHandle stream, std::string& why) {
  const std::uint64_t bytes = chunks.entries().size() * sizeof(std::uint64_t);
  if (bytes > capacity_) {
    if (entries_ != nullptr) (void)sanitizer().sanitizerFree(context_, entries_);
    entries_ = nullptr;
    capacity_ = 0;
    if (!succeeded(sanitizer().sanitizerAlloc(context_, &entries_, bytes), "device memory for the table", why)) {
      return false;
    }
    capacity_ = bytes;
  }
  size_ = chunks.entries().size();
  shift_ = chunks.shift();
  // The API takes a pointer to non-const but only reads.
  auto* const source = const_cast<std::uint64_t*>(chunks.entries().data());
  return succeeded(sanitizer().sanitizerMemcpyHostToDeviceAsync(entries_, source, bytes, stream), "copy of the table",
                   why);
}

void DeviceTable::put_into(Marks& marks) const {
  marks.table = reinterpret_cast<std::uint64_t>(entries_);
  marks.table_mask = static_cast<std::uint32_t>(size_ - 1);
  marks.table_shift = shift_;
}

char* PinnedBuffer::reserve(std::uint64_t bytes, std::string& why) {
  if (bytes <= bytes_) return memory_;
  if (memory_ != nullptr) (void)sanitizer().sanitizerFreeHost(context_, memory_);
  memory_ = nullptr;
  bytes_ = 0;
  void* memory = nullptr;
  if (!succeeded(sanitizer().sanitizerAllocHost(context_, &memory, bytes), "pinned memory", why)) return nullptr;
  memory_ = static_cast<char*>(memory);
  bytes_ = bytes;
  return memory_;
}

MarkSet::MarkSet(CUcontext context, const Options& options)
    : context_(context), options_(options), record_bytes_(bytes_of_record(options)) {
  std::uint32_t at = kPhaseOffset + options.phases * 8;
  if (options.order) {
    order_offset_ = at;
    at += 8;
  }
  if (options.counts) counts_offset_ = at;
}

std::uint64_t MarkSet::device_bytes(std::uint32_t records, const Options& options) {
  return std::uint64_t{records} * (bytes_of_record(options) + (options.order ? kPagesPerChunk * 8 : 0));
}

bool MarkSet::reserve(std::uint32_t records, Sanitizer_StreamHandle stream, std::string& why) {
  if (records <= capacity_) return true;
  const std::uint32_t wanted = std::max(kLeastRecords, records + records / 2);
  release(context_, control_);
  release(context_, records_);
  release(context_, order_log_);
  capacity_ = 0;
  clear_first_ = clear_end_ = 0;

  const std::uint64_t record_total = std::uint64_t{wanted} * record_bytes_;
  const std::uint64_t control_total = kControlHead + (std::uint64_t{wanted} + 63) / 64 * 8;
  if (!allocate(context_, control_total, control_, why) || !allocate(context_, record_total, records_, why)) {
    return false;
  }
  if (options_.order && !allocate(context_, std::uint64_t{wanted} * kPagesPerChunk * 8, order_log_, why)) return false;
  capacity_ = wanted;
  return succeeded(sanitizer().sanitizerMemset(records_, 0, record_total, stream), "clearing the marks", why) &&
         succeeded(sanitizer().sanitizerMemset(control_, 0, control_total, stream), "clearing the marks", why);
}

bool MarkSet::clear(Sanitizer_StreamHandle stream, std::string& why) {
  if (clear_first_ >= clear_end_) return true;
  const std::uint64_t first = clear_first_;
  const std::uint64_t bytes = std::uint64_t{clear_end_ - clear_first_} * record_bytes_;
  clear_first_ = clear_end_ = 0;
  return succeeded(sanitizer().sanitizerMemset(records_ + first * record_bytes_, 0, bytes, stream),
                   "clearing the marks", why) &&
         succeeded(sanitizer().sanitizerMemset(control_ + kControlHead, 0, control_bytes() - kControlHead, stream),
                   "clearing the marks", why);
}

bool MarkSet::begin(const DeviceTable& table, std::uint32_t records, const Slices& slices,
                    Sanitizer_StreamHandle stream, std::string& why) {
  if (!clear(stream, why) || !reserve(records, stream, why)) return false;
  slices_ = slices;
  Marks marks{};
  table.put_into(marks);
  marks.records = reinterpret_cast<std::uint64_t>(records_);
  marks.dirty = reinterpret_cast<std::uint64_t>(control_) + kControlHead;
  marks.order_log = reinterpret_cast<std::uint64_t>(order_log_);
  marks.slice_factor = slices.factor();
  marks.heap_low = UINT64_MAX;
  marks.record_bytes = record_bytes_;
  marks.phases = options_.phases;
  marks.order_offset = order_offset_;
  marks.counts_offset = counts_offset_;
  marks.order_capacity = options_.order ? capacity_ * kPagesPerChunk : 0;
  return succeeded(sanitizer().sanitizerMemcpyHostToDeviceAsync(control_, &marks, sizeof marks, stream),
                   "copy of a launch's parameters", why);
}

bool MarkSet::collect(const ChunkTable& chunks, Sanitizer_StreamHandle stream, PinnedBuffer& buffer,
                      LaunchAccesses& out, std::string& why) {
  host_ = buffer.reserve(control_bytes() + std::uint64_t{capacity_} * record_bytes_, why);
  if (host_ == nullptr) return false;
  // There are as many dirty bits as chunks, rounded up to whole words.
  const std::uint64_t bytes = kControlHead + (std::uint64_t{chunks.size()} + 63) / 64 * 8;
  if (!succeeded(sanitizer().sanitizerMemcpyDeviceToHost(host_, control_, bytes, stream), "reading the marks", why)) {
    return false;
  }
  Marks marks{};
  std::memcpy(&marks, host_, sizeof marks);
  out.unknown = marks.unknown;
  for (const std::uint64_t address : marks.unknown_at) {
    if (address != 0) out.unknown_at.push_back(address);
  }
  out.heap_low = marks.heap_low;
  out.heap_high = marks.heap_high;
  if (!read_records(chunks, reinterpret_cast<const std::uint64_t*>(host_ + kControlHead), stream, why)) return false;
  extract(out);
  if (options_.order) {
    const std::uint64_t size = std::min(marks.order_size, marks.order_capacity);
    out.order.resize(size);
    // The previous records have been extracted, so their part of the pinned memory is free again.
    char* const place = host_ + control_bytes();
    if (size * 8 <= std::uint64_t{capacity_} * record_bytes_ && size != 0) {
      if (!succeeded(sanitizer().sanitizerMemcpyDeviceToHost(place, order_log_, size * 8, stream), "reading the order",
                     why)) {
        return false;
      }
      std::memcpy(out.order.data(), place, size * 8);
    }
  }
  return true;
}

bool MarkSet::read_records(const ChunkTable& chunks, const std::uint64_t* dirty, Sanitizer_StreamHandle stream,
                           std::string& why) {
  touched_.clear();
  const std::uint32_t words = (chunks.size() + 63) / 64;
  const std::uint64_t base = control_bytes();
  std::uint32_t first = 0;  // of the span in progress
  std::uint32_t end = 0;
  const auto read_span = [&] {
    if (first == end) return true;
    const std::uint64_t offset = std::uint64_t{first} * record_bytes_;
    return succeeded(sanitizer().sanitizerMemcpyDeviceToHost(host_ + base + offset, records_ + offset,
                                                             std::uint64_t{end - first} * record_bytes_, stream),
                     "reading the marks", why);
  };
  for (std::uint32_t word = 0; word < words; ++word) {
    for (std::uint64_t bits = dirty[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t index = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (index >= chunks.size()) break;
      if (touched_.empty()) clear_first_ = index;
      clear_end_ = index + 1;
      if (first == end || index > end + kReadGap) {
        if (!read_span()) return false;
        first = index;
      }
      end = index + 1;
      const char* const record = host_ + base + std::uint64_t{index} * record_bytes_;
      touched_.push_back({chunks.chunks()[index], reinterpret_cast<const std::uint64_t*>(record)});
    }
  }
  if (!read_span()) return false;
  std::sort(touched_.begin(), touched_.end(), [](const Touched& a, const Touched& b) { return a.chunk < b.chunk; });
  return true;
}

void MarkSet::extract(LaunchAccesses& out) const {
  constexpr std::size_t kWords = kReadBytes / 8;
  for (const Touched& chunk : touched_) {
    append_runs(std::span(chunk.record, kWords), std::span(chunk.record + kWords, kWords),
                chunk.chunk << (kChunkShift - kQuantumShift), out.quanta);
  }
  if (options_.counts) {
    for (const Touched& chunk : touched_) {
      const auto* const counts = reinterpret_cast<const char*>(chunk.record) + counts_offset_;
      for (std::uint32_t page = 0; page < kPagesPerChunk; ++page) {
        std::uint32_t count = 0;
        std::memcpy(&count, counts + page * 4, sizeof count);
        if (count != 0) out.counts.emplace_back(chunk.chunk * kPagesPerChunk + page, std::min(count, kCountLimit));
      }
    }
  }
  std::uint64_t quanta = 0;
  for (const Run& run : out.quanta) quanta += run.count;
  if (options_.phases != 0 && quanta << kQuantumShift > options_.phase_bytes) extract_phases(out);
}

void MarkSet::extract_phases(LaunchAccesses& out) const {
  for (std::uint32_t slice = 0; slice < slices_.count; ++slice) {
    Phase phase{slices_.first_block(slice), slices_.first_block(slice + 1) - slices_.first_block(slice), {}};
    for (const Touched& chunk : touched_) {
      const char* const words = reinterpret_cast<const char*>(chunk.record) + kPhaseOffset;
      std::uint32_t read = 0;
      std::uint32_t write = 0;
      std::memcpy(&read, words + slice * 4, sizeof read);
      std::memcpy(&write, words + (options_.phases + slice) * 4, sizeof write);
      if ((read | write) != 0) append_runs(read, write, chunk.chunk * kPagesPerChunk, phase.runs);
    }
    out.phases.push_back(std::move(phase));
  }
}

}  // namespace uvmtrace::access
