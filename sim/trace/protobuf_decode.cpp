// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/arena.h>

#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/kernel_codec.h"
#include "sim/trace/limits.h"
#include "sim/trace/list_pool.h"
#include "sim/trace/names.h"
#include "sim/trace/packed.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/reuse.h"
#include "sim/trace/uvmtrace.pb.h"

namespace uvmsim::trace {

namespace {

// Enums have the same numbers here and in the file.
template <class Enum, class ProtoEnum, std::size_t N>
constexpr bool match(Enum last, ProtoEnum last_in_file, int count_in_file, const std::array<std::string_view, N>&) {
  return static_cast<int>(last) == static_cast<int>(last_in_file) && count_in_file == static_cast<int>(N) &&
         static_cast<std::size_t>(last) == N - 1;
}
static_assert(match(ObjectKind::kHost, proto::OBJECT_KIND_HOST, proto::ObjectKind_ARRAYSIZE, kObjectKindNames));
static_assert(match(Distribution::kTiled, proto::DISTRIBUTION_TILED, proto::Distribution_ARRAYSIZE,
                    kDistributionNames));
static_assert(match(Coverage::kTensorMaps, proto::COVERAGE_TENSOR_MAPS, proto::Coverage_ARRAYSIZE, kCoverageNames));
static_assert(match(CopyKind::kDefault, proto::COPY_KIND_DEFAULT, proto::CopyKind_ARRAYSIZE, kCopyKindNames));
static_assert(match(Advice::kUnsetPinned, proto::ADVICE_UNSET_PINNED, proto::Advice_ARRAYSIZE, kAdviceNames));
static_assert(match(SyncKind::kEventSynchronize, proto::SYNC_KIND_EVENT_SYNCHRONIZE, proto::SyncKind_ARRAYSIZE,
                    kSyncKindNames));
static_assert(match(RangeKind::kIterationEnd, proto::RANGE_KIND_ITERATION_END, proto::RangeKind_ARRAYSIZE,
                    kRangeKindNames));
static_assert(static_cast<int>(Distribution::kThreadChunk) == proto::DISTRIBUTION_THREAD_CHUNK);

constexpr std::size_t kArenaBytes = std::size_t{64} << 10;  // a few thousand bytes of messages

// A varint at the front of `bytes`, removed from it; false when it is cut off or longer than 64 bits.
bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return i < 9 || byte <= 1;
    }
  }
  return false;
}

template <class Enum, std::size_t N>
Enum same(int value, std::string_view what, const std::array<std::string_view, N>&) {
  if (value < 0 || static_cast<std::size_t>(value) >= N) {
    throw_input_error("unknown {} number {}; allowed: 0 to {}", what, value, N - 1);
  }
  return static_cast<Enum>(value);
}

std::int64_t time(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(kMaxTimeNs)) {
    throw_input_error("a time of {}; allowed: 0 to 2^61 nanoseconds", value);
  }
  return static_cast<std::int64_t>(value);
}

std::int32_t device(std::int32_t value, std::int32_t min) {
  if (value < min || value > kMaxDevice) throw_input_error("device {}; allowed: {} to {}", value, min, kMaxDevice);
  return value;
}

template <class Numbers>
Dim3 dimensions(const Numbers& numbers) {
  Dim3 out;
  std::uint32_t* const targets[] = {&out.x, &out.y, &out.z};
  if (numbers.size() > 3) throw_input_error("a grid or block of {} dimensions; allowed: at most 3", numbers.size());
  for (int i = 0; i < numbers.size(); ++i) *targets[i] = numbers.Get(i);
  return out;
}

// `message` is the Entry that the generated code could make no record of.
[[noreturn]] void refuse_unknown_record(std::string_view message) {
  constexpr std::uint64_t kNewStringsTag = 1 << 3 | 2;
  std::uint64_t tag = 0, size = 0;
  while (take_varint(message, tag) && tag == kNewStringsTag && take_varint(message, size)) {
    message.remove_prefix(std::min<std::size_t>(size, message.size()));
  }
  if (tag == 0 || tag == kNewStringsTag) throw_input_error("an entry without a record");
  throw_input_error("unknown record type {} (written by a newer version?); known: 2 to 17", tag >> 3);
}

}  // namespace

