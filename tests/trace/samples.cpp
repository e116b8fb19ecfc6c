// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/samples.h"

#include <algorithm>
#include <tuple>

#include "sim/trace/input.h"
#include "sim/trace/reader.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {
namespace {

auto fields(const Extent& e) { return std::tie(e.first, e.count, e.mode); }
auto fields(const Touch& t) { return std::tie(t.slot, t.quantum, t.mode); }
auto fields(const FirstTouch& t) { return std::tie(t.slot, t.unit); }
auto fields(const UnitCount& c) { return std::tie(c.slot, c.unit, c.count); }
auto fields(const Dim3& d) { return std::tie(d.x, d.y, d.z); }

template <class Item>
bool equal(const Item& a, const Item& b) {
  return fields(a) == fields(b);
}
template <class Item>
bool equal(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) { return equal(x, y); });
}
bool equal(const ObjectAccess& a, const ObjectAccess& b) {
  return a.object == b.object && equal<Extent>(a.extents, b.extents);
}
bool equal(const PhaseAccess& a, const PhaseAccess& b) { return a.slot == b.slot && equal(a.extents, b.extents); }
bool equal(const Phase& a, const Phase& b) {
  return std::tie(a.first_block, a.block_count) == std::tie(b.first_block, b.block_count) &&
         std::equal(a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(),
                    [](const PhaseAccess& x, const PhaseAccess& y) { return equal(x, y); });
}

