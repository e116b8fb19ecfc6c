// SPDX-License-Identifier: Apache-2.0
#include "tracer/maps/copy_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace uvmtrace {

namespace {

constexpr std::size_t kInstructionBytes = 16;
constexpr std::size_t kMostInstructions = std::size_t{1} << 20;

// Words of constant bank 0 that contain generic addresses within the bank: of the parameters, and of the bank's begin.
// nvcc uses the first, NVIDIA's libraries the second.
constexpr std::uint32_t kParameters = kParametersInConstantMemory;
constexpr std::uint32_t kWordOfParameters = 0x198;
constexpr std::uint32_t kWordOfBank = 0xc0;

struct Instruction {
  std::uint64_t low = 0, high = 0;
  std::uint32_t opcode() const { return low & 0xfff; }
  std::uint32_t target() const { return low >> 16 & 0xff; }  // register
  std::uint32_t a() const { return low >> 24 & 0xff; }
  std::uint32_t b() const { return low >> 32 & 0xff; }
  std::uint32_t c() const { return high & 0xff; }
  std::uint32_t immediate() const { return static_cast<std::uint32_t>(low >> 32); }
  bool always() const { return (low >> 12 & 0xf) == 7; }  // no predicate
  std::uint32_t constant() const { return static_cast<std::uint32_t>(low >> 40 & 0x3fff) * 4; }
  std::uint32_t bank() const { return static_cast<std::uint32_t>(low >> 54 & 0x1f); }
};

Instruction instruction(Code code, std::size_t index) {
  Instruction out;
  std::memcpy(&out.low, code.data() + index * kInstructionBytes, 8);
  std::memcpy(&out.high, code.data() + index * kInstructionBytes + 8, 8);
  return out;
}

std::optional<TensorCopy::Kind> kind_of(const Instruction& what) {
  const std::uint32_t form = what.opcode() >> 8;
  if (form != 3 && form != 5) return std::nullopt;
  switch (what.opcode() & 0xff) {
    case 0xb4:  // UTMALDG
    case 0xb8:  // UTMAPF
      return TensorCopy::Kind::kLoad;
    case 0xb5:  // UTMASTG
      return TensorCopy::Kind::kStore;
    case 0xb6:  // UTMAREDG
      return TensorCopy::Kind::kReduce;
    default:
      return std::nullopt;
  }
}

// A number, or an address given by its offset in constant bank 0. For an address the low half is followed, and the high
// half is assumed to accompany it.
struct Item {
  bool address = false;
  std::uint32_t number = 0;
  auto operator<=>(const Item&) const = default;
};

// The possible values of a register: the listed items, and if other(), any other value too. For an unknown register
// the list is empty and other() is true.
class Value {
 public:
  static constexpr std::size_t kMost = 4;

  static Value any() {
    Value out;
    out.other_ = true;
    return out;
  }
  static Value of(bool address, std::uint32_t number) {
    Value out;
    out.add({address, number});
    return out;
  }

  bool reached() const { return count_ != 0 || other_; }
  bool other() const { return other_; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + count_; }

  void add(const Item& item) {
    Item* const place = std::lower_bound(items_.data(), items_.data() + count_, item);
    if (place != end() && *place == item) return;
    if (full_) return;
    if (count_ == kMost) {
      *this = any();
      full_ = true;
      return;
    }
    std::move_backward(place, items_.data() + count_, items_.data() + count_ + 1);
    *place = item;
    ++count_;
  }
  void join(const Value& value) {
    if (value.full_) {
      *this = value;
      return;
    }
    other_ = other_ || value.other_;
    for (const Item& item : value) add(item);
  }
  bool operator==(const Value& value) const {
    return other_ == value.other_ && full_ == value.full_ && std::equal(begin(), end(), value.begin(), value.end());
  }

