// SPDX-License-Identifier: Apache-2.0
// Writes event logs by hand and merges them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/record.h"
#include "sim/trace/validate.h"
#include "tracer/log/json_line.h"
#include "tracer/merge/log_reader.h"
#include "tracer/merge/merge.h"

namespace uvmtrace {

// Writes the lines of one pass. Every host call has the next place in the program, takes 100 ns, and begins 1000 ns
// after the previous one unless at() says otherwise.
class LogBuilder {
 public:
  explicit LogBuilder(Pass pass) : pass_(pass) {
    JsonLine line("header");
    line.number("version", 1).text("pass", name_of(pass)).text("tool", "test");
    line.number("pid", 7).begin_list("program").text_item("./program").text_item("-x").end_list();
    line.text("gpu", "NVIDIA Test").number("sm_count", 4).begin_list("compute_capability").item(9).item(0).end_list();
    line.text("driver", "580").text("cuda", "13.0");
    add(std::move(line));
    if (pass == Pass::kMemory) add(std::move(host("free_memory").number("bytes", std::uint64_t{1} << 34)));
  }

  LogBuilder& thread(std::uint32_t tid) {
    tid_ = tid;
    return *this;
  }
  // Sets the times of the next call.
  LogBuilder& at(std::int64_t begin_ns, std::int64_t end_ns) {
    begin_ns_ = begin_ns;
    end_ns_ = end_ns;
    return *this;
  }
  JsonLine host(std::string_view type) {
    JsonLine line(type);
    line.number("seq", ++seq_).number("tid", tid_);
    if (pass_ == Pass::kTiming) line.number("begin_ns", begin_ns_).number("end_ns", end_ns_);
    begin_ns_ = end_ns_ + 1000;
    end_ns_ = begin_ns_ + 100;
    return line;
  }
  void add(JsonLine&& line) { text_ += line.finish(); }
  void raw(const std::string& line) { text_ += line + "\n"; }

  void alloc(std::uint64_t va, std::uint64_t bytes, std::string_view kind = "device") {
    add(std::move(host("alloc").number("va", va).number("bytes", bytes).text("kind", kind)));
  }
  // Records how much of the GPU's memory a call takes; without a name, memory that is taken while no call runs.
  void taken(std::int64_t bytes, std::string_view call, bool allocation = false, std::int32_t device = 0) {
    JsonLine line = host("device_memory");
    if (device != 0) line.number("device", device);
    line.text("call", call).number("taken", bytes);
    if (allocation) line.boolean("allocation", true);
    add(std::move(line));
  }
  void free(std::uint64_t va, std::string_view kind = "device") {
    add(std::move(host("free").number("va", va).text("kind", kind)));
  }
  void tensor_alloc(std::uint64_t va, std::uint64_t bytes, std::uint32_t stream = 0) {
    add(std::move(host("tensor_alloc").number("va", va).number("bytes", bytes).number("stream", stream)));
  }
  void tensor_free(std::uint64_t va, bool done = false) {
    add(std::move(host(done ? "tensor_free_done" : "tensor_free").number("va", va)));
  }
  void sync(std::string_view kind = "device", std::uint64_t event = 0, std::uint32_t stream = 0) {
    add(std::move(host("sync").text("kind", kind).number("stream", stream).number("event", event)));
  }
  void copy(std::uint64_t dst, std::uint64_t src, std::uint64_t bytes, std::string_view kind, bool async = false) {
    add(std::move(host("memcpy")
                      .number("corr", ++corr_)
                      .number("dst", dst)
                      .number("src", src)
                      .number("bytes", bytes)
                      .text("kind", kind)
                      .boolean("async", async)
                      .number("stream", 0)));
  }
  void range(std::string_view type, std::string_view name = "") {
    JsonLine line = host(type);
    if (type == "push") line.text("name", name);
    add(std::move(line));
  }
  void iteration(std::uint64_t index, bool begin) {
    add(std::move(host("iteration").number("index", index).boolean("begin", begin)));
  }
  void operator_event(std::string_view type, const std::vector<AddressRange>& tensors) {
    JsonLine line = host(type);
    if (type == "operator") line.text("name", "aten::mm");
    if (type != "operator_end") {
      line.begin_list("tensors");
      for (const AddressRange& tensor : tensors) {
        line.begin_list().item(tensor.va).item(tensor.bytes).item(static_cast<unsigned>(tensor.mode)).end_list();
      }
      line.end_list();
    }
    add(std::move(line));
  }