struct Same {
  bool operator()(const ObjectAlloc& a, const ObjectAlloc& b) const {
    return std::tie(a.id, a.kind, a.bytes, a.va, a.device) == std::tie(b.id, b.kind, b.bytes, b.va, b.device);
  }
  bool operator()(const ObjectFree& a, const ObjectFree& b) const { return a.id == b.id; }
  bool operator()(const TensorAlloc& a, const TensorAlloc& b) const {
    return std::tie(a.id, a.bytes, a.stream, a.object, a.offset, a.name) ==
           std::tie(b.id, b.bytes, b.stream, b.object, b.offset, b.name);
  }
  bool operator()(const TensorFree& a, const TensorFree& b) const { return a.id == b.id; }
  bool operator()(const Kernel& a, const Kernel& b) const {
    const auto plain = [](const Kernel& k) {
      return std::tie(k.name, k.stream, k.device, k.registers_per_thread, k.shared_bytes_per_block, k.host_gap_ns,
                      k.duration_ns, k.distribution, k.bytes_per_thread_access, k.coverage, k.unknown_accesses);
    };
    return plain(a) == plain(b) && equal(a.grid, b.grid) && equal(a.block, b.block) && equal(a.touches, b.touches) &&
           equal(a.order, b.order) && equal(a.counts, b.counts) &&
           std::equal(a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(),
                      [](const ObjectAccess& x, const ObjectAccess& y) { return equal(x, y); }) &&
           std::equal(a.phases.begin(), a.phases.end(), b.phases.begin(), b.phases.end(),
                      [](const Phase& x, const Phase& y) { return equal(x, y); });
  }
  bool operator()(const Memcpy& a, const Memcpy& b) const {
    const auto plain = [](const Memcpy& c) {
      return std::tie(c.dst.object, c.dst.offset, c.src.object, c.src.offset, c.bytes, c.kind, c.stream, c.blocking,
                      c.host_gap_ns);
    };
    return plain(a) == plain(b);
  }
  bool operator()(const Memset& a, const Memset& b) const {
    return std::tie(a.object, a.offset, a.bytes, a.stream, a.host_gap_ns, a.blocking) ==
           std::tie(b.object, b.offset, b.bytes, b.stream, b.host_gap_ns, b.blocking);
  }
  bool operator()(const Prefetch& a, const Prefetch& b) const {
    return std::tie(a.object, a.offset, a.bytes, a.destination, a.stream, a.host_gap_ns) ==
           std::tie(b.object, b.offset, b.bytes, b.destination, b.stream, b.host_gap_ns);
  }
  bool operator()(const Advise& a, const Advise& b) const {
    return std::tie(a.object, a.offset, a.bytes, a.advice, a.device) ==
           std::tie(b.object, b.offset, b.bytes, b.advice, b.device);
  }
  bool operator()(const Discard& a, const Discard& b) const {
    return std::tie(a.object, a.offset, a.bytes, a.stream) == std::tie(b.object, b.offset, b.bytes, b.stream);
  }
  bool operator()(const Sync& a, const Sync& b) const {
    return std::tie(a.kind, a.stream, a.event, a.host_gap_ns) == std::tie(b.kind, b.stream, b.event, b.host_gap_ns);
  }
  bool operator()(const HostAccess& a, const HostAccess& b) const {
    return a.object == b.object && equal<Extent>(a.extents, b.extents) && a.touches == b.touches &&
           a.host_gap_ns == b.host_gap_ns;
  }
  bool operator()(const Range& a, const Range& b) const {
    return std::tie(a.kind, a.name, a.index) == std::tie(b.kind, b.name, b.index);
  }
  bool operator()(const UvmCounter& a, const UvmCounter& b) const {
    return std::tie(a.kind, a.object, a.offset, a.value, a.start_ns, a.end_ns, a.flags) ==
           std::tie(b.kind, b.object, b.offset, b.value, b.start_ns, b.end_ns, b.flags);
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

AccessMode random_mode(Random& random) { return static_cast<AccessMode>(1 + random.below(3)); }

// Returns a small number most of the time, and sometimes any up to `max`.
std::uint64_t random_number(Random& random, std::uint64_t max) {
  return random.below(4) != 0 ? random.below(std::min<std::uint64_t>(max, 100) + 1) : random.below(max) + 1;
}
std::uint32_t random_u32(Random& random) { return static_cast<std::uint32_t>(random_number(random, UINT32_MAX)); }
std::int64_t random_time(Random& random) {
  return static_cast<std::int64_t>(random_number(random, std::uint64_t{1} << 61));
}
std::int32_t random_device(Random& random, int min) { return static_cast<std::int32_t>(random.below(9)) + min; }
template <class Enum>
Enum random_enum(Random& random, std::uint64_t values) {
  return static_cast<Enum>(random.below(values));
}

std::string random_name(Random& random) {
  static constexpr std::string_view kNames[] = {
      "",       "gemm", "void at::native::elementwise<4, \"x\">(int, λ)",         "tab\tnewline\nquote\"backslash\\",
      "🙂 x", "gemm", "a name of some length, to be told apart from the others"};
  return std::string(kNames[random.below(std::size(kNames))]);
}

std::vector<Extent> random_extents(Random& random) {
  std::vector<Extent> out;
  std::uint64_t end = 0;
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const std::uint64_t first = end + random_number(random, std::uint64_t{1} << 50);
    const std::uint64_t count = 1 + random_number(random, std::uint64_t{1} << 50);
    out.push_back({first, count, random_mode(random)});
    end = first + count;
  }
  return out;
}

Kernel random_kernel(Random& random) {
  Kernel kernel;
  kernel.name = random_name(random);
  kernel.stream = random_u32(random);
  kernel.device = random_device(random, 0);
  kernel.grid = {1 + random_u32(random) / 2, 1 + random_u32(random) / 2, 1 + random_u32(random) / 2};
  kernel.block = {1 + random_u32(random) / 2, 1, 1 + random_u32(random) / 2};
  kernel.registers_per_thread = random_u32(random);
  kernel.shared_bytes_per_block = random_u32(random);
  kernel.host_gap_ns = random_time(random);
  kernel.duration_ns = random_time(random);
  kernel.distribution = random_enum<Distribution>(random, 4);
  kernel.bytes_per_thread_access = random_u32(random);
  kernel.coverage = random_enum<Coverage>(random, 6);
  for (std::uint64_t n = random.below(5); n > 0; --n) {
    kernel.accesses.push_back({random_number(random, UINT64_MAX - 1), random_extents(random)});
  }
  const std::uint64_t slots = kernel.accesses.size();
  const auto slot = [&] { return static_cast<std::uint32_t>(random.below(slots)); };
  for (std::uint64_t n = slots == 0 ? 0 : random.below(8); n > 0; --n) {
    kernel.touches.push_back({slot(), random_number(random, (std::uint64_t{1} << 60) - 2), random_mode(random)});
  }
  for (std::uint64_t n = random.below(3); n > 0; --n) {
    Phase& phase = kernel.phases.edit().emplace_back();
    phase.first_block = random_number(random, UINT64_MAX - 1);
    phase.block_count = random_number(random, UINT64_MAX - 1);
    for (std::uint64_t m = slots == 0 ? 0 : random.below(3); m > 0; --m) {
      phase.accesses.push_back({slot(), random_extents(random)});
    }
  }
  kernel.unknown_accesses = random_number(random, UINT64_MAX - 1);
  for (std::uint64_t n = slots == 0 ? 0 : random.below(8); n > 0; --n) {
    kernel.order.push_back({slot(), random_number(random, std::uint64_t{1} << 30)});
  }
  for (std::uint32_t i = 0; i < slots; ++i) {
    std::uint64_t unit = 0;
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      unit += random_number(random, 1000) + 1;
      kernel.counts.push_back({i, unit - 1, random_u32(random)});
    }
  }
  return kernel;
}

}  // namespace

