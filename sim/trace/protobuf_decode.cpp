// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/arena.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/list_pool.h"
#include "sim/trace/names.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/protobuf_numbers.h"
#include "sim/trace/record.h"
#include "sim/trace/uvmtrace.pb.h"
#include "sim/trace/varint.h"

namespace uvmsim::trace {

namespace {

// Enums have the same numbers here and in the file.
template <class Enum, class ProtoEnum, std::size_t N>
constexpr bool match(Enum last, ProtoEnum last_in_file, int count_in_file, const std::array<std::string_view, N>&) {
  return static_cast<int>(last) == static_cast<int>(last_in_file) && count_in_file == static_cast<int>(N) &&
         static_cast<std::size_t>(last) == N - 1;
}
static_assert(match(ObjectKind::kSystem, proto::OBJECT_KIND_SYSTEM, proto::ObjectKind_ARRAYSIZE, kObjectKindNames));
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

using Numbers64 = google::protobuf::RepeatedField<std::uint64_t>;

constexpr std::size_t kArenaBytes = std::size_t{64} << 10;  // a few thousand bytes of messages

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Takes lists from a field that holds one or several.
class ExtentUnpacker {
 public:
  explicit ExtentUnpacker(const Numbers64& numbers)
      : next_(numbers.data()), left_(static_cast<std::size_t>(numbers.size()) / 2) {
    if (numbers.size() % 2 != 0) throw_input_error("a list of extents has an odd count of numbers");
  }

  std::size_t left() const { return left_; }

  // Takes the next `count` extents as one list. Throws InputError when there are fewer or when one ends beyond
  // kMaxQuantum. check_shape() checks modes and empty extents.
  void take(std::size_t count, std::vector<Extent>& out) {
    if (count > left_) throw_input_error("{} extents where {} are left", count, left_);
    left_ -= count;
    out.resize(count);
    std::uint64_t end = 0;
    for (Extent& extent : out) {
      const std::uint64_t gap = next_[0] >> 2, length = next_[1];
      if (gap > kMaxQuantum - end || length > kMaxQuantum - end - gap) {
        throw_input_error("an extent ends beyond quantum 2^60");
      }
      extent = {end + gap, length, static_cast<AccessMode>(next_[0] & 3)};
      end += gap + length;
      next_ += 2;
    }
  }

  // Throws InputError when extents are left that belong to no list.
  void finish() const {
    if (left_ != 0) throw_input_error("{} extents more than their counts say", left_);
  }

 private:
  const std::uint64_t* next_;
  std::size_t left_;
};

// Throws InputError for a negative quantum and for kMaxQuantum or more.
std::pair<std::uint64_t, AccessMode> unpack_touch(std::uint64_t number, std::uint64_t& previous) {
  const std::int64_t quantum = static_cast<std::int64_t>(previous) + unzigzag(number >> 2);
  if (quantum < 0 || static_cast<std::uint64_t>(quantum) >= kMaxQuantum) {
    throw_input_error("a touch lies at quantum {}; allowed: 0 to 2^60 - 1", quantum);
  }
  previous = static_cast<std::uint64_t>(quantum);
  return {previous, static_cast<AccessMode>(number & 3)};
}

class PhaseReader {
 public:
  explicit PhaseReader(const std::vector<ObjectAccess>& accesses) : accesses_(accesses) {}

  void read(const proto::Phase& in, Phase& phase) {
    if (in.slots_size() != in.extent_counts_size() ||
        (in.share_counts_size() != 0 && in.share_counts_size() != in.slots_size())) {
      throw_input_error("a phase of {} slots with {} lists of extents and {} of shares", in.slots_size(),
                        in.extent_counts_size(), in.share_counts_size());
    }
    phase.first_block = in.first_block();
    phase.block_count = in.block_count();
    phase.accesses.resize(static_cast<std::size_t>(in.slots_size()));
    ExtentUnpacker extents(in.extents());
    next_share_ = 0;
    for (int i = 0; i < in.slots_size(); ++i) {
      PhaseAccess& access = phase.accesses[static_cast<std::size_t>(i)];
      access.slot = in.slots(i);
      const std::uint32_t runs = in.share_counts_size() == 0 ? 0 : in.share_counts(i);
      if (runs == 0) {
        extents.take(in.extent_counts(i), access.extents);
      } else {
        take_shared(in, runs, in.extent_counts(i), extents, access);
      }
    }
    extents.finish();
    if (next_share_ != in.shares_size()) {
      throw_input_error("{} numbers of shares more than their counts say", in.shares_size() - next_share_);
    }
  }