struct ProtobufDecoder::State {
  std::vector<char> arena_block = std::vector<char>(kArenaBytes);
  google::protobuf::Arena arena{arena_block.data(), arena_block.size()};
  std::vector<std::string> strings{std::string()};  // of the frame; number 0 is the empty one
  std::vector<std::uint64_t> last_touch;            // of each slot
  Kernel spare_kernel;
  std::vector<Phase> phases;  // of the kernel being read
  PhasePool phase_pool;
  std::vector<Extent> extents;  // of the list being read
  ExtentPool extent_pool;
  std::size_t bytes_in_arena = 0;  // of messages, as encoded

  const std::string& string(std::uint32_t number) const {
    if (number >= strings.size()) {
      throw_input_error("string number {} is not defined; the frame has {} so far", number, strings.size() - 1);
    }
    return strings[number];
  }

  void get(const proto::ObjectAlloc& in, ObjectAlloc& object) const {
    object.id = in.id();
    object.kind = same<ObjectKind>(in.kind(), "object kind", kObjectKindNames);
    object.bytes = in.bytes();
    object.va = in.va();
    object.device = device(in.device(), -1);
  }
  void get(const proto::ObjectFree& in, ObjectFree& object) const { object.id = in.id(); }
  void get(const proto::TensorAlloc& in, TensorAlloc& tensor) const {
    tensor.id = in.id();
    tensor.bytes = in.bytes();
    tensor.stream = in.stream();
    tensor.object = in.object();
    tensor.offset = in.offset();
    tensor.name = string(in.name());
  }
  void get(const proto::TensorFree& in, TensorFree& tensor) const { tensor.id = in.id(); }

  void get_touches(const proto::Kernel& in, Kernel& kernel) {
    const int slots = in.touch_slots_size();
    if (slots != 0 && slots != in.touches_size()) {
      throw_input_error("{} touches with {} slots", in.touches_size(), slots);
    }
    if (in.touches_size() != 0 && in.access_objects_size() == 0) throw_input_error("touches without accesses");
    last_touch.assign(kernel.accesses.size(), 0);
    kernel.touches.reserve(static_cast<std::size_t>(in.touches_size()));
    for (int i = 0; i < in.touches_size(); ++i) {
      const std::uint32_t slot = slots == 0 ? 0 : in.touch_slots(i);
      if (slot >= last_touch.size()) {
        throw_input_error("touch {} names slot {}, but the kernel has {} accesses", i, slot, last_touch.size());
      }
      const auto [quantum, mode] = unpack_touch(in.touches(i), last_touch[slot]);
      kernel.touches.push_back({slot, quantum, mode});
    }
  }
  void get(const proto::Kernel& in, Kernel& kernel) {
    kernel.name = string(in.name());
    kernel.stream = in.stream();
    kernel.device = device(in.device(), 0);
    kernel.grid = dimensions(in.grid());
    kernel.block = dimensions(in.block());
    kernel.registers_per_thread = in.registers_per_thread();
    kernel.shared_bytes_per_block = in.shared_bytes_per_block();
    kernel.host_gap_ns = time(in.host_gap_ns());
    kernel.duration_ns = time(in.duration_ns());
    kernel.distribution = same<Distribution>(in.distribution(), "distribution", kDistributionNames);
    kernel.bytes_per_thread_access = in.bytes_per_thread_access();
    kernel.coverage = same<Coverage>(in.coverage(), "coverage", kCoverageNames);
    if (in.access_objects_size() != in.extent_counts_size()) {
      throw_input_error("{} accesses with {} lists of extents", in.access_objects_size(), in.extent_counts_size());
    }
    kernel.accesses.resize(static_cast<std::size_t>(in.access_objects_size()));
    ExtentUnpacker lists(in.extents());
    for (int i = 0; i < in.access_objects_size(); ++i) {
      ObjectAccess& access = kernel.accesses[static_cast<std::size_t>(i)];
      access.object = in.access_objects(i);
      lists.take(in.extent_counts(i), extents);
      access.extents = extent_pool.find(extents);
    }
    lists.finish();
    get_touches(in, kernel);
    get_phases(in, kernel, phases);
    kernel.phases = phase_pool.find(phases);
    kernel.unknown_accesses = in.unknown_accesses();
    get_order(in, kernel);
    get_counts(in, kernel);
  }