bool same(const Header& a, const Header& b) {
  return std::tie(a.major, a.minor, a.quantum_bytes, a.tool, a.gpu, a.driver, a.program, a.provenance, a.attributes) ==
         std::tie(b.major, b.minor, b.quantum_bytes, b.tool, b.gpu, b.driver, b.program, b.provenance, b.attributes);
}
bool same(const Record& a, const Record& b) { return std::visit(Same{}, a, b); }

Header sample_header() {
  Header header;
  header.minor = 7;
  header.quantum_bytes = 4096;
  header.tool = "a tool 1.2";
  header.gpu = "a GPU";
  header.driver = "580.1";
  header.program = "a \"program\"";
  header.provenance = "made up\nin two lines";
  header.attributes = {{"b", "1"}, {"a", ""}, {"b", "2"}};
  return header;
}

std::vector<Record> sample_records() {
  constexpr auto kR = AccessMode::kRead, kW = AccessMode::kWrite, kRw = AccessMode::kReadWrite;
  Kernel kernel;
  kernel.name = "gemm<float>";
  kernel.stream = 3;
  kernel.device = 1;
  kernel.grid = {7, 5, 2};
  kernel.block = {128, 2, 1};
  kernel.registers_per_thread = 96;
  kernel.shared_bytes_per_block = 49152;
  kernel.host_gap_ns = 1500;
  kernel.duration_ns = 123456;
  kernel.distribution = Distribution::kGridStride;
  kernel.bytes_per_thread_access = 16;
  kernel.coverage = Coverage::kOperatorSchema;
  kernel.accesses = {{2, {{0, 4, kR}, {4, 4, kRw}, {100, 1, kW}}}, {9, {{5, 3, kW}}}};
  kernel.touches = {{0, 3, kR}, {1, 7, kW}, {0, 100, kW}, {0, 4, kRw}, {1, 5, kW}};
  kernel.phases = {{0, 35, {{0, {{0, 4, kR}}}, {1, {{5, 1, kW}, {7, 1, kW}}}}}, {35, 35, {{1, {{6, 1, kW}}}}}};
  kernel.unknown_accesses = 12;
  kernel.order = {{0, 3}, {1, 1}, {0, 0}};
  kernel.counts = {{0, 0, 9}, {0, 3, 4294967295}, {1, 1, 7}};

  std::vector<Record> records = {ObjectAlloc{1, ObjectKind::kManaged, 8192, 0x7f0000000000, 0},
                                 ObjectAlloc{2, ObjectKind::kDevice, 1, 0, 3},
                                 ObjectAlloc{3, ObjectKind::kPinned, std::uint64_t{1} << 40, 0x200000, -1},
                                 ObjectAlloc{4, ObjectKind::kHost, 77, 0, -1},
                                 TensorAlloc{5, 512, 2, 1, 4096, "weights"},
                                 kernel,
                                 Kernel{},
                                 Memcpy{{1, 16}, {2, 0}, 4096, CopyKind::kDeviceToDevice, 4, false, 99},
                                 Memset{1, 4, 8, 1, 12, true},
                                 Prefetch{1, 4096, 4096, -1, 6, 13},
                                 Discard{1, 0, 4096, 9},
                                 HostAccess{1, {{0, 1, kW}, {1, 1, kR}}, {{1, kR}, {0, kW}}, 55},
                                 UvmCounter{"gpu_fault", 1, 4096, 3, -5, 1000000, 2},
                                 TensorFree{5},
                                 ObjectFree{1}};
  for (int i = 0; i < 5; ++i) {
    records.emplace_back(Memcpy{{}, {1, 0}, 1, static_cast<CopyKind>(i), 0, true, 0});
    records.emplace_back(Sync{static_cast<SyncKind>(i), 8, 21, 34});
    Kernel covered;
    covered.coverage = static_cast<Coverage>(i);
    covered.distribution = static_cast<Distribution>(i % 4);
    records.emplace_back(covered);
  }
  for (int i = 0; i < 6; ++i) records.emplace_back(Advise{1, 64, 128, static_cast<Advice>(i), i - 1});
  for (int i = 0; i < 4; ++i) {
    records.emplace_back(Range{static_cast<RangeKind>(i), i % 2 == 0 ? "layer" : "", static_cast<std::uint64_t>(i)});
  }
  // This kernel needs minor version 2.
  Kernel by_maps;
  by_maps.coverage = Coverage::kTensorMaps;
  records.emplace_back(by_maps);
  // This record needs minor version 4.
  records.emplace_back(ObjectAlloc{6, ObjectKind::kSystem, 12345, 0, -1});
  return records;
}