 private:
  std::array<Item, kMost> items_{};
  std::size_t count_ = 0;
  bool other_ = false;
  bool full_ = false;  // more values than fit were found; it stays full, or loops that count would never end
};

Value number(std::uint32_t value) { return Value::of(false, value); }

Value sum(const Value& a, const Value& b) {
  Value out;
  if (!a.reached() || !b.reached()) return out;
  if (a.other() || b.other()) out = Value::any();
  Value known;
  for (const Item& left : a) {
    for (const Item& right : b) {
      if (left.address && right.address) return Value::any();
      known.add({left.address || right.address, left.number + right.number});
    }
  }
  known.join(out);
  return known;
}

// Registers at one point of the code: 63 uniform ones and 255 of each thread; the last register of both kinds is always
// 0.
class Registers {
 public:
  static constexpr std::uint32_t kUniform = 63, kThread = 255;

  static Registers any() {
    Registers out;
    out.values_.fill(Value::any());
    return out;
  }

  Value uniform(std::uint32_t index) const { return index >= kUniform ? number(0) : values_[index]; }
  Value thread(std::uint32_t index) const { return index >= kThread ? number(0) : values_[kUniform + index]; }

  // Without `always` the register may also keep its previous value.
  void set_uniform(std::uint32_t index, const Value& value, bool always) {
    if (index < kUniform) set(index, value, always);
  }
  void set_thread(std::uint32_t index, const Value& value, bool always) {
    if (index < kThread) set(kUniform + index, value, always);
  }

  // Adds the values from another path to this point; returns true if that changed anything.
  bool join(const Registers& other) {
    bool changed = false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == other.values_[i]) continue;
      Value joined = values_[i];
      joined.join(other.values_[i]);
      changed = changed || !(joined == values_[i]);
      values_[i] = joined;
    }
    return changed;
  }

 private:
  void set(std::size_t index, Value value, bool always) {
    if (!always) value.join(values_[index]);
    values_[index] = value;
  }

  std::array<Value, kUniform + kThread> values_{};
};

// A word of constant bank 0.
Value loaded(const Instruction& what) {
  if (what.bank() == 0 && what.constant() == kWordOfParameters) return Value::of(true, kParameters);
  if (what.bank() == 0 && what.constant() == kWordOfBank) return Value::of(true, 0);
  return Value::any();
}

// The registers that an unfollowed instruction may write, from its target on.
struct Writes {
  std::uint32_t uniform = 0, thread = 0;
};
Writes writes(std::uint32_t opcode) {
  const std::uint32_t low = opcode & 0xff, form = opcode >> 8;
  if (low >= 0xf0) return {0, 128};  // matrix products: accumulators
  if (low < 0x80) {
    // One register: MOV, VOTE, SEL, FSEL, FMNMX, IADD3, LEA, LOP3, IABS, PRMT, IMNMX, SHF and S2R, FMUL, FADD, FFMA,
    // IMAD, HFMA2, VIADD. None: FSETP, ISETP, PLOP3. Four: LDSM and small matrix products.
    constexpr std::string_view kOne = "\x02\x06\x07\x08\x09\x10\x11\x12\x13\x16\x17\x19\x20\x21\x23\x24\x31\x36";
    constexpr std::string_view kNone = "\x0b\x0c\x1c", kFour = "\x37\x3b\x3c\x3f";
    const auto in = [&](std::string_view list) { return list.find(static_cast<char>(low)) != std::string_view::npos; };
    return {0, in(kOne) ? 1U : in(kNone) ? 0U : in(kFour) ? 4U : 2U};
  }
  if (form == 9 && low <= 0x8f) {
    const bool stores = low == 0x86 || low == 0x87 || low == 0x88 || low == 0x8e || low == 0x8f;
    return {0, stores ? 0U : 4U};
  }
  if (low == 0x8c || low == 0x9c) return {0, 0};                               // UISETP, UPLOP3: predicates
  if (low == 0xa5) return {2, 0};                                              // UIMAD.WIDE
  if (opcode == 0x9c3) return {1, 0};                                          // S2UR
  if (low == 0x87 || low == 0x90 || low == 0x91 || low == 0x92 || low == 0x96  // USEL, UIADD3, ULEA, ULOP3, UPRMT,
      || low == 0x99 || low == 0xa4) {                                         // USHF, UIMAD
    return {1, 0};
  }
  return {2, 4};
}

