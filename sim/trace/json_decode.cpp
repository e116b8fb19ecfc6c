// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/common/error.h"
#include "sim/formats/json_fields.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/record.h"
#include "sim/trace/shape.h"

namespace uvmsim::trace {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
constexpr auto kMaxTime = static_cast<std::uint64_t>(kMaxTimeNs);

template <class Item>
std::vector<Item>& editable(std::vector<Item>& list) {
  return list;
}
template <class Item>
std::vector<Item>& editable(SharedList<Item>& list) {
  return list.edit();
}

// Reads [a, b, ...]: one item of a list.
class PartReader {
 public:
  static constexpr bool kConstant = false;

  explicit PartReader(const std::vector<Json>& values) : next_(values.data()) {}

  void number(std::string_view what, std::uint64_t& value) { value = json_integer(*next_++, what); }
  void number(std::string_view what, std::uint32_t& value) {
    value = static_cast<std::uint32_t>(json_integer(*next_++, what, kMaxU32));
  }
  void quantum(std::string_view what, std::uint64_t& value) { value = json_integer(*next_++, what, kMaxQuantum); }
  void mode(AccessMode& mode) { mode = parse_access_mode(*next_++); }
  void text(std::string_view what, std::string& value) { value = json_text(*next_++, what); }
  template <class List>
  void list(std::string_view what, List& items) {
    read_list(*next_++, what, items);
  }

  template <class List>
  static void read_list(const Json& value, std::string_view what, List& items) {
    const std::vector<Json>& values = json_array(value, what);
    auto& out = editable(items);
    out.clear();
    out.reserve(values.size());
    for (const Json& item : values) {
      constexpr ItemForm kForm = kItemForm<typename List::value_type>;
      PartReader part(json_array(item, kForm.text, kForm.parts));
      parts(part, out.emplace_back());
    }
  }

 private:
  const Json* next_;
};

// Reads one record, which holds its defaults.
class FieldReader {
 public:
  static constexpr bool kConstant = false;

  FieldReader(const Json& object, std::string_view type) : fields_(object, type) { fields_.find("t"); }

  template <class Integer>
  void number(std::string_view key, Integer& value, Presence presence, std::string_view) {
    constexpr std::uint64_t kMax = std::numeric_limits<Integer>::max();
    value = static_cast<Integer>(presence == Presence::kRequired ? fields_.required_integer(key, kMax)
                                                                 : fields_.integer(key, value, kMax));
  }
  void stream(std::uint32_t& value) { number("stream", value, Presence::kOptional, ""); }
  void time(std::string_view key, std::int64_t& value, Presence presence, std::string_view) {
    value = static_cast<std::int64_t>(presence == Presence::kRequired ? fields_.required_integer(key, kMaxTime)
                                                                      : fields_.integer(key, 0, kMaxTime));
  }
  void signed_time(std::string_view key, std::int64_t& value, std::string_view) {
    value = fields_.signed_integer(key, 0, -kMaxTimeNs, kMaxTimeNs);
  }
  void device(std::string_view key, std::int32_t& value, std::int32_t min, Presence, std::string_view) {
    value = static_cast<std::int32_t>(fields_.signed_integer(key, 0, min, kMaxDevice));
  }
  void flag(std::string_view key, bool& value, bool usual, std::string_view) { value = fields_.boolean(key, usual); }
  template <class Enum>
  void name(std::string_view key, Enum& value, Presence presence, std::string_view) {
    if (const Json* found = find(key, presence)) {
      const auto& names = names_of(value);
      const std::string& word = text_of(*found, key);
      const auto at = std::find(names.begin(), names.end(), word);
      if (at == names.end()) {
        throw_input_error("{}: unknown '{}'{}", fields_.place_of(key), printable(word), allowed_hint(word, names));
      }
      value = static_cast<Enum>(at - names.begin());
    }
  }
  void text(std::string_view key, std::string& value, Presence presence, std::string_view) {
    if (const Json* found = find(key, presence)) value = text_of(*found, key);
  }
  void dimensions(std::string_view key, Dim3& dimensions, std::string_view) {
    if (const Json* value = fields_.find(key)) {
      const auto& values = json_array(*value, key);
      if (values.empty() || values.size() > 3) {
        throw_input_error("{} must be a list [x, y, z] of 1 to 3 integers", fields_.place_of(key));
      }
      std::uint32_t* const targets[] = {&dimensions.x, &dimensions.y, &dimensions.z};
      for (std::size_t i = 0; i < values.size(); ++i) {
        *targets[i] = static_cast<std::uint32_t>(json_integer(values[i], key, kMaxU32));
      }
    }
  }
  void place(std::string_view key, std::string_view, CopyEnd& end, std::string_view) {
    if (const Json* value = fields_.find(key)) {
      const auto& values = json_array(*value, "an end of a copy [object, offset]", 2);
      end.object = json_integer(values[0], "object of a copy");
      end.offset = json_integer(values[1], "offset of a copy");
    }
  }
  template <class List>
  void list(std::string_view key, List& items, Presence presence, std::string_view) {
    if (const Json* value = find(key, presence)) PartReader::read_list(*value, fmt::format("'{}'", key), items);
  }
  // Another major version is refused before its keys, which may be unknown.
  void end_of_version(const Header& header) {
    if (header.major != kSchemaMajor) check_shape(header);
  }
  void finish() const { fields_.finish(); }

