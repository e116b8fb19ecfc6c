// SPDX-License-Identifier: Apache-2.0
#include "sim/import/pickle.h"

#include <bit>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/common/error.h"

namespace uvmsim::trace {

namespace {

using PickleId = PlainValues::Id;

// The instructions that are refused, by their names in Python's documentation (pickletools).
const char* refused_name(unsigned char code) {
  switch (code) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x82:
    case 0x83:
    case 0x84:
      return "EXT";
    case 0x97:
      return "NEXT_BUFFER";
    default:
      return nullptr;
  }
}

class PickleReader {
 public:
  PickleReader(std::string_view bytes, PlainValues& values) : bytes_(bytes), values_(values) {}

  PickleId read() {
    for (;;) {
      start_ = at_;
      const auto code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') {
        if (!marks_.empty()) refuse("the pickle ends within a list");
        return pop();
      }
      step(code);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("byte {}: {}", start_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view take(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) refuse("the pickle ends too early");
    at_ += bytes;
    return bytes_.substr(at_ - bytes, bytes);
  }
  std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    const std::string_view digits = take(bytes);
    for (unsigned i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return value;
  }

  void push(PickleId id) { stack_.push_back(id); }
  // An instruction may take only the values above the last mark.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId pop() {
    if (stack_.size() <= floor()) refuse("the stack is empty");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) refuse("no mark is set");
    std::vector<PickleId> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleId top(PlainValues::Kind kind) const {
    if (stack_.size() <= floor() || values_.kind(stack_.back()) != kind) {
      refuse("an item for something that is no {}", kind == PlainValues::Kind::kList ? "list" : "dictionary");
    }
    return stack_.back();
  }

  void integer_of_bytes(std::uint64_t bytes) {
    const std::string_view digits = take(bytes);
    const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
    if (digits.size() <= 8) {
      std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
      for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
      push(values_.integer(static_cast<std::int64_t>(value)));
      return;
    }
    double value = negative ? -1 : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value * 256 + static_cast<unsigned char>(digits[i]);
    push(values_.real(value));
  }
  void text(std::uint64_t bytes) { push(values_.text(std::string(take(bytes)))); }

  void tuple(std::vector<PickleId> items) {
    const PickleId id = values_.list();
    for (const PickleId item : items) values_.append(id, item);
    push(id);
  }
  void tuple_of(unsigned count) {
    std::vector<PickleId> items(count);
    for (unsigned i = count; i-- > 0;) items[i] = pop();
    tuple(std::move(items));
  }
  void set_items(PickleId dictionary, const std::vector<PickleId>& items) {
    if (items.size() % 2 != 0) refuse("a key without a value");
    for (const PickleId item : items) values_.append(dictionary, item);
  }

  void remember(std::uint64_t place) {
    if (stack_.size() <= floor()) refuse("the stack is empty");
    memo_.insert_or_assign(place, stack_.back());
  }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) refuse("nothing was remembered at {}", place);
    push(found->second);
  }

  void step(unsigned char code) {
    switch (code) {
      case 0x80: {  // PROTO
        const std::uint64_t protocol = number(1);
        if (protocol < 2 || protocol > 5) refuse("protocol {}; allowed: 2 to 5", protocol);
        return;
      }
      case 0x95:  // FRAME
        number(8);
        return;
      case 'N':
        return push(PlainValues::kNone);
      case 0x88:
        return push(values_.boolean(true));
      case 0x89:
        return push(values_.boolean(false));
      case 'K':
        return push(values_.integer(static_cast<std::int64_t>(number(1))));
      case 'M':
        return push(values_.integer(static_cast<std::int64_t>(number(2))));
      case 'J':
        return push(values_.integer(static_cast<std::int32_t>(number(4))));
      case 0x8a:
        return integer_of_bytes(number(1));
      case 0x8b:
        return integer_of_bytes(number(4));
      case 'G': {  // the only number whose first byte is the highest
        std::uint64_t bits = 0;
        for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
        return push(values_.real(std::bit_cast<double>(bits)));
      }
      case 0x8c:  // texts, and bytes as texts
      case 'C':
        return text(number(1));
      case 'X':
      case 'B':
        return text(number(4));
      case 0x8d:
      case 0x8e:
        return text(number(8));
      case '(':
        marks_.push_back(stack_.size());
        return;
      case ']':
        return push(values_.list());
      case 'a': {
        const PickleId item = pop();
        return values_.append(top(PlainValues::Kind::kList), item);
      }
      case 'e': {
        const std::vector<PickleId> items = pop_to_mark();
        const PickleId list = top(PlainValues::Kind::kList);
        for (const PickleId item : items) values_.append(list, item);
        return;
      }
      case ')':
        return tuple({});
      case 0x85:
        return tuple_of(1);
      case 0x86:
        return tuple_of(2);
      case 0x87:
        return tuple_of(3);
      case 'l':
      case 't':
        return tuple(pop_to_mark());
      case '}':
        return push(values_.dictionary());
      case 'd': {
        const std::vector<PickleId> items = pop_to_mark();
        push(values_.dictionary());
        return set_items(stack_.back(), items);
      }
      case 's': {
        const PickleId value = pop(), key = pop();
        return set_items(top(PlainValues::Kind::kDictionary), {key, value});
      }
      case 'u': {
        const std::vector<PickleId> items = pop_to_mark();
        return set_items(top(PlainValues::Kind::kDictionary), items);
      }
      case 'q':
        return remember(number(1));
      case 'r':
        return remember(number(4));
      case 0x94:
        return remember(memo_.size());
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      case '0':
        pop();
        return;
      case '1':
        pop_to_mark();
        return;
      default:
        break;
    }
    const char* name = refused_name(code);
    if (name != nullptr) {
      refuse("the instruction {} makes an object of a program, and nothing of a file is ever run", name);
    }
    refuse("the instruction {:#04x} is not one of plain values", code);
  }

  std::string_view bytes_;
  PlainValues& values_;
  std::size_t at_ = 0, start_ = 0;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleId> memo_;  // never iterated
};

}  // namespace

bool starts_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

PlainValues::Id read_pickle(std::string_view pickle, PlainValues& values) {
  return PickleReader(pickle, values).read();
}

}  // namespace uvmsim::trace