// Negation and carry-in change the result of an addition.
bool is_plain_sum(const Instruction& what) {
  const bool negated_a = (what.high >> 8 & 1) != 0, negated_b = what.opcode() >> 8 == 2 && (what.low >> 63 & 1) != 0,
             negated_c = (what.high >> 11 & 1) != 0;
  const bool extended = (what.high >> 10 & 1) != 0;  // .X: computes the high half
  return !negated_a && !negated_b && !negated_c && !extended;
}

Value joined(Value a, const Value& b) {
  a.join(b);
  return a;
}

// The result of an instruction if it is followed: register and value; both empty if it is not.
struct Followed {
  enum class File : std::uint8_t { kNone, kUniform, kThread } file = File::kNone;
  Value value;
  bool wide = false;  // the next register receives the high half
};

Followed followed(const Instruction& what, const Registers& registers) {
  constexpr auto kUniform = Followed::File::kUniform, kThread = Followed::File::kThread;
  const auto uniform_sum = [&](const Value& b) {
    return is_plain_sum(what) ? sum(sum(registers.uniform(what.a()), b), registers.uniform(what.c())) : Value::any();
  };
  const auto thread_sum = [&](const Value& b) {
    return is_plain_sum(what) ? sum(sum(registers.thread(what.a()), b), registers.thread(what.c())) : Value::any();
  };
  const bool two_words = (what.high >> 9 & 7) == 5;  // of a load
  switch (what.opcode()) {
    case 0xab9:  // ULDC
      return {kUniform, loaded(what), two_words};
    case 0xb82:  // LDC
      return {kThread, what.a() == 0xff ? loaded(what) : Value::any(), two_words};
    case 0x890:  // UIADD3, UIADD3.64; immediate and register
    case 0x897:
      return {kUniform, uniform_sum(number(what.immediate())), what.opcode() == 0x897};
    case 0x290:
    case 0x297:
      return {kUniform, uniform_sum(registers.uniform(what.b())), what.opcode() == 0x297};
    case 0x810:  // IADD3
      return {kThread, thread_sum(number(what.immediate())), false};
    case 0x210:
      return {kThread, thread_sum(registers.thread(what.b())), false};
    case 0x836:  // VIADD
      return {kThread, sum(registers.thread(what.a()), number(what.immediate())), false};
    case 0x882:  // UMOV
      return {kUniform, number(what.immediate()), false};
    case 0xc82:
      return {kUniform, registers.uniform(what.b()), false};
    case 0x802:  // MOV; of a register, of a uniform one
      return {kThread, number(what.immediate()), false};
    case 0x202:
      return {kThread, registers.thread(what.b()), false};
    case 0xc02:
      return {kThread, registers.uniform(what.b()), false};
    case 0x224:  // IMAD, as a move: 0 times something and the value
      return {kThread, what.a() == 0xff ? registers.thread(what.c()) : Value::any(), false};
    case 0x424:
      return {kThread, what.a() == 0xff || what.c() == 0xff ? number(what.immediate()) : Value::any(), false};
    case 0xe24:
      return {kThread, what.a() == 0xff || what.c() == 0xff ? registers.uniform(what.b()) : Value::any(), false};
    case 0x2ca:  // R2UR
      return {kUniform, registers.thread(what.a()), false};
    case 0x887:  // USEL
      return {kUniform, joined(registers.uniform(what.a()), number(what.immediate())), false};
    case 0x287:
      return {kUniform, joined(registers.uniform(what.a()), registers.uniform(what.b())), false};
    case 0x807:  // SEL
      return {kThread, joined(registers.thread(what.a()), number(what.immediate())), false};
    case 0x207:
      return {kThread, joined(registers.thread(what.a()), registers.thread(what.b())), false};
    default:
      return {};
  }
}