  void get(const proto::Memcpy& in, Memcpy& copy) const {
    copy.dst = {in.dst_object(), in.dst_offset()};
    copy.src = {in.src_object(), in.src_offset()};
    copy.bytes = in.bytes();
    copy.kind = same<CopyKind>(in.kind(), "copy kind", kCopyKindNames);
    copy.stream = in.stream();
    copy.blocking = !in.non_blocking();
    copy.host_gap_ns = time(in.host_gap_ns());
  }
  template <class In, class Operation>
  static void get_piece(const In& in, Operation& operation) {
    operation.object = in.object();
    operation.offset = in.offset();
    operation.bytes = in.bytes();
  }
  void get(const proto::Memset& in, Memset& set) const {
    get_piece(in, set);
    set.stream = in.stream();
    set.host_gap_ns = time(in.host_gap_ns());
  }
  void get(const proto::Prefetch& in, Prefetch& prefetch) const {
    get_piece(in, prefetch);
    prefetch.destination = device(in.destination(), -1);
    prefetch.stream = in.stream();
    prefetch.host_gap_ns = time(in.host_gap_ns());
  }
  void get(const proto::Advise& in, Advise& advise) const {
    get_piece(in, advise);
    advise.advice = same<Advice>(in.advice(), "advice", kAdviceNames);
    advise.device = device(in.device(), -1);
  }
  void get(const proto::Discard& in, Discard& discard) const {
    get_piece(in, discard);
    discard.stream = in.stream();
  }
  void get(const proto::Sync& in, Sync& sync) const {
    sync.kind = same<SyncKind>(in.kind(), "sync kind", kSyncKindNames);
    sync.stream = in.stream();
    sync.event = in.event();
    sync.host_gap_ns = time(in.host_gap_ns());
  }
  void get(const proto::HostAccess& in, HostAccess& access) {
    access.object = in.object();
    ExtentUnpacker lists(in.extents());
    lists.take(lists.left(), extents);
    access.extents = extents;
    access.touches.reserve(static_cast<std::size_t>(in.touches_size()));
    std::uint64_t previous = 0;
    for (const std::uint64_t number : in.touches()) access.touches.push_back(unpack_touch(number, previous));
    access.host_gap_ns = time(in.host_gap_ns());
  }
  void get(const proto::Range& in, Range& range) const {
    range.kind = same<RangeKind>(in.kind(), "range kind", kRangeKindNames);
    range.name = string(in.name());
    range.index = in.index();
  }
  void get(const proto::UvmCounter& in, UvmCounter& counter) const {
    counter.kind = string(in.kind());
    counter.object = in.object();
    counter.offset = in.offset();
    counter.value = in.value();
    counter.start_ns = in.start_ns();
    counter.end_ns = in.end_ns();
    counter.flags = in.flags();
  }

  static const std::string& utf8(const std::string& text, std::string_view what) {
    if (!is_utf8(text)) throw_input_error("{} '{}' is not UTF-8", what, printable(text));
    return text;
  }
  static void get_header(const proto::Header& in, Header& header) {
    if (in.magic() != "UVMT") throw_input_error("the header lacks the magic 'UVMT'");
    header.major = in.major();
    header.minor = in.minor();
    header.quantum_bytes = in.quantum_bytes();
    header.tool = utf8(in.tool(), "tool");
    header.gpu = utf8(in.gpu(), "gpu");
    header.driver = utf8(in.driver(), "driver");
    header.program = utf8(in.program(), "program");
    header.provenance = utf8(in.provenance(), "provenance");
    header.attributes.clear();
    for (const proto::Attribute& attribute : in.attributes()) {
      header.attributes.emplace_back(utf8(attribute.key(), "attribute"), utf8(attribute.value(), "attribute"));
    }
  }

