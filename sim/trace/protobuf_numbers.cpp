// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/protobuf_numbers.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/common/error.h"
#include "sim/trace/varint.h"

namespace uvmsim::trace {

namespace protobuf_numbers {
namespace {

// A set of fields of a message, as bits by their numbers.
constexpr std::uint32_t bits(auto... numbers) { return (0u | ... | (1u << numbers)); }

// The fields of a message that hold less than 64 bits: uint32 and sint32, enums, flags; and the messages in it.
struct Shape {
  std::uint32_t words = 0, enums = 0, flags = 0;
  unsigned child = 0;  // number of the field
  const Shape* shape_of_child = nullptr;
};

constexpr Shape kPlain{};
constexpr Shape kHeader{.words = bits(2, 3, 4)};
constexpr Shape kPhase{.words = bits(3, 4, 6, 7)};
constexpr Shape kKernel{.words = bits(1, 2, 3, 4, 5, 6, 7, 11, 14, 17, 21, 22, 24),
                        .enums = bits(10, 12),
                        .child = 18,
                        .shape_of_child = &kPhase};
constexpr Shape kObjectAlloc{.words = bits(5), .enums = bits(2)};
constexpr Shape kTensorAlloc{.words = bits(3, 6)};
constexpr Shape kMemcpy{.words = bits(7), .enums = bits(6), .flags = bits(8)};
constexpr Shape kMemset{.words = bits(4), .flags = bits(6)};
constexpr Shape kPrefetch{.words = bits(4, 5)};
constexpr Shape kAdvise{.words = bits(5), .enums = bits(4)};
constexpr Shape kDiscard{.words = bits(4)};
constexpr Shape kSync{.words = bits(2), .enums = bits(1)};
constexpr Shape kRange{.words = bits(2), .enums = bits(1)};
constexpr Shape kUvmCounter{.words = bits(1, 7)};

// Indexed by the number of the field in Entry.
constexpr std::array<const Shape*, 18> kRecords = {nullptr,  nullptr,       &kHeader, &kPlain,  &kKernel, &kObjectAlloc,
                                                   &kPlain,  &kTensorAlloc, &kPlain,  &kMemcpy, &kMemset, &kPrefetch,
                                                   &kAdvise, &kDiscard,     &kSync,   &kPlain,  &kRange,  &kUvmCounter};

enum Wire : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

[[noreturn]] void refuse(std::uint64_t number, std::uint64_t value) {
  throw_input_error("field {} holds {}, which does not fit it", number, value);
}

class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  // Reads the next field; returns false at the end. Throws InputError for bytes that are not a field.
  bool next() {
    if (bytes_.empty()) return false;
    std::uint64_t tag = 0, size = 0;
    bool whole = take_varint(bytes_, tag);
    number = tag >> 3;
    wire = tag & 7;
    switch (wire) {
      case kVarint:
        whole = whole && take_varint(bytes_, value);
        break;
      case kBytes:
        whole = whole && take_varint(bytes_, size) && size <= bytes_.size();
        break;
      case kFixed64:
      case kFixed32:
        size = wire == kFixed64 ? 8 : 4;
        whole = whole && size <= bytes_.size();
        break;
      default:
        throw_input_error("field {} is a group; no version writes these", number);
    }
    if (!whole) throw_input_error("a message that is no trace entry");
    content = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

  std::uint64_t number = 0, wire = 0;
  std::uint64_t value = 0;   // of a varint
  std::string_view content;  // of bytes

 private:
  std::string_view bytes_;
};

bool has(std::uint32_t set, std::uint64_t number) { return number < 32 && (set >> number & 1) != 0; }

void check(const Shape& shape, std::string_view bytes) {
  for (Message message(bytes); message.next();) {
    const std::uint64_t number = message.number;
    std::uint64_t most = ~std::uint64_t{0};
    if (has(shape.words, number)) most = UINT32_MAX;
    if (has(shape.enums, number)) most = INT32_MAX;
    if (has(shape.flags, number)) most = 1;
    if (message.wire == kVarint) {
      if (message.value > most) refuse(number, message.value);
    } else if (message.wire == kBytes && has(shape.words, number)) {  // packed
      for (std::uint64_t value = 0; !message.content.empty();) {
        // Nearly all numbers are of one or two bytes.
        if (!take_varint(message.content, value)) throw_input_error("a message that is no trace entry");
        if (value > most) refuse(number, value);
      }
    } else if (message.wire == kBytes && shape.shape_of_child != nullptr && number == shape.child) {
      check(*shape.shape_of_child, message.content);
    }
  }
}

}  // namespace
}  // namespace protobuf_numbers

void check_numbers(std::string_view entry) {
  using namespace protobuf_numbers;
  std::uint64_t record = 0;
  for (Message message(entry); message.next();) {
    if (message.number < 2 || message.number >= kRecords.size()) continue;
    if (record != 0) {
      throw_input_error("an entry with two records (fields {} and {}); allowed: one", record, message.number);
    }
    record = message.number;
    if (message.wire == kBytes) check(*kRecords.at(record), message.content);
  }
}

}  // namespace uvmsim::trace
