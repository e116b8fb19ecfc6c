#include <fmt/format.h>

#include "sim/common/error.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

void append_text(std::string_view text, std::string& out) {
  if (!is_utf8(text)) {
    throw_input_error("'{}' is not UTF-8", printable(text));
  }
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// Writes the members of one object. Names say whether a value may be left out.
class ObjectWriter {
 public:
  ObjectWriter(std::string& out, std::string_view type) : out_(out) {
    fmt::format_to(std::back_inserter(out_), "{{\"t\":\"{}\"", type);
  }
  ~ObjectWriter() { out_ += "}\n"; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  template <class Integer>
  void always(std::string_view key, Integer value) {
    fmt::format_to(std::back_inserter(out_), ",\"{}\":{}", key, value);
  }
  template <class Integer>
  void unless(Integer usual, std::string_view key, Integer value) {
    if (value != usual) {
      always(key, value);
    }
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_text(value, out_);
  }
  void text_unless_empty(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      text(key, value);
    }
  }
  template <class Enum, std::size_t N>
  void name(std::string_view key, Enum value, const std::array<std::string_view, N>& names) {
    text(key, names.at(static_cast<std::size_t>(value)));
  }
  template <class Enum, std::size_t N>
  void name_unless_first(std::string_view key, Enum value, const std::array<std::string_view, N>& names) {
    if (static_cast<std::size_t>(value) != 0) {
      name(key, value, names);
    }
  }
  void dimensions(std::string_view key, const Dim3& d) {
    fmt::format_to(std::back_inserter(out_), ",\"{}\":[{},{},{}]", key, d.x, d.y, d.z);
  }
  void place(std::string_view key, const CopyEnd& end) {
    if (end.object == kNoObject && end.offset == 0) {
      return;
    }
    fmt::format_to(std::back_inserter(out_), ",\"{}\":[{},{}]", key, end.object, end.offset);
  }
  void begin(std::string_view key) { fmt::format_to(std::back_inserter(out_), ",\"{}\":", key); }

  void extents(const std::vector<Extent>& extents) {
    list(extents, [this](const Extent& extent) {
      fmt::format_to(std::back_inserter(out_), "[{},{},\"{}\"]", extent.first, extent.count, mode_name(extent.mode));
    });
  }
  template <class Items, class Append>
  void list(const Items& items, Append append) {
    out_ += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) {
        out_ += ',';
      }
      first = false;
      append(item);
    }
    out_ += ']';
  }
  static std::string_view mode_name(AccessMode mode) { return kAccessModeNames.at(static_cast<std::size_t>(mode)); }
  std::string& out() { return out_; }

 private:
  std::string& out_;
};

void append_touches(ObjectWriter& json, const Kernel& kernel) {
  json.begin("touches");
  json.list(kernel.touches, [&json](const Touch& touch) {
    fmt::format_to(std::back_inserter(json.out()), "[{},{},\"{}\"]", touch.slot, touch.quantum,
                   ObjectWriter::mode_name(touch.mode));
  });
}

void append_order(ObjectWriter& json, const Kernel& kernel) {
  json.begin("order");
  json.list(kernel.order, [&json](const FirstTouch& touch) {
    fmt::format_to(std::back_inserter(json.out()), "[{},{}]", touch.slot, touch.unit);
  });
}

void append_counts(ObjectWriter& json, const Kernel& kernel) {
  json.begin("counts");
  json.list(kernel.counts, [&json](const UnitCount& item) {
    fmt::format_to(std::back_inserter(json.out()), "[{},{},{}]", item.slot, item.unit, item.count);
  });
}

void append_phases(ObjectWriter& json, const Kernel& kernel) {
  json.begin("phases");
  json.list(kernel.phases, [&json](const Phase& phase) {
    fmt::format_to(std::back_inserter(json.out()), "[{},{},", phase.first_block, phase.block_count);
    json.list(phase.accesses, [&json](const PhaseAccess& access) {
      fmt::format_to(std::back_inserter(json.out()), "[{},", access.slot);
      json.extents(access.extents);
      json.out() += ']';
    });
    json.out() += ']';
  });
}

void write(ObjectWriter& json, const ObjectAlloc& object) {
  json.always("id", object.id);
  json.name_unless_first("kind", object.kind, kObjectKindNames);
  json.always("bytes", object.bytes);
  json.unless(std::uint64_t{0}, "va", object.va);
  json.unless(0, "device", object.device);
}
void write(ObjectWriter& json, const ObjectFree& object) { json.always("id", object.id); }
void write(ObjectWriter& json, const TensorAlloc& tensor) {
  json.always("id", tensor.id);
  json.always("bytes", tensor.bytes);
  json.unless(0u, "stream", tensor.stream);
  json.unless(kNoObject, "object", tensor.object);
  json.unless(std::uint64_t{0}, "offset", tensor.offset);
  json.text_unless_empty("name", tensor.name);
}
void write(ObjectWriter& json, const TensorFree& tensor) { json.always("id", tensor.id); }