 private:
  void take_shared(const proto::Phase& in, std::uint32_t runs, std::uint32_t total, ExtentUnpacker& extents,
                   PhaseAccess& access) {
    if (access.slot >= accesses_.size()) {
      throw_input_error("a phase names slot {}, but the kernel has {} accesses", access.slot, accesses_.size());
    }
    const std::vector<Extent>& whole = accesses_[access.slot].extents;
    if (runs > static_cast<std::uint32_t>(in.shares_size() - next_share_) / 2) {
      throw_input_error("{} shares where {} numbers are left", runs, in.shares_size() - next_share_);
    }
    access.extents.clear();
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < runs; ++i, next_share_ += 2) {
      const std::size_t skipped = in.shares(next_share_), taken = in.shares(next_share_ + 1);
      if (skipped > whole.size() - at || taken > whole.size() - at - skipped || taken > kMaxPhaseExtents - shared_) {
        throw_input_error("a share of {} extents after {} reaches beyond the {} of slot {}, or there are too many",
                          taken, at + skipped, whole.size(), access.slot);
      }
      at += skipped;
      access.extents.insert(access.extents.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
                            whole.begin() + static_cast<std::ptrdiff_t>(at + taken));
      at += taken;
      shared_ += taken;
    }
    if (access.extents.size() > total) {
      throw_input_error("shares of {} extents in a list of {}", access.extents.size(), total);
    }
    extents.take(total - access.extents.size(), rest_);
    const auto middle = static_cast<std::ptrdiff_t>(access.extents.size());
    access.extents.insert(access.extents.end(), rest_.begin(), rest_.end());
    std::ranges::inplace_merge(access.extents, access.extents.begin() + middle, {}, &Extent::first);
  }

  const std::vector<ObjectAccess>& accesses_;
  int next_share_ = 0;
  std::size_t shared_ = 0;  // number of extents that phases share with the kernel
  std::vector<Extent> rest_;
};

// Makes `record`, which is reused for every record, hold a T with default values. The storage of a Kernel is kept: the
// one in `record`, or `spare` when `record` holds another type; `spare` takes it when another type comes. Its list of
// accesses keeps its size and content, for the caller to resize and overwrite.
template <class T>
T& reset_to(Record& record, Kernel& spare) {
  Kernel* held = std::get_if<Kernel>(&record);
  if constexpr (std::is_same_v<T, Kernel>) {
    if (held == nullptr) held = &record.emplace<Kernel>(std::move(spare));
    Kernel fresh;
    fresh.name.swap(held->name);
    fresh.accesses.swap(held->accesses);
    fresh.touches.swap(held->touches);
    fresh.name.clear();
    fresh.touches.clear();
    *held = std::move(fresh);
    return *held;
  } else {
    if (held != nullptr) spare = std::move(*held);
    return record.emplace<T>();
  }
}

// `message` is an Entry in which the generated code found no known record.
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
  std::vector<std::string> strings{std::string()};  // of the current frame; number 0 is the empty one
  std::vector<std::uint64_t> last_by_slot;          // for the current list
  Kernel spare_kernel;
  std::vector<Phase> phases;  // of the current kernel
  PhasePool phase_pool;
  std::vector<Extent> extents;  // of the current list
  ExtentPool extent_pool;
  std::size_t bytes_in_arena = 0;  // encoded size of the messages in the arena

  const std::string& string(std::uint32_t number) const {
    if (number >= strings.size()) {
      throw_input_error("string number {} is not defined; the frame has {} so far", number, strings.size() - 1);
    }
    return strings[number];
  }

  // Reads one record, which holds its defaults, from its message.
  template <class Message>
  struct Reader {
    static constexpr bool kConstant = false;

