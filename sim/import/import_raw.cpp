// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_raw.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "sim/common/error.h"
#include "sim/formats/json_fields.h"
#include "sim/import/address_map.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "uvm-raw-recording-1";
constexpr std::string_view kRawTool = "uvmsim trace import raw, conversion 1";

Dim3 raw_dimensions(JsonFields& fields, std::string_view key) {
  const auto& parts = json_array(fields.require(key), key, 3);
  std::uint32_t values[3];
  for (std::size_t i = 0; i < 3; ++i) values[i] = static_cast<std::uint32_t>(json_integer(parts[i], key, UINT32_MAX));
  return {values[0], values[1], values[2]};
}

class RawConversion final : public Conversion<ImportSummary> {
 public:
  RawConversion(Input input, std::string name, const ImportOptions& options)
      : input_(std::move(input)), lines_(input_), name_(std::move(name)), options_(options) {
    if (!std::has_single_bit(options.quantum_bytes) || options.quantum_bytes > 65536) {
      throw_input_error("quantum of {} bytes; allowed: a power of two from 1 to 65536", options.quantum_bytes);
    }
    std::string_view line;
    if (!next_line(line)) throw_input_error("{}: the file is empty; the first line must be a header", name_);
    lines_.with_place(name_, [&] { read_header(parse_json_line(line)); });
  }

 private:
  bool go_on() override {
    std::string_view line;
    if (next_line(line)) {
      lines_.with_place(name_, [&] { read(parse_json_line(line)); });
      return true;
    }
    if (!iteration_) return false;
    end_iteration();
    return true;
  }

  bool next_line(std::string_view& line) {
    return lines_.with_place(name_, [&] { return lines_.next(line); });
  }

  void read_header(const Json& object) {
    JsonFields fields(object, "header");
    if (fields.text("t") != "header" || fields.text("format") != kFormat) {
      throw_input_error("not a raw recording: the first line must be a header with \"format\":\"{}\"", kFormat);
    }
    header.quantum_bytes = options_.quantum_bytes;
    header.tool = kRawTool;
    header.gpu = fields.text("gpu");
    header.driver = fields.text("driver");
    header.program = fields.text("program");
    header.provenance = options_.provenance;
    page_bytes_ = fields.required_integer("page_bytes", kMaxQuantumBytes);
    if (!std::has_single_bit(page_bytes_) || page_bytes_ < options_.quantum_bytes) {
      throw_input_error("page_bytes is {}; allowed: a power of two from {} (the quantum) on", page_bytes_,
                        options_.quantum_bytes);
    }
    header.attributes = {
        {"cuda", fields.text("cuda")}, {"layout", fields.text("layout")}, {"page_bytes", std::to_string(page_bytes_)}};
    fields.finish();
  }

  void read(const Json& object) {
    JsonFields fields(object, "record");
    struct Type {
      std::string_view name;
      void (RawConversion::*read)(JsonFields& fields);
    };
    constexpr std::array kTypes = {Type{"alloc", &RawConversion::allocate},
                                   Type{"free", &RawConversion::release},
                                   Type{"copy", &RawConversion::copy},
                                   Type{"set", &RawConversion::set},
                                   Type{"iteration", &RawConversion::begin_iteration},
                                   Type{"kernel", &RawConversion::kernel}};
    const std::string& type = json_text(fields.require("t"), "'t'");
    std::vector<std::string_view> names;
    for (const auto& [name, read] : kTypes) {
      if (name == type) {
        (this->*read)(fields);
        return fields.finish();
      }
      names.push_back(name);
    }
    throw_input_error("unknown record type '{}'{}", printable(type), allowed_hint(type, names));
  }

  void allocate(JsonFields& fields) {
    const std::uint64_t address = fields.required_integer("addr", kMaxAddress);
    const std::uint64_t bytes = fields.required_integer("bytes", kMaxObjectBytes);
    if (address == 0 || address % options_.quantum_bytes != 0) {
      throw_input_error("alloc: address {} is 0 or no multiple of the quantum of {} bytes; choose a smaller quantum",
                        address, options_.quantum_bytes);
    }
    if (bytes == 0) throw_input_error("alloc of 0 bytes");
    if (!live_.overlapping(address, bytes).empty()) {
      throw_input_error("alloc of {} bytes at {} overlaps a live allocation", bytes, address);
    }
    const ObjectId id = ++summary.objects;
    live_.put(id, address, bytes);
    ready.emplace_back(ObjectAlloc{id, options_.kind, bytes, address, 0});
  }

  void release(JsonFields& fields) {
    const std::uint64_t address = fields.required_integer("addr");
    const ObjectId id = live_.remove(address).id;
    if (id == kNoObject) throw_input_error("free of address {}, where nothing is allocated", address);
    ready.emplace_back(ObjectFree{id});
  }

  // Returns object and offset of [address, address + bytes), which must lie in one live object.
  CopyEnd resolve(std::uint64_t address, std::uint64_t bytes) const {
    const auto [id, start, size] = live_.find(address);
    if (id == kNoObject || bytes > size - (address - start)) {
      throw_input_error("{} bytes at address {} do not lie in one live allocation", bytes, address);
    }
    return {id, address - start};
  }

