// SPDX-License-Identifier: Apache-2.0
// Passes any bytes as a trace: the reader, the validator and the importer may refuse them only with InputError, and
// accepted records must be the same after writing and reading.
//
// Mutated bytes rarely pass the checksum of a zstd frame. So input that is neither zstd nor JSON stands for the content
// of one frame and is compressed here.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/import/import_raw.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/reader.h"
#include "sim/trace/statistics.h"
#include "sim/trace/validate.h"
#include "sim/trace/writer.h"
#include "sim/trace/zstd_stream.h"
#include "tests/fuzz/refused.h"

namespace uvmsim::trace {
namespace {

using fuzz::require;
using fuzz::taken;

// Returns all records as JSON lines; empty if the bytes are refused.
std::string lines_of(std::string_view bytes) {
  std::string lines;
  const bool whole = taken([&] {
    TraceReader reader(bytes, "input");
    append_json(reader.header(), lines);
    Record record;
    while (reader.next(record)) append_json(record, lines);
  });
  return whole ? lines : std::string();
}

void read_and_check(std::string_view bytes, bool partial) {
  taken([&] {
    TraceReader reader(bytes, "input", {partial});
    validate(reader);
  });
  taken([&] {
    TraceReader reader(bytes, "input", {partial});
    const TraceStatistics statistics = summarize(reader);
    require(!statistics_text(statistics).empty() && !statistics_json(statistics).empty());
  });
}

void write_and_read_again(std::string_view bytes) {
  const std::string lines = lines_of(bytes);
  if (lines.empty()) return;
  require(lines_of(lines) == lines);
  std::string packed;
  TraceReader reader(lines, "input");
  TraceWriter writer(packed, TraceFormat::kUvmt, reader.header());
  Record record;
  while (reader.next(record)) writer.write(record);
  writer.finish();
  require(lines_of(packed) == lines);
}

void import(std::string_view bytes) {
  taken([&] {
    RawImporter importer(bytes, "input");
    Validator validator("input", importer.header());
    Record record;
    while (importer.next(record)) validator.check(record);
    validator.finish();
  });
}

}  // namespace
}  // namespace uvmsim::trace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim::trace;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!starts_zstd_frame(bytes) && !bytes.starts_with('{')) {
    std::string frame;
    static ZstdEncoder encoder(1);
    encoder.compress(bytes, frame);
    bytes = std::move(frame);
  }
  for (const bool partial : {false, true}) read_and_check(bytes, partial);
  write_and_read_again(bytes);
  import(bytes);
  return 0;
}