 private:
  const Json* find(std::string_view key, Presence presence) {
    return presence == Presence::kRequired ? &fields_.require(key) : fields_.find(key);
  }
  // Builds the message only when the value is wrong.
  const std::string& text_of(const Json& value, std::string_view key) const {
    const auto* text = value.get_ptr<const std::string*>();
    return text != nullptr ? *text : json_text(value, fields_.place_of(key));
  }

  JsonFields fields_;
};

// Returns "t" of the object on the line.
const std::string& record_type(const Json& object) {
  if (!object.is_object()) {
    throw_input_error("a record must be an object {{\"t\":...}}, not {}", json_line_kind(object));
  }
  const auto type = object.find("t");
  if (type == object.end()) throw_input_error("key 't' (the record type) is missing");
  return json_text(*type, "'t'");
}

// Frees lists from the innermost on: the library's destructor would first move all of them to a stack of its own.
void free_items(Json& value) {
  auto* items = value.get_ptr<Json::array_t*>();
  if (items == nullptr) return;
  for (Json& item : *items) free_items(item);
  items->clear();
}

template <std::size_t Index = 0>
void read_alternative(std::size_t index, const Json& object, Record& record) {
  if constexpr (Index < std::variant_size_v<Record>) {
    if (index != Index) return read_alternative<Index + 1>(index, object, record);
    FieldReader reader(object, kRecordTypeNames[Index]);
    fields(reader, record.emplace<Index>());
    reader.finish();
  }
}

}  // namespace

AccessMode parse_access_mode(const Json& value) {
  const std::string& word = json_text(value, "an access mode");
  for (std::size_t i = 1; i < kAccessModeNames.size(); ++i) {
    if (kAccessModeNames[i] == word) return static_cast<AccessMode>(i);
  }
  throw_input_error("unknown access mode '{}'; allowed: r, w, rw", printable(word));
}

Header parse_json_header(std::string_view line) {
  const Json object = parse_json_line(line);
  if (record_type(object) != "header") {
    throw_input_error("the first record must be {{\"t\":\"header\",...}}, not '{}'", printable(record_type(object)));
  }
  if (object.contains("page_bytes")) {
    throw_input_error("this is a raw recording, not a trace; convert it with 'uvmsim trace import raw'");
  }
  Header header;
  header.minor = 0;  // its default when missing
  FieldReader reader(object, "header");
  fields(reader, header);
  reader.finish();
  return header;
}

void parse_json_record(std::string_view line, Record& record) {
  Json object = parse_json_line(line);
  const std::string& type = record_type(object);
  for (std::size_t i = 0; i < kRecordTypeNames.size(); ++i) {
    if (kRecordTypeNames[i] != type) continue;
    read_alternative(i, object, record);
    for (Json& member : object) free_items(member);
    return;
  }
  if (type == "header") throw_input_error("a second header");
  throw_input_error("unknown record type '{}'{}", printable(type), allowed_hint(type, kRecordTypeNames));
}

}  // namespace uvmsim::trace
