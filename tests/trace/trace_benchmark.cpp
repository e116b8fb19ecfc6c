// SPDX-License-Identifier: Apache-2.0
// Measures reading, checking and writing of traces in kernels and raw bytes per second, on the shipped GPT-2 recording
// repeated.
#include <benchmark/benchmark.h>

#include "sim/trace/json_codec.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"

namespace uvmsim::trace {
namespace {

struct Input {
  Header header;
  std::vector<Record> records;
  std::uint64_t kernels = 0;
};
const Input& input() {
  static const Input loaded = [] {
    TraceReader reader(UVMSIM_SOURCE_DIR "/workloads/gpt2_h200.uvmt");
    Input out{reader.header(), {}, 0};
    Record record;
    while (reader.next(record)) {
      out.records.push_back(record);
      out.kernels += std::holds_alternative<Kernel>(record) ? 1 : 0;
    }
    return out;
  }();
  return loaded;
}
constexpr int kRepeats = 20;

std::string encode(TraceFormat format) {
  std::string out;
  TraceWriter writer(out, format, input().header);
  for (int i = 0; i < kRepeats; ++i) {
    for (const Record& record : input().records) writer.write(record);
  }
  writer.finish();
  return out;
}

void set_counters(benchmark::State& state) {
  const auto runs = static_cast<double>(state.iterations()) * kRepeats;
  state.counters["kernels/s"] =
      benchmark::Counter(runs * static_cast<double>(input().kernels), benchmark::Counter::kIsRate);
  state.counters["records/s"] =
      benchmark::Counter(runs * static_cast<double>(input().records.size()), benchmark::Counter::kIsRate);
}

void read(benchmark::State& state, TraceFormat format) {
  const std::string bytes = encode(format);
  for (auto _ : state) {
    TraceReader reader(bytes, "benchmark");
    Record record;
    while (reader.next(record)) benchmark::DoNotOptimize(record);
  }
  set_counters(state);
}
void read_uvmt(benchmark::State& state) { read(state, TraceFormat::kUvmt); }
void read_json_lines(benchmark::State& state) { read(state, TraceFormat::kJsonLines); }

void write_uvmt(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(encode(TraceFormat::kUvmt));
  set_counters(state);
}

void validate_records(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kRepeats; ++i) {
      Validator validator("benchmark", input().header);
      for (const Record& record : input().records) validator.check(record);
      validator.finish();
    }
  }
  set_counters(state);
}

BENCHMARK(read_uvmt)->Unit(benchmark::kMillisecond);
BENCHMARK(read_json_lines)->Unit(benchmark::kMillisecond);
BENCHMARK(write_uvmt)->Unit(benchmark::kMillisecond);
BENCHMARK(validate_records)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace uvmsim::trace