Record random_record(Random& random) {
  const auto any = [&] { return random_number(random, UINT64_MAX - 1); };
  switch (random.below(14)) {
    case 0:
      return ObjectAlloc{any(), random_enum<ObjectKind>(random, 5), any(), any(), random_device(random, -1)};
    case 1:
      return ObjectFree{any()};
    case 2:
      return TensorAlloc{any(), any(), random_u32(random), any(), any(), random_name(random)};
    case 3:
      return TensorFree{any()};
    case 4:
      return Memcpy{
          {any(), any()},       {any(), any()},     any(), random_enum<CopyKind>(random, 5), random_u32(random),
          random.below(2) == 1, random_time(random)};
    case 5:
      return Memset{any(), any(), any(), random_u32(random), random_time(random), random.below(2) == 1};
    case 6:
      return Prefetch{any(), any(), any(), random_device(random, -1), random_u32(random), random_time(random)};
    case 7:
      return Advise{any(), any(), any(), random_enum<Advice>(random, 6), random_device(random, -1)};
    case 8:
      return Discard{any(), any(), any(), random_u32(random)};
    case 9:
      return Sync{random_enum<SyncKind>(random, 5), random_u32(random), any(), random_time(random)};
    case 10: {
      HostAccess access{any(), random_extents(random), {}, random_time(random)};
      for (std::uint64_t n = random.below(5); n > 0; --n) {
        access.touches.emplace_back(random_number(random, (std::uint64_t{1} << 60) - 2), random_mode(random));
      }
      return access;
    }
    case 11:
      return Range{random_enum<RangeKind>(random, 4), random_name(random), any()};
    case 12:
      return UvmCounter{random_name(random), any(), any(), any(), random_time(random), -random_time(random),
                        random_u32(random)};
    default:
      return random_kernel(random);
  }
}

std::string encode(const Trace& trace, TraceFormat format) {
  std::string out;
  TraceWriter writer(out, format, trace.header);
  for (const Record& record : trace.records) writer.write(record);
  writer.finish();
  return out;
}

Trace decode(std::string_view bytes, bool partial) {
  TraceReader reader(bytes, "t", {partial});
  Trace out{reader.header(), {}};
  Record record;
  while (reader.next(record)) out.records.push_back(record);
  return out;
}

std::string decompress(std::string_view bytes) {
  Input input = Input::from_memory(bytes);
  ZstdDecoder decoder(input);
  std::string out;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    const auto piece = decoder.read(buffer);
    out.append(buffer, 0, piece.bytes);
    if (piece.input_ended) return out;
  }
}

std::string compress(std::string_view content) {
  std::string out;
  ZstdEncoder(3).compress(content, out);
  return out;
}

}  // namespace uvmsim::trace
