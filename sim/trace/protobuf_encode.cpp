// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/arena.h>

#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/kernel_codec.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/packed.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/uvmtrace.pb.h"

namespace uvmsim::trace {

namespace {

// Times are never negative in a record (shape.h).
std::uint64_t time(std::int64_t value) { return static_cast<std::uint64_t>(value); }

template <class ProtoEnum, class Enum>
ProtoEnum same(Enum value) {
  return static_cast<ProtoEnum>(value);
}

template <class Numbers>
void put_dimensions(const Dim3& dimensions, Numbers& out) {
  const std::uint32_t values[] = {dimensions.x, dimensions.y, dimensions.z};
  int used = 3;
  while (used > 0 && values[used - 1] == 1) --used;
  out.Add(values, values + used);
}

void check_utf8(std::string_view text) {
  if (!is_utf8(text)) throw_input_error("'{}' is not UTF-8", printable(text));
}

}  // namespace

struct ProtobufEncoder::State {
  google::protobuf::Arena arena;
  std::unordered_map<std::string, std::uint32_t> strings;  // only looked up, never walked
  std::vector<std::uint64_t> last_touch;                   // of each slot
  proto::Entry* entry = nullptr;

  std::uint32_t string_number(const std::string& text) {
    if (text.empty()) return 0;
    const auto [found, is_new] = strings.try_emplace(text, static_cast<std::uint32_t>(strings.size() + 1));
    if (is_new) {
      check_utf8(text);
      entry->add_new_strings(text);
    }
    return found->second;
  }

  void put(const ObjectAlloc& object) {
    auto& out = *entry->mutable_object_alloc();
    out.set_id(object.id);
    out.set_kind(same<proto::ObjectKind>(object.kind));
    out.set_bytes(object.bytes);
    out.set_va(object.va);
    out.set_device(object.device);
  }
  void put(const ObjectFree& object) { entry->mutable_object_free()->set_id(object.id); }
  void put(const TensorAlloc& tensor) {
    auto& out = *entry->mutable_tensor_alloc();
    out.set_id(tensor.id);
    out.set_bytes(tensor.bytes);
    out.set_stream(tensor.stream);
    out.set_object(tensor.object);
    out.set_offset(tensor.offset);
    out.set_name(string_number(tensor.name));
  }
  void put(const TensorFree& tensor) { entry->mutable_tensor_free()->set_id(tensor.id); }

  void put_touches(const Kernel& kernel, proto::Kernel& out) {
    last_touch.assign(kernel.accesses.size(), 0);
    out.mutable_touches()->Reserve(static_cast<int>(kernel.touches.size()));
    bool one_slot = true;
    for (const Touch& touch : kernel.touches) {
      out.add_touches(pack_touch(touch.quantum, touch.mode, last_touch[touch.slot]));
      one_slot = one_slot && touch.slot == 0;
    }
    if (!one_slot) {
      for (const Touch& touch : kernel.touches) out.add_touch_slots(touch.slot);
    }
  }
  void put(const Kernel& kernel) {
    auto& out = *entry->mutable_kernel();
    out.set_name(string_number(kernel.name));
    out.set_stream(kernel.stream);
    out.set_device(kernel.device);
    put_dimensions(kernel.grid, *out.mutable_grid());
    put_dimensions(kernel.block, *out.mutable_block());
    out.set_registers_per_thread(kernel.registers_per_thread);
    out.set_shared_bytes_per_block(kernel.shared_bytes_per_block);
    out.set_host_gap_ns(time(kernel.host_gap_ns));
    out.set_duration_ns(time(kernel.duration_ns));
    out.set_distribution(same<proto::Distribution>(kernel.distribution));
    out.set_bytes_per_thread_access(kernel.bytes_per_thread_access);
    out.set_coverage(same<proto::Coverage>(kernel.coverage));
    for (const ObjectAccess& access : kernel.accesses) {
      out.add_access_objects(access.object);
      out.add_extent_counts(static_cast<std::uint32_t>(access.extents.size()));
      pack_extents(access.extents, *out.mutable_extents());
    }
    put_touches(kernel, out);
    put_phases(kernel, out);
    out.set_unknown_accesses(kernel.unknown_accesses);
    put_order(kernel, out);
    put_counts(kernel, out);
  }