  struct LaunchSpec {
    std::string name = "kernel";
    std::uint32_t blocks = 16;
    std::uint32_t stream = 0;
    std::vector<std::uint64_t> params;
    std::vector<MapParameter> maps;
    bool patched = true;
    std::vector<trace::Extent> accesses;  // bytes and addresses that are read, in multiples of 512
    std::vector<PhaseRuns> phases;        // likewise, multiples of 65536
    std::vector<std::uint64_t> order;     // addresses
    std::vector<std::pair<std::uint64_t, std::uint32_t>> counts;
    std::uint64_t unknown = 0;
    std::int64_t duration_ns = 2000;
    bool timed = true;
  };
  void launch(const LaunchSpec& spec) {
    JsonLine line = host("launch");
    line.number("corr", ++corr_).text("name", spec.name);
    line.begin_list("grid").item(spec.blocks).item(1).item(1).end_list();
    line.begin_list("block").item(128).item(1).item(1).end_list();
    line.number("shared_bytes", 0).number("stream", spec.stream);
    if (pass_ == Pass::kTiming) {
      put_params(line, spec);
      put_maps(line, spec);
      add(std::move(line));
      if (spec.timed) {
        JsonLine time("kernel");
        time.number("corr", corr_).number("start_ns", 50000).number("end_ns", 50000 + spec.duration_ns);
        time.number("registers", 40).number("shared_bytes", 1024);
        add(std::move(time));
      }
      return;
    }
    line.boolean("patched", spec.patched);
    if (spec.patched) put_accesses(line, spec);
    add(std::move(line));
  }

  std::string text(bool complete = true) const {
    return complete ? text_ + std::move(JsonLine("end").number("events", seq_).number("dropped", 0)).finish() : text_;
  }

 private:
  static void put_params(JsonLine& line, const LaunchSpec& spec) {
    line.begin_list("params");
    for (const std::uint64_t address : spec.params) line.item(address);
    line.end_list();
  }
  static void put_maps(JsonLine& line, const LaunchSpec& spec) {
    if (spec.maps.empty()) return;
    line.begin_list("maps");
    for (const auto& [offset, map] : spec.maps) {
      line.begin_list().item(offset).item(map.va).item(map.element_bits).item(map.im2col ? 1 : 0);
      const auto list = [&line](const auto& values, std::uint32_t count) {
        line.begin_list();
        for (std::uint32_t i = 0; i < count; ++i) line.item(values[i]);
        line.end_list();
      };
      list(map.dims, map.rank);
      list(map.strides, map.rank - 1);
      list(map.box, map.im2col ? 1 : map.rank);
      line.end_list();
    }
    line.end_list();
  }
  static void put_runs(JsonLine& line, const std::vector<trace::Extent>& runs, std::uint64_t unit) {
    line.begin_list();
    for (const trace::Extent& run : runs) put_run(line, run, unit);
    line.end_list();
  }
  static void put_run(JsonLine& line, const trace::Extent& run, std::uint64_t unit) {
    line.begin_list().item(run.first / unit).item(run.count / unit).item(static_cast<unsigned>(run.mode)).end_list();
  }
  static void put_accesses(JsonLine& line, const LaunchSpec& spec) {
    line.begin_list("accesses");
    for (const trace::Extent& run : spec.accesses) put_run(line, run, kQuantumBytes);
    line.end_list();
    if (!spec.phases.empty()) {
      line.begin_list("phases");
      for (const PhaseRuns& phase : spec.phases) {
        line.begin_list().item(phase.first_block).item(phase.block_count);
        put_runs(line, phase.pages, kPageBytes);
        line.end_list();
      }
      line.end_list();
    }
    if (!spec.order.empty()) {
      line.begin_list("order");
      for (const std::uint64_t address : spec.order) line.item(address / kPageBytes);
      line.end_list();
    }
    if (!spec.counts.empty()) {
      line.begin_list("counts");
      for (const auto& [address, count] : spec.counts) {
        line.begin_list().item(address / kPageBytes).item(count).end_list();
      }
      line.end_list();
    }
    if (spec.unknown != 0) line.number("unknown", spec.unknown);
  }

  Pass pass_;
  std::string text_;
  std::uint64_t seq_ = 0, corr_ = 0;
  std::uint32_t tid_ = 0;
  std::int64_t begin_ns_ = 1000, end_ns_ = 1100;
};

struct Merged {
  trace::Header header;
  std::vector<trace::Record> records;
  MergeSummary summary;

  template <class T>
  std::vector<T> all() const {
    std::vector<T> out;
    for (const trace::Record& record : records) {
      if (const T* found = std::get_if<T>(&record)) out.push_back(*found);
    }
    return out;
  }
};

// Checks the records as `uvmsim trace validate` does. An empty access log means none.
inline Merged merge_logs(const std::string& timing_text, const std::string& access_text,
                         const MergeOptions& options = {}) {
  const PassLog timing = read_log(timing_text, "timing", Pass::kTiming);
  const PassLog access = access_text.empty() ? PassLog{} : read_log(access_text, "access", Pass::kAccess);
  Merger merger(timing, access_text.empty() ? nullptr : &access, options);
  Merged out{merger.header(), {}, {}};
  trace::Validator validator("merged", out.header);
  merger.run([&](const trace::Record& record) {
    validator.check(record);
    out.records.push_back(record);
  });
  validator.finish();
  out.summary = merger.summary();
  return out;
}

}  // namespace uvmtrace