void write(ObjectWriter& json, const Kernel& kernel) {
  json.text("name", kernel.name);
  json.unless(0u, "stream", kernel.stream);
  json.unless(0, "device", kernel.device);
  json.dimensions("grid", kernel.grid);
  json.dimensions("block", kernel.block);
  json.unless(0u, "registers_per_thread", kernel.registers_per_thread);
  json.unless(0u, "shared_bytes_per_block", kernel.shared_bytes_per_block);
  json.unless(std::int64_t{0}, "host_gap_ns", kernel.host_gap_ns);
  json.always("duration_ns", kernel.duration_ns);
  json.name_unless_first("distribution", kernel.distribution, kDistributionNames);
  json.unless(0u, "bytes_per_thread_access", kernel.bytes_per_thread_access);
  json.name_unless_first("coverage", kernel.coverage, kCoverageNames);
  json.begin("accesses");
  json.list(kernel.accesses, [&json](const ObjectAccess& access) {
    fmt::format_to(std::back_inserter(json.out()), "[{},", access.object);
    json.extents(access.extents);
    json.out() += ']';
  });
  if (!kernel.touches.empty()) {
    append_touches(json, kernel);
  }
  if (!kernel.phases.empty()) {
    append_phases(json, kernel);
  }
  json.unless(std::uint64_t{0}, "unknown_accesses", kernel.unknown_accesses);
  if (!kernel.order.empty()) {
    append_order(json, kernel);
  }
  if (!kernel.counts.empty()) {
    append_counts(json, kernel);
  }
}

void write(ObjectWriter& json, const Memcpy& copy) {
  json.place("dst", copy.dst);
  json.place("src", copy.src);
  json.always("bytes", copy.bytes);
  json.name("kind", copy.kind, kCopyKindNames);
  json.unless(0u, "stream", copy.stream);
  json.unless(true, "blocking", copy.blocking);
  json.unless(std::int64_t{0}, "host_gap_ns", copy.host_gap_ns);
}
template <class Operation>
void write_piece(ObjectWriter& json, const Operation& operation) {
  json.always("object", operation.object);
  json.unless(std::uint64_t{0}, "offset", operation.offset);
  json.always("bytes", operation.bytes);
}
void write(ObjectWriter& json, const Memset& set) {
  write_piece(json, set);
  json.unless(0u, "stream", set.stream);
  json.unless(std::int64_t{0}, "host_gap_ns", set.host_gap_ns);
}
void write(ObjectWriter& json, const Prefetch& prefetch) {
  write_piece(json, prefetch);
  json.always("destination", prefetch.destination);
  json.unless(0u, "stream", prefetch.stream);
  json.unless(std::int64_t{0}, "host_gap_ns", prefetch.host_gap_ns);
}
void write(ObjectWriter& json, const Advise& advise) {
  write_piece(json, advise);
  json.name("advice", advise.advice, kAdviceNames);
  json.unless(0, "device", advise.device);
}
void write(ObjectWriter& json, const Discard& discard) {
  write_piece(json, discard);
  json.unless(0u, "stream", discard.stream);
}
void write(ObjectWriter& json, const Sync& sync) {
  json.name("kind", sync.kind, kSyncKindNames);
  json.unless(0u, "stream", sync.stream);
  json.unless(std::uint64_t{0}, "event", sync.event);
  json.unless(std::int64_t{0}, "host_gap_ns", sync.host_gap_ns);
}
void write(ObjectWriter& json, const HostAccess& access) {
  json.always("object", access.object);
  if (!access.extents.empty()) {
    json.begin("extents");
    json.extents(access.extents);
  }
  if (!access.touches.empty()) {
    json.begin("touches");
    json.list(access.touches, [&json](const std::pair<std::uint64_t, AccessMode>& touch) {
      fmt::format_to(std::back_inserter(json.out()), "[{},\"{}\"]", touch.first, ObjectWriter::mode_name(touch.second));
    });
  }
  json.unless(std::int64_t{0}, "host_gap_ns", access.host_gap_ns);
}
void write(ObjectWriter& json, const Range& range) {
  json.name("kind", range.kind, kRangeKindNames);
  json.text_unless_empty("name", range.name);
  json.unless(std::uint64_t{0}, "index", range.index);
}
void write(ObjectWriter& json, const UvmCounter& counter) {
  json.text("kind", counter.kind);
  json.unless(kNoObject, "object", counter.object);
  json.unless(std::uint64_t{0}, "offset", counter.offset);
  json.unless(std::uint64_t{0}, "value", counter.value);
  json.unless(std::int64_t{0}, "start_ns", counter.start_ns);
  json.unless(std::int64_t{0}, "end_ns", counter.end_ns);
  json.unless(0u, "flags", counter.flags);
}

}  // namespace

void append_json(const Header& header, std::string& out) {
  ObjectWriter json(out, "header");
  json.always("major", header.major);
  json.always("minor", header.minor);
  json.always("quantum_bytes", header.quantum_bytes);
  json.text_unless_empty("tool", header.tool);
  json.text_unless_empty("gpu", header.gpu);
  json.text_unless_empty("driver", header.driver);
  json.text_unless_empty("program", header.program);
  json.text_unless_empty("provenance", header.provenance);
  if (!header.attributes.empty()) {
    json.begin("attributes");
    json.list(header.attributes, [&out](const std::pair<std::string, std::string>& attribute) {
      out += '[';
      append_text(attribute.first, out);
      out += ',';
      append_text(attribute.second, out);
      out += ']';
    });
  }
}

void append_json(const Record& record, std::string& out) {
  ObjectWriter json(out, record_type_name(record));
  std::visit([&json](const auto& alternative) { write(json, alternative); }, record);
}

}  // namespace uvmsim::trace
