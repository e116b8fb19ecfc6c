// SPDX-License-Identifier: Apache-2.0
// Functions with which record.h describes the fields of a record: key in the JSON-lines form, field of the message in
// `.uvmt`, presence, limits, meaning. Walks over these fields write and read both forms, check records (shape.cpp,
// validate.cpp), sum their times (statistics.cpp) and print `uvmsim trace fields`.
//
// `fields(walk, record)` calls one function of `walk` per field, in the order in which both forms are written:
//      number, stream, flag, time, signed_time, device, name (a value of an enum), text, dimensions, place, list
// each with (key, value, presence or its replacement, meaning). `parts(part, item)` does the same for the numbers of
// one item of a list, which JSON writes as [a, b, ...]; their names appear in messages only. A walk that only reads
// records derives from ReadingWalk, or declares `static constexpr bool kConstant = true`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace uvmsim::trace {

struct Header;

enum class Presence : std::uint8_t {
  kRequired,  // always written; refused when missing
  kWritten,   // always written; has its default when missing
  kOptional,  // left out at its default
};

template <class Walk, class T>
using Of = std::conditional_t<Walk::kConstant, const T&, T&>;

// Ignores all fields; a walk over some of them overrides their functions.
struct ReadingWalk {
  static constexpr bool kConstant = true;
  void number(auto&&...) {}
  void stream(std::uint32_t) {}
  void flag(auto&&...) {}
  void time(auto&&...) {}
  void signed_time(auto&&...) {}
  void device(auto&&...) {}
  void name(auto&&...) {}
  void text(auto&&...) {}
  void dimensions(auto&&...) {}
  void place(auto&&...) {}
  void list(auto&&...) {}
  void end_of_version(const Header&) {}
};

// A key of JSON and the corresponding field of a protobuf message; it converts to text for walks that need only the
// key. The functions are compiled where the messages are known.
template <class Has, class Get, class Set, class Edit>
struct Key {
  std::string_view text;
  Has has;
  Get get;
  Set set;
  Edit edit;
  constexpr operator std::string_view() const { return text; }
};
template <class Has, class Get, class Set, class Edit>
constexpr Key<Has, Get, Set, Edit> make_key(std::string_view text, Has has, Get get, Set set, Edit edit) {
  return {text, has, get, set, edit};
}
// These macros are for record.h, which undefines them.
#define UVMSIM_KEY_OF(key, field)                                            \
  make_key(                                                                  \
      #key, [](const auto& message) { return message.has_##field(); },       \
      [](const auto& message) -> decltype(auto) { return message.field(); }, \
      [](auto& message, const auto& value) { message.set_##field(value); },  \
      [](auto& message) -> decltype(auto) { return *message.mutable_##field(); })
#define UVMSIM_KEY(field) UVMSIM_KEY_OF(field, field)

// The form of a list's item in JSON, for messages, and its number of parts.
struct ItemForm {
  std::string_view text;
  std::size_t parts;
};

}  // namespace uvmsim::trace