    State& state;
    const Message& in;
    const std::vector<ObjectAccess>* accesses = nullptr;  // of a kernel

    void number(const auto& key, auto& value, auto&&...) { value = key.get(in); }
    void stream(std::uint32_t& value) { value = in.stream(); }
    void time(const auto& key, std::int64_t& value, auto&&...) {
      const std::uint64_t found = key.get(in);
      if (found > static_cast<std::uint64_t>(kMaxTimeNs)) {
        throw_input_error("a time of {}; allowed: 0 to 2^61 nanoseconds", found);
      }
      value = static_cast<std::int64_t>(found);
    }
    void signed_time(const auto& key, std::int64_t& value, auto&&...) { value = key.get(in); }
    void device(const auto& key, std::int32_t& value, std::int32_t min, auto&&...) {
      value = key.get(in);
      if (value < min || value > kMaxDevice) throw_input_error("device {}; allowed: {} to {}", value, min, kMaxDevice);
    }
    void flag(const auto& key, bool& value, bool usual, auto&&...) { value = key.get(in) != usual; }
    template <class Enum>
    void name(const auto& key, Enum& value, auto&&...) {
      const int number = key.get(in);
      const std::size_t names = names_of(value).size();
      if (number < 0 || static_cast<std::size_t>(number) >= names) {
        throw_input_error("unknown {} number {}; allowed: 0 to {}", word_of(value), number, names - 1);
      }
      value = static_cast<Enum>(number);
    }
    void text(const auto& key, std::string& value, auto&&...) {
      if constexpr (std::is_same_v<Message, proto::Header>) {
        value = utf8(key.get(in), key);
      } else {
        value = state.string(key.get(in));
      }
    }
    void dimensions(const auto& key, Dim3& value, auto&&...) {
      const auto& numbers = key.get(in);
      if (numbers.size() > 3) throw_input_error("a grid or block of {} dimensions; allowed: at most 3", numbers.size());
      std::uint32_t* const targets[] = {&value.x, &value.y, &value.z};
      for (int i = 0; i < numbers.size(); ++i) *targets[i] = numbers.Get(i);
    }
    void place(const auto& object, const auto& offset, CopyEnd& end, auto&&...) {
      end = {object.get(in), offset.get(in)};
    }
    void end_of_version(const Header&) {}

