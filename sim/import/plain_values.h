// SPDX-License-Identifier: Apache-2.0
// Values of a language without types (Python's pickles, JSON): numbers, texts, lists and dictionaries. They are kept as
// a graph: a value that a file names twice is kept once, so that memory stays in proportion to the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::trace {

class PlainValues {
 public:
  using Id = std::uint32_t;
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDictionary };
  static constexpr Id kNone = 0;  // the value None

  PlainValues();

  // Each adds a value. Integers beyond 64 bits are reals.
  Id boolean(bool value) { return value ? 2 : 1; }
  Id integer(std::int64_t value) { return add(Kind::kInteger, static_cast<std::uint64_t>(value)); }
  Id real(double value);
  Id text(std::string value);
  Id list();
  Id dictionary();  // its items are alternating keys and values
  void append(Id list, Id item) { lists_[values_[list].number].push_back(item); }

  Kind kind(Id id) const { return values_[id].kind; }
  std::int64_t integer_of(Id id) const { return static_cast<std::int64_t>(values_[id].number); }
  double real_of(Id id) const;
  const std::string& text_of(Id id) const { return texts_[values_[id].number]; }
  const std::vector<Id>& items_of(Id id) const { return lists_[values_[id].number]; }
  // Returns the last value given for a key of a dictionary; kNone if it has none.
  Id find(Id dictionary, std::string_view key) const;

 private:
  struct Value {
    std::uint64_t number = 0;  // the value itself, or an index into texts_ or lists_
    Kind kind = Kind::kNone;
  };
  Id add(Kind kind, std::uint64_t number);

  std::vector<Value> values_;
  std::vector<std::string> texts_;
  std::vector<std::vector<Id>> lists_;
};

// Reads JSON text; returns the id of the whole. Throws InputError (without the file's name) for text that is not JSON,
// and for nesting beyond kMaxJsonDepth.
PlainValues::Id read_json_values(std::string_view json, PlainValues& values);

}  // namespace uvmsim::trace