  void get_record(const proto::Entry& entry, std::string_view message, Record& record) {
    switch (entry.record_case()) {
      case proto::Entry::kKernel:
        return get(entry.kernel(), reset_to<Kernel>(record, spare_kernel));
      case proto::Entry::kObjectAlloc:
        return get(entry.object_alloc(), reset_to<ObjectAlloc>(record, spare_kernel));
      case proto::Entry::kObjectFree:
        return get(entry.object_free(), reset_to<ObjectFree>(record, spare_kernel));
      case proto::Entry::kTensorAlloc:
        return get(entry.tensor_alloc(), reset_to<TensorAlloc>(record, spare_kernel));
      case proto::Entry::kTensorFree:
        return get(entry.tensor_free(), reset_to<TensorFree>(record, spare_kernel));
      case proto::Entry::kMemoryCopy:
        return get(entry.memory_copy(), reset_to<Memcpy>(record, spare_kernel));
      case proto::Entry::kMemorySet:
        return get(entry.memory_set(), reset_to<Memset>(record, spare_kernel));
      case proto::Entry::kPrefetch:
        return get(entry.prefetch(), reset_to<Prefetch>(record, spare_kernel));
      case proto::Entry::kAdvise:
        return get(entry.advise(), reset_to<Advise>(record, spare_kernel));
      case proto::Entry::kDiscard:
        return get(entry.discard(), reset_to<Discard>(record, spare_kernel));
      case proto::Entry::kSync:
        return get(entry.sync(), reset_to<Sync>(record, spare_kernel));
      case proto::Entry::kHostAccess:
        return get(entry.host_access(), reset_to<HostAccess>(record, spare_kernel));
      case proto::Entry::kRange:
        return get(entry.range(), reset_to<Range>(record, spare_kernel));
      case proto::Entry::kUvmCounter:
        return get(entry.uvm_counter(), reset_to<UvmCounter>(record, spare_kernel));
      case proto::Entry::kHeader:
      case proto::Entry::kEnd:
      case proto::Entry::RECORD_NOT_SET:
        break;
    }
    refuse_unknown_record(message);
  }
};

ProtobufDecoder::ProtobufDecoder() : state_(std::make_unique<State>()) {}
ProtobufDecoder::~ProtobufDecoder() = default;
ProtobufDecoder::ProtobufDecoder(ProtobufDecoder&&) noexcept = default;

void ProtobufDecoder::start_frame() { state_->strings.resize(1); }

EntryKind ProtobufDecoder::take(std::string_view& frame, Record& record, Header& header, std::uint64_t& records) {
  std::uint64_t size = 0;
  if (!take_varint(frame, size) || size > frame.size()) throw_input_error("a message is longer than its frame");
  if (size > kMaxRecordBytes) throw_input_error("a message of {} bytes; allowed: at most {}", size, kMaxRecordBytes);
  if (state_->bytes_in_arena > kArenaBytes / 16) {
    state_->arena.Reset();
    state_->bytes_in_arena = 0;
  }
  state_->bytes_in_arena += size + 64;
  auto& entry = *google::protobuf::Arena::CreateMessage<proto::Entry>(&state_->arena);
  if (!entry.ParseFromArray(frame.data(), static_cast<int>(size))) {
    throw_input_error("a message that is no trace entry");
  }
  const std::string_view message = frame.substr(0, size);
  frame.remove_prefix(size);
  for (std::string& text : *entry.mutable_new_strings()) {
    if (text.empty() || state_->strings.size() > kMaxFrameStrings) {
      throw_input_error("string {} of the frame is empty or one too many; allowed: {}", state_->strings.size(),
                        kMaxFrameStrings);
    }
    State::utf8(text, "name");
    state_->strings.push_back(std::move(text));
  }
  switch (entry.record_case()) {
    case proto::Entry::kHeader:
      State::get_header(entry.header(), header);
      return EntryKind::kHeader;
    case proto::Entry::kEnd:
      records = entry.end().records();
      return EntryKind::kEnd;
    default:
      state_->get_record(entry, message, record);
      return EntryKind::kRecord;
  }
}

bool starts_protobuf_trace(std::string_view content) {
  std::uint64_t size = 0;
  if (!take_varint(content, size) || content.empty() || content[0] != 0x12) {  // Entry.header
    return false;
  }
  content.remove_prefix(1);
  return take_varint(content, size) && content.starts_with(std::string_view("\x0a\x04UVMT"));  // Header.magic
}

}  // namespace uvmsim::trace