  void put(const Memcpy& copy) {
    auto& out = *entry->mutable_memory_copy();
    out.set_dst_object(copy.dst.object);
    out.set_dst_offset(copy.dst.offset);
    out.set_src_object(copy.src.object);
    out.set_src_offset(copy.src.offset);
    out.set_bytes(copy.bytes);
    out.set_kind(same<proto::CopyKind>(copy.kind));
    out.set_stream(copy.stream);
    out.set_non_blocking(!copy.blocking);
    out.set_host_gap_ns(time(copy.host_gap_ns));
  }
  template <class Operation, class Out>
  static void put_piece(const Operation& operation, Out& out) {
    out.set_object(operation.object);
    out.set_offset(operation.offset);
    out.set_bytes(operation.bytes);
  }
  void put(const Memset& set) {
    auto& out = *entry->mutable_memory_set();
    put_piece(set, out);
    out.set_stream(set.stream);
    out.set_host_gap_ns(time(set.host_gap_ns));
  }
  void put(const Prefetch& prefetch) {
    auto& out = *entry->mutable_prefetch();
    put_piece(prefetch, out);
    out.set_destination(prefetch.destination);
    out.set_stream(prefetch.stream);
    out.set_host_gap_ns(time(prefetch.host_gap_ns));
  }
  void put(const Advise& advise) {
    auto& out = *entry->mutable_advise();
    put_piece(advise, out);
    out.set_advice(same<proto::Advice>(advise.advice));
    out.set_device(advise.device);
  }
  void put(const Discard& discard) {
    auto& out = *entry->mutable_discard();
    put_piece(discard, out);
    out.set_stream(discard.stream);
  }
  void put(const Sync& sync) {
    auto& out = *entry->mutable_sync();
    out.set_kind(same<proto::SyncKind>(sync.kind));
    out.set_stream(sync.stream);
    out.set_event(sync.event);
    out.set_host_gap_ns(time(sync.host_gap_ns));
  }
  void put(const HostAccess& access) {
    auto& out = *entry->mutable_host_access();
    out.set_object(access.object);
    pack_extents(access.extents, *out.mutable_extents());
    std::uint64_t previous = 0;
    for (const auto& [quantum, mode] : access.touches) out.add_touches(pack_touch(quantum, mode, previous));
    out.set_host_gap_ns(time(access.host_gap_ns));
  }
  void put(const Range& range) {
    auto& out = *entry->mutable_range();
    out.set_kind(same<proto::RangeKind>(range.kind));
    out.set_name(string_number(range.name));
    out.set_index(range.index);
  }
  void put(const UvmCounter& counter) {
    auto& out = *entry->mutable_uvm_counter();
    out.set_kind(string_number(counter.kind));
    out.set_object(counter.object);
    out.set_offset(counter.offset);
    out.set_value(counter.value);
    out.set_start_ns(counter.start_ns);
    out.set_end_ns(counter.end_ns);
    out.set_flags(counter.flags);
  }

  void put(const Header& header) {
    for (const std::string* text : {&header.tool, &header.gpu, &header.driver, &header.program, &header.provenance}) {
      check_utf8(*text);
    }
    auto& out = *entry->mutable_header();
    out.set_magic("UVMT");
    out.set_major(header.major);
    out.set_minor(header.minor);
    out.set_quantum_bytes(header.quantum_bytes);
    out.set_tool(header.tool);
    out.set_gpu(header.gpu);
    out.set_driver(header.driver);
    out.set_program(header.program);
    out.set_provenance(header.provenance);
    for (const auto& [key, value] : header.attributes) {
      check_utf8(key);
      check_utf8(value);
      auto& attribute = *out.add_attributes();
      attribute.set_key(key);
      attribute.set_value(value);
    }
  }

  void start() { entry = google::protobuf::Arena::CreateMessage<proto::Entry>(&arena); }
  void finish(std::string& frame) {
    const std::size_t size = entry->ByteSizeLong();
    if (size > kMaxRecordBytes) {
      throw_input_error("takes {} bytes in a trace; allowed: at most {}", size, kMaxRecordBytes);
    }
    for (std::size_t rest = size;; rest >>= 7) {
      const bool last = rest < 0x80;
      frame += static_cast<char>(last ? rest : (rest & 0x7f) | 0x80);
      if (last) break;
    }
    const std::size_t start = frame.size();
    frame.resize(start + size);
    entry->SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(frame.data() + start));
    arena.Reset();
  }
};

ProtobufEncoder::ProtobufEncoder() : state_(std::make_unique<State>()) {}
ProtobufEncoder::~ProtobufEncoder() = default;

void ProtobufEncoder::start_frame() { state_->strings.clear(); }

void ProtobufEncoder::append(const Header& header, std::string& frame) {
  state_->start();
  state_->put(header);
  state_->finish(frame);
}

void ProtobufEncoder::append(const Record& record, std::string& frame) {
  state_->start();
  std::visit([this](const auto& alternative) { state_->put(alternative); }, record);
  state_->finish(frame);
}

void ProtobufEncoder::append_end(std::uint64_t records, std::string& frame) {
  state_->start();
  state_->entry->mutable_end()->set_records(records);
  state_->finish(frame);
}

}  // namespace uvmsim::trace
