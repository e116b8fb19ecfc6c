// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/arena.h>

#include <type_traits>
#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/protobuf_codec.h"
#include "sim/trace/record.h"
#include "sim/trace/uvmtrace.pb.h"

namespace uvmsim::trace {

namespace {

using Numbers32 = google::protobuf::RepeatedField<std::uint32_t>;
using Numbers64 = google::protobuf::RepeatedField<std::uint64_t>;

// Lists of at least this many extents refer to the kernel's own extents instead of repeating them.
constexpr std::size_t kMinShared = 8;

void check_utf8(std::string_view text) {
  if (!is_utf8(text)) throw_input_error("'{}' is not UTF-8", printable(text));
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

// Returns the difference of `value` to the previous one, which `value` then replaces.
std::uint64_t pack_difference(std::uint64_t value, std::uint64_t& before) {
  const auto difference = static_cast<std::int64_t>(value) - static_cast<std::int64_t>(before);
  before = value;
  return zigzag(difference);
}
std::uint64_t pack_touch(std::uint64_t quantum, AccessMode mode, std::uint64_t& before) {
  return pack_difference(quantum, before) << 2 | static_cast<std::uint64_t>(mode);
}

// Appends one list. The extents ascend and stay below kMaxQuantum (shape.h).
void pack_extents(const std::vector<Extent>& extents, Numbers64& out) {
  std::uint64_t previous_end = 0;
  for (const Extent& extent : extents) {
    out.Add((extent.first - previous_end) << 2 | static_cast<std::uint64_t>(extent.mode));
    out.Add(extent.count);
    previous_end = extent.first + extent.count;
  }
}

// Splits the extents of a phase: those equal to extents of the kernel become runs (skipped, taken) of them; the others
// go to `rest`.
void split_shared(const std::vector<Extent>& extents, const std::vector<Extent>& whole,
                  std::vector<std::uint32_t>& runs, std::vector<Extent>& rest) {
  runs.clear();
  rest.clear();
  std::size_t next = 0, behind_run = 0;  // positions in `whole`
  for (const Extent& extent : extents) {
    while (next < whole.size() && whole[next].first < extent.first) ++next;
    if (next == whole.size() || whole[next] != extent) {
      rest.push_back(extent);
    } else if (!runs.empty() && behind_run == next) {
      ++runs.back();
      behind_run = ++next;
    } else {
      runs.push_back(static_cast<std::uint32_t>(next - behind_run));
      runs.push_back(1);
      behind_run = ++next;
    }
  }
}

void put_phase(const Phase& phase, const std::vector<ObjectAccess>& accesses, proto::Phase& out) {
  std::vector<std::uint32_t> runs;
  std::vector<Extent> rest;
  bool shared = false;
  out.set_first_block(phase.first_block);
  out.set_block_count(phase.block_count);
  for (const PhaseAccess& access : phase.accesses) {
    out.add_slots(access.slot);
    out.add_extent_counts(static_cast<std::uint32_t>(access.extents.size()));
    runs.clear();
    if (access.extents.size() >= kMinShared) split_shared(access.extents, accesses[access.slot].extents, runs, rest);
    // Without shares, older readers can read the trace.
    const bool worth = !runs.empty() && runs.size() + 2 * rest.size() < access.extents.size();
    out.add_share_counts(worth ? static_cast<std::uint32_t>(runs.size() / 2) : 0);
    if (worth) {
      shared = true;
      out.mutable_shares()->Add(runs.begin(), runs.end());
    }
    pack_extents(worth ? rest : access.extents, *out.mutable_extents());
  }
  if (!shared) out.clear_share_counts();
}

// Writes one number per item, which `pack` makes from it and the previous item of its slot, and the slots unless all
// are 0.
template <class Items, class Pack>
void put_by_slot(const Items& items, std::size_t slots, const Pack& pack, Numbers64& numbers, Numbers32& slot_numbers) {
  if (items.empty()) return;
  std::vector<std::uint64_t> last(slots, 0);
  numbers.Reserve(static_cast<int>(items.size()));
  bool one_slot = true;
  for (const auto& item : items) {
    numbers.Add(pack(item, last[item.slot]));
    one_slot = one_slot && item.slot == 0;
  }
  if (one_slot) return;
  for (const auto& item : items) slot_numbers.Add(item.slot);
}

}  // namespace

struct ProtobufEncoder::State {
  google::protobuf::Arena arena;
  std::unordered_map<std::string, std::uint32_t> strings;  // only looked up, never iterated
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

  // Writes one record, which satisfies shape.h, into its empty message.
  template <class Message>
  struct Writer {
    static constexpr bool kConstant = true;

    State& state;
    Message& out;
    const std::vector<ObjectAccess>* accesses = nullptr;  // of a kernel

