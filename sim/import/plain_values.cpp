// SPDX-License-Identifier: Apache-2.0
#include "sim/import/plain_values.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"

namespace uvmsim::trace {

namespace {

// Takes the events of a parser of JSON.
class JsonValues final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonValues(PlainValues& values) : values_(values) {}

  bool null() override { return put(PlainValues::kNone); }
  bool boolean(bool value) override { return put(values_.boolean(value)); }
  bool number_integer(number_integer_t value) override { return put(values_.integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return put(value > INT64_MAX ? values_.real(static_cast<double>(value))
                                 : values_.integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(values_.real(value)); }
  bool string(string_t& value) override { return put(values_.text(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return open(values_.dictionary()); }
  bool key(string_t& value) override { return put(values_.text(std::move(value))); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(values_.list()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw_input_error("is not JSON: {}", printable(error.what()));
  }

  PlainValues::Id whole = PlainValues::kNone;

 private:
  bool put(PlainValues::Id id) {
    if (open_.empty()) {
      whole = id;
    } else {
      values_.append(open_.back(), id);
    }
    return true;
  }
  bool open(PlainValues::Id id) {
    put(id);
    open_.push_back(id);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  PlainValues& values_;
  std::vector<PlainValues::Id> open_;
};

}  // namespace

PlainValues::PlainValues() { values_ = {{0, Kind::kNone}, {0, Kind::kBool}, {1, Kind::kBool}}; }

PlainValues::Id PlainValues::add(Kind kind, std::uint64_t number) {
  if (values_.size() > UINT32_MAX - 1) throw_input_error("more than {} values", UINT32_MAX);
  values_.push_back({number, kind});
  return static_cast<Id>(values_.size() - 1);
}

PlainValues::Id PlainValues::real(double value) { return add(Kind::kReal, std::bit_cast<std::uint64_t>(value)); }
double PlainValues::real_of(Id id) const { return std::bit_cast<double>(values_[id].number); }

PlainValues::Id PlainValues::text(std::string value) {
  texts_.push_back(std::move(value));
  return add(Kind::kText, texts_.size() - 1);
}

PlainValues::Id PlainValues::list() {
  lists_.emplace_back();
  return add(Kind::kList, lists_.size() - 1);
}

PlainValues::Id PlainValues::dictionary() {
  lists_.emplace_back();
  return add(Kind::kDictionary, lists_.size() - 1);
}

PlainValues::Id PlainValues::find(Id dictionary, std::string_view key) const {
  const std::vector<Id>& items = items_of(dictionary);
  for (std::size_t i = items.size() / 2; i-- > 0;) {
    const Id name = items[2 * i];
    if (kind(name) == Kind::kText && text_of(name) == key) return items[2 * i + 1];
  }
  return kNone;
}

PlainValues::Id read_json_values(std::string_view json, PlainValues& values) {
  if (nested_too_deep(json)) throw_input_error("nested too deep");
  JsonValues taker(values);
  if (!nlohmann::json::sax_parse(json, &taker)) throw_input_error("is not JSON");
  return taker.whole;
}

}  // namespace uvmsim::trace