    void list(std::string_view, auto& items, auto&&...) { get(items); }
    void get(std::vector<ObjectAccess>& items) {
      if (in.access_objects_size() != in.extent_counts_size()) {
        throw_input_error("{} accesses with {} lists of extents", in.access_objects_size(), in.extent_counts_size());
      }
      items.resize(static_cast<std::size_t>(in.access_objects_size()));
      ExtentUnpacker lists(in.extents());
      for (int i = 0; i < in.access_objects_size(); ++i) {
        ObjectAccess& access = items[static_cast<std::size_t>(i)];
        access.object = in.access_objects(i);
        lists.take(in.extent_counts(i), state.extents);
        access.extents = state.extent_pool.find(state.extents);
      }
      lists.finish();
      accesses = &items;
    }
    void get(std::vector<Touch>& touches) {
      const int slots = in.touch_slots_size();
      if (slots != 0 && slots != in.touches_size()) {
        throw_input_error("{} touches with {} slots", in.touches_size(), slots);
      }
      if (in.touches_size() != 0 && accesses->empty()) throw_input_error("touches without accesses");
      auto& last = state.zeros_by_slot(accesses->size());
      touches.reserve(static_cast<std::size_t>(in.touches_size()));
      for (int i = 0; i < in.touches_size(); ++i) {
        const std::uint32_t slot = slots == 0 ? 0 : in.touch_slots(i);
        if (slot >= last.size()) {
          throw_input_error("touch {} names slot {}, but the kernel has {} accesses", i, slot, last.size());
        }
        const auto [quantum, mode] = unpack_touch(in.touches(i), last[slot]);
        touches.push_back({slot, quantum, mode});
      }
    }
    void get(PhaseList& phases) {
      PhaseReader reader(*accesses);
      state.phases.resize(static_cast<std::size_t>(in.phases_size()));
      for (int i = 0; i < in.phases_size(); ++i) reader.read(in.phases(i), state.phases[static_cast<std::size_t>(i)]);
      phases = state.phase_pool.find(state.phases);
    }
    void get(std::vector<FirstTouch>& order) {
      const int slots = in.order_slots_size();
      if (slots != 0 && slots != in.order_size()) {
        throw_input_error("an order of {} units with {} slots", in.order_size(), slots);
      }
      auto& last = state.zeros_by_slot(accesses->size());
      order.reserve(static_cast<std::size_t>(in.order_size()));
      for (int i = 0; i < in.order_size(); ++i) {
        const std::uint32_t slot = slots == 0 ? 0 : in.order_slots(i);
        if (slot >= last.size()) {
          throw_input_error("the order names slot {}, but the kernel has {} accesses", slot, last.size());
        }
        // Numbers of a malicious file may wrap around; check_shape() bounds the result.
        last[slot] += static_cast<std::uint64_t>(unzigzag(in.order(i)));
        order.push_back({slot, last[slot]});
      }
    }
    void get(std::vector<UnitCount>& counts) {
      if (in.unit_counts_size() > in.access_objects_size() || in.unit_gaps_size() != in.unit_values_size()) {
        throw_input_error("{} lists of counts for {} accesses, {} units with {} counts", in.unit_counts_size(),
                          in.access_objects_size(), in.unit_gaps_size(), in.unit_values_size());
      }
      int next = 0;
      counts.reserve(static_cast<std::size_t>(in.unit_gaps_size()));
      for (int slot = 0; slot < in.unit_counts_size(); ++slot) {
        if (in.unit_counts(slot) > static_cast<std::uint32_t>(in.unit_gaps_size() - next)) {
          throw_input_error("{} counts where {} are left", in.unit_counts(slot), in.unit_gaps_size() - next);
        }
        std::uint64_t unit = 0;
        for (std::uint32_t i = 0; i < in.unit_counts(slot); ++i, ++next) {
          unit += in.unit_gaps(next);
          counts.push_back({static_cast<std::uint32_t>(slot), unit, in.unit_values(next)});
          ++unit;
        }
      }
      const int left = in.unit_gaps_size() - next;
      if (left != 0) throw_input_error("{} counts more than their lists say", left);
    }
    void get(ExtentList& list) {
      ExtentUnpacker lists(in.extents());
      lists.take(lists.left(), state.extents);
      list = state.extents;
    }
    void get(std::vector<HostTouch>& touches) {
      touches.reserve(static_cast<std::size_t>(in.touches_size()));
      std::uint64_t previous = 0;
      for (const std::uint64_t number : in.touches()) touches.push_back(unpack_touch(number, previous));
    }
    void get(std::vector<Attribute>& attributes) {
      attributes.clear();
      for (const proto::Attribute& attribute : in.attributes()) {
        attributes.emplace_back(utf8(attribute.key(), "attribute"), utf8(attribute.value(), "attribute"));
      }
    }
  };

  static const std::string& utf8(const std::string& text, std::string_view what) {
    if (!is_utf8(text)) throw_input_error("{} '{}' is not UTF-8", what, printable(text));
    return text;
  }
  std::vector<std::uint64_t>& zeros_by_slot(std::size_t slots) {
    last_by_slot.assign(slots, 0);
    return last_by_slot;
  }

  template <class Message, class Fields>
  void get(const Message& message, Fields& record) {
    Reader<Message> reader{*this, message};
    fields(reader, record);
  }
  template <std::size_t Index = 0>
  void get_record(const proto::Entry& entry, std::string_view message, Record& record) {
    if constexpr (Index < std::variant_size_v<Record>) {
      constexpr auto kKey = std::get<Index>(message_keys());
      if (!kKey.has(entry)) return get_record<Index + 1>(entry, message, record);
      get(kKey.get(entry), reset_to<std::variant_alternative_t<Index, Record>>(record, spare_kernel));
    } else {
      refuse_unknown_record(message);
    }
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
  check_numbers(message);
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
      if (entry.header().magic() != "UVMT") throw_input_error("the header lacks the magic 'UVMT'");
      state_->get(entry.header(), header);
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