    void number(const auto& key, auto value, auto&&...) { key.set(out, value); }
    void stream(std::uint32_t value) { out.set_stream(value); }
    void time(const auto& key, std::int64_t value, auto&&...) { key.set(out, static_cast<std::uint64_t>(value)); }
    void signed_time(const auto& key, std::int64_t value, auto&&...) { key.set(out, value); }
    void device(const auto& key, std::int32_t value, auto&&...) { key.set(out, value); }
    void flag(const auto& key, bool value, bool usual, auto&&...) { key.set(out, value != usual); }
    void name(const auto& key, auto value, auto&&...) { key.set(out, static_cast<decltype(key.get(out))>(value)); }
    void text(const auto& key, const std::string& value, auto&&...) {
      if constexpr (std::is_same_v<Message, proto::Header>) {
        check_utf8(value);
        key.set(out, value);
      } else {
        key.set(out, state.string_number(value));
      }
    }
    void dimensions(const auto& key, const Dim3& d, auto&&...) {
      const std::uint32_t values[] = {d.x, d.y, d.z};
      int used = 3;
      while (used > 0 && values[used - 1] == 1) --used;
      key.edit(out).Add(values, values + used);
    }
    void place(const auto& object, const auto& offset, const CopyEnd& end, auto&&...) {
      object.set(out, end.object);
      offset.set(out, end.offset);
    }
    void end_of_version(const Header&) {}

    void list(std::string_view, const auto& items, auto&&...) { put(items); }
    void put(const std::vector<ObjectAccess>& items) {
      accesses = &items;
      for (const ObjectAccess& access : items) {
        out.add_access_objects(access.object);
        out.add_extent_counts(static_cast<std::uint32_t>(access.extents.size()));
        pack_extents(access.extents, *out.mutable_extents());
      }
    }
    void put(const std::vector<Touch>& touches) {
      const auto pack = [](const Touch& touch, auto& last) { return pack_touch(touch.quantum, touch.mode, last); };
      put_by_slot(touches, accesses->size(), pack, *out.mutable_touches(), *out.mutable_touch_slots());
    }
    void put(const PhaseList& phases) {
      for (const Phase& phase : phases) put_phase(phase, *accesses, *out.add_phases());
    }
    void put(const std::vector<FirstTouch>& order) {
      const auto pack = [](const FirstTouch& touch, auto& last) { return pack_difference(touch.unit, last); };
      put_by_slot(order, accesses->size(), pack, *out.mutable_order(), *out.mutable_order_slots());
    }
    void put(const std::vector<UnitCount>& counts) {
      if (counts.empty()) return;
      out.mutable_unit_counts()->Resize(static_cast<int>(accesses->size()), 0);
      std::uint64_t next = 0;
      std::uint32_t slot = 0;
      for (const UnitCount& item : counts) {
        next = item.slot == slot ? next : 0;
        slot = item.slot;
        out.add_unit_gaps(item.unit - next);
        out.add_unit_values(item.count);
        out.set_unit_counts(static_cast<int>(slot), out.unit_counts(static_cast<int>(slot)) + 1);
        next = item.unit + 1;
      }
    }
    void put(const ExtentList& extents) { pack_extents(extents, *out.mutable_extents()); }
    void put(const std::vector<HostTouch>& touches) {
      std::uint64_t previous = 0;
      for (const auto& [quantum, mode] : touches) out.add_touches(pack_touch(quantum, mode, previous));
    }
    void put(const std::vector<Attribute>& attributes) {
      for (const auto& [key, value] : attributes) {
        check_utf8(key);
        check_utf8(value);
        auto& attribute = *out.add_attributes();
        attribute.set_key(key);
        attribute.set_value(value);
      }
    }
  };

  template <class Fields, class Message>
  void put(const Fields& record, Message& message) {
    Writer<Message> writer{*this, message};
    fields(writer, record);
  }
  template <std::size_t Index = 0>
  void put_record(const Record& record) {
    if constexpr (Index < std::variant_size_v<Record>) {
      if (record.index() != Index) return put_record<Index + 1>(record);
      put(std::get<Index>(record), std::get<Index>(message_keys()).edit(*entry));
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
  proto::Header& message = *state_->entry->mutable_header();
  message.set_magic("UVMT");
  state_->put(header, message);
  state_->finish(frame);
}

void ProtobufEncoder::append(const Record& record, std::string& frame) {
  state_->start();
  state_->put_record(record);
  state_->finish(frame);
}

void ProtobufEncoder::append_end(std::uint64_t records, std::string& frame) {
  state_->start();
  state_->entry->mutable_end()->set_records(records);
  state_->finish(frame);
}

}  // namespace uvmsim::trace