void step(const Instruction& what, Registers& registers) {
  if (kind_of(what)) return;
  const bool always = what.always();
  const std::uint32_t target = what.target();
  const Followed known = followed(what, registers);
  if (known.file == Followed::File::kUniform) {
    registers.set_uniform(target, known.value, always);
    if (known.wide) registers.set_uniform(target + 1, Value::any(), always);
    return;
  }
  if (known.file == Followed::File::kThread) {
    registers.set_thread(target, known.value, always);
    if (known.wide) registers.set_thread(target + 1, Value::any(), always);
    return;
  }
  const Writes changed = writes(what.opcode());
  for (std::uint32_t i = 0; i < changed.uniform; ++i) registers.set_uniform(target + i, Value::any(), always);
  for (std::uint32_t i = 0; i < changed.thread; ++i) registers.set_thread(target + i, Value::any(), always);
}

// The continuation of the code after an instruction.
struct Flow {
  enum class Kind : std::uint8_t { kOn, kBranch, kEither, kEnd, kCall, kJoin, kUnknown } kind = Kind::kOn;
  std::int64_t distance = 0;  // in instructions, from the next one
};

Flow flow_of(const Instruction& what) {
  const auto wide = static_cast<std::int64_t>((what.high & 0x3ffff) << 46 | (what.low >> 34) << 16) >> 16;  // signed
  const std::int64_t near = wide * 4 / static_cast<std::int64_t>(kInstructionBytes);
  const std::int64_t far = (wide * 256 + static_cast<std::int64_t>(what.low >> 16 & 0xff)) * 4 /
                           static_cast<std::int64_t>(kInstructionBytes);
  switch (what.opcode()) {
    case 0x947:  // BRA
    case 0x547:  // BRA by a uniform predicate
      return {Flow::Kind::kBranch, far};
    case 0x348:  // WARPSYNC.COLLECTIVE: continues at its target or after it
      return {Flow::Kind::kEither, far};
    case 0x944:  // CALL.REL
      return {Flow::Kind::kCall, far};
    case 0x945:  // BSSY: the target is where BSYNC continues
      return {Flow::Kind::kJoin, near};
    case 0x94d:  // EXIT
    case 0x950:  // RET: the code after the call is known
      return {Flow::Kind::kEnd, 0};
    case 0x349:  // BRX, JMP and other jumps to a computed target
    case 0x949:
    case 0x94a:
    case 0x94c:
    case 0x34a:
    case 0x34c:
    case 0x943:
    case 0x343:
    case 0x344:
    case 0x345:
      return {Flow::Kind::kUnknown, 0};
    default:
      return {};
  }
}

// Returns whether no thread continues after a branch or an end. In addition to the predicate of all instructions, these
// have a second one.
bool leaves(const Instruction& what) { return what.always() && what.opcode() != 0x547 && (what.high >> 23 & 0xf) == 7; }

// BRA.U.ANY: the threads of a warp whose maps differ execute one after the other, each thread once.
bool takes_turns(const Instruction& what) { return what.opcode() == 0x947 && (what.low >> 32 & 1) != 0; }

class Analysis {
 public:
  explicit Analysis(Code code) : code_(code), count_(std::min(code.size() / kInstructionBytes, kMostInstructions)) {}

  std::vector<TensorCopy> run() {
    find_blocks();
    if (known_) follow();
    std::vector<TensorCopy> out;
    for (const auto& [begin, block] : blocks_) {
      Registers registers = known_ ? block.before : Registers::any();
      for (std::size_t i = begin; i < block.end; ++i) {
        const Instruction what = instruction(code_, i);
        if (const auto kind = kind_of(what)) {
          out.push_back(copy(*kind, registers.uniform(what.a()), !known_ || in_loop(begin)));
        }
        step(what, registers);
      }
    }
    return out;
  }

 private:
  struct Block {
    std::size_t end = 0;
    std::vector<std::size_t> next;  // first instructions of blocks
    bool called = false;            // its last instruction is a call, after which nothing is known
    bool turns = false;
    Registers before;
  };