  void copy(JsonFields& fields) {
    const std::string kind = json_text(fields.require("kind"), "copy: 'kind'");
    const std::uint64_t source = fields.required_integer("src");
    const std::uint64_t destination = fields.required_integer("dst");
    Memcpy out;
    out.bytes = fields.required_integer("bytes");
    // The names are in the order of CopyKind.
    constexpr std::array<std::string_view, 3> kKinds = {"htod", "dtoh", "dtod"};
    const auto found = std::ranges::find(kKinds, kind);
    if (found == kKinds.end()) throw_input_error("copy: unknown kind '{}'; allowed: htod, dtoh, dtod", printable(kind));
    out.kind = static_cast<CopyKind>(found - kKinds.begin());
    // Copies to and from the host are of pageable memory: the call returns when the data have moved.
    out.blocking = out.kind != CopyKind::kDeviceToDevice;
    if (out.kind != CopyKind::kHostToDevice) out.src = resolve(source, out.bytes);
    if (out.kind != CopyKind::kDeviceToHost) out.dst = resolve(destination, out.bytes);
    ready.emplace_back(out);
  }

  void set(JsonFields& fields) {
    Memset out;
    const std::uint64_t address = fields.required_integer("addr");
    out.bytes = fields.required_integer("bytes");
    const CopyEnd place = resolve(address, out.bytes);
    out.object = place.object;
    out.offset = place.offset;
    ready.emplace_back(out);
  }

  void begin_iteration(JsonFields& fields) {
    const std::uint64_t index = fields.required_integer("index");
    if (iteration_) end_iteration();
    iteration_ = index;
    ready.emplace_back(Range{RangeKind::kIterationBegin, "", index});
  }
  void end_iteration() {
    ready.emplace_back(Sync{});
    ready.emplace_back(Range{RangeKind::kIterationEnd, "", *iteration_});
    iteration_.reset();
  }

  void kernel(JsonFields& fields) {
    Kernel out;
    out.name = json_text(fields.require("name"), "kernel: 'name'");
    out.distribution = distribution_by_name(out.name);  // the recording has no phases
    out.grid = raw_dimensions(fields, "grid");
    out.block = raw_dimensions(fields, "block");
    out.duration_ns = static_cast<std::int64_t>(fields.required_integer("dur_ns", kMaxTimeNs));
    fields.required_integer("gap_ns", kMaxTimeNs);
    std::uint64_t previous_end = 0;
    for (const Json& item : json_array(fields.require("pages"), "'pages'")) {
      const auto& parts = json_array(item, "pages [page, count, mode]", 3);
      const std::uint64_t last_page = kMaxAddress / page_bytes_;
      const std::uint64_t first = json_integer(parts[0], "a page number", last_page);
      const std::uint64_t count = json_integer(parts[1], "a count of pages", last_page - first);
      if (count == 0 || first < previous_end) {
        throw_input_error("pages from {} on ({} of them) are empty or not above those before", first, count);
      }
      previous_end = first + count;
      add_pages(first, previous_end, parse_access_mode(parts[2]), out.accesses);
    }
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kInstrumented;
    ++summary.kernels;
    ready.emplace_back(std::move(out));
  }

  // Attributes the pages [first, end) to every live object that they overlap, clipped to it. Page runs are ascending,
  // so that only the last object can continue.
  void add_pages(std::uint64_t first, std::uint64_t end, AccessMode mode, std::vector<ObjectAccess>& accesses) {
    const std::uint64_t begin_address = first * page_bytes_, end_address = end * page_bytes_;
    std::uint64_t covered_to = first;  // pages below this one are in an object or counted as outside
    for (const auto& [id, start, bytes] : live_.overlapping(begin_address, end_address - begin_address)) {
      const std::uint64_t from = std::max(begin_address, start) - start;
      const std::uint64_t to = std::min(end_address, start + bytes) - start;
      if (accesses.empty() || accesses.back().object != id) accesses.push_back({id, {}});
      const std::uint64_t quantum = from / header.quantum_bytes;
      append_extent(accesses.back().extents.edit(),
                    {quantum, (to + header.quantum_bytes - 1) / header.quantum_bytes - quantum, mode});
      const std::uint64_t first_page = (start + from) / page_bytes_;
      summary.pages_outside += first_page > covered_to ? first_page - covered_to : 0;
      covered_to = (start + to + page_bytes_ - 1) / page_bytes_;
    }
    summary.pages_outside += end > covered_to ? end - covered_to : 0;
  }

  Input input_;
  LineReader lines_;
  std::string name_;
  ImportOptions options_;
  std::uint64_t page_bytes_ = 0;
  AddressMap live_;
  std::optional<std::uint64_t> iteration_;
};

}  // namespace

RawImporter::RawImporter(const std::string& path, const ImportOptions& options)
    : Importer(std::make_unique<RawConversion>(Input::from_file(path), path, options)) {}
RawImporter::RawImporter(std::string_view bytes, std::string name, const ImportOptions& options)
    : Importer(std::make_unique<RawConversion>(Input::from_memory(bytes), std::move(name), options)) {}

}  // namespace uvmsim::trace