  static TensorCopy copy(TensorCopy::Kind kind, const Value& map, bool repeated) {
    TensorCopy out{kind, {}, !map.other(), repeated};
    for (const Item& item : map) {
      if (item.address && item.number >= kParameters) {
        out.offsets.push_back(item.number - kParameters);
      } else {
        out.sure = false;
      }
    }
    return out;
  }

  std::optional<std::size_t> place(std::size_t from, std::int64_t distance) const {
    const std::int64_t to = static_cast<std::int64_t>(from) + 1 + distance;
    if (to < 0 || to >= static_cast<std::int64_t>(count_)) return std::nullopt;
    return static_cast<std::size_t>(to);
  }

  void find_blocks() {
    std::set<std::size_t> begins{0};
    std::vector<std::size_t> joins;
    for (std::size_t i = 0; i < count_; ++i) {
      const Flow flow = flow_of(instruction(code_, i));
      if (flow.kind == Flow::Kind::kUnknown) known_ = false;
      if (flow.kind == Flow::Kind::kOn && instruction(code_, i).opcode() != 0x941) continue;
      begins.insert(i + 1);
      if (flow.kind == Flow::Kind::kOn || flow.kind == Flow::Kind::kEnd) continue;
      if (const auto to = place(i, flow.distance)) {
        begins.insert(*to);
        if (flow.kind == Flow::Kind::kJoin) joins.push_back(*to);
      } else {
        known_ = false;
      }
    }
    for (auto begin = begins.begin(); begin != begins.end() && *begin < count_; ++begin) {
      const auto after = std::next(begin);
      Block block;
      block.end = after == begins.end() ? count_ : std::min(*after, count_);
      const Instruction last = instruction(code_, block.end - 1);
      const Flow flow = flow_of(last);
      const bool ends = flow.kind == Flow::Kind::kEnd || flow.kind == Flow::Kind::kBranch;
      const bool goes_on = !ends || !leaves(last) || takes_turns(last);
      if (goes_on && block.end < count_) block.next.push_back(block.end);
      if (flow.kind == Flow::Kind::kBranch || flow.kind == Flow::Kind::kEither || flow.kind == Flow::Kind::kCall) {
        if (const auto to = place(block.end - 1, flow.distance)) block.next.push_back(*to);
      }
      if (last.opcode() == 0x941) block.next.insert(block.next.end(), joins.begin(), joins.end());
      block.called = flow.kind == Flow::Kind::kCall;
      block.turns = takes_turns(last);
      blocks_.emplace(*begin, std::move(block));
    }
  }

  void follow() {
    if (blocks_.empty()) return;
    blocks_.begin()->second.before = Registers::any();
    std::set<std::size_t> open{0};
    while (!open.empty()) {
      const std::size_t begin = *open.begin();
      open.erase(open.begin());
      const Block& block = blocks_.at(begin);
      Registers after = block.before;
      for (std::size_t i = begin; i < block.end; ++i) step(instruction(code_, i), after);
      for (const std::size_t next : block.next) {
        const bool returned = block.called && next == block.end;
        if (blocks_.at(next).before.join(returned ? Registers::any() : after)) open.insert(next);
      }
    }
  }

  // Returns whether a thread can get from the block's end to its begin again.
  bool in_loop(std::size_t begin) const {
    std::set<std::size_t> seen;
    std::vector<std::size_t> open{begin};
    while (!open.empty()) {
      const Block& block = blocks_.at(open.back());
      open.pop_back();
      for (const std::size_t next : block.next) {
        if (block.turns && next != block.end) continue;
        if (next == begin) return true;
        if (seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }

  Code code_;
  std::size_t count_ = 0;
  bool known_ = true;  // the target of every jump is known
  std::map<std::size_t, Block> blocks_;
};

}  // namespace

bool has_tensor_copies(Code code) {
  for (std::size_t i = 0; i < code.size() / kInstructionBytes; ++i) {
    if (kind_of(instruction(code, i))) return true;
  }
  return false;
}

std::vector<TensorCopy> tensor_copies(Code code) { return Analysis(code).run(); }

}  // namespace uvmtrace
