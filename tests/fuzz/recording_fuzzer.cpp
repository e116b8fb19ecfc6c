// SPDX-License-Identifier: Apache-2.0
// Passes any bytes as recordings of tools: the tracer's own logs, joined into a trace, logs of AccelProf and requests
// of libCacheSim. Input that a reader accepts must give a trace that the validator accepts.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/import/import_accelprof.h"
#include "sim/import/import_requests.h"
#include "sim/trace/validate.h"
#include "tests/folder.h"
#include "tests/fuzz/refused.h"
#include "tracer/merge/log_reader.h"
#include "tracer/merge/merge.h"

namespace uvmsim::fuzz {
namespace {

template <class Importer>
void import(Importer& importer) {
  trace::Validator validator("trace", importer.header());
  trace::Record record;
  while (importer.next(record)) require(taken([&] { validator.check(record); }));
  require(taken([&] { validator.finish(); }));
}

// Merges the log of the timing pass with that of the access pass, which follows a line `--`.
void merge(std::string_view bytes) {
  using namespace uvmtrace;
  constexpr std::string_view kBetween = "\n--\n";
  const std::size_t between = bytes.find(kBetween);
  const PassLog timing = read_log(bytes.substr(0, between), "timing", Pass::kTiming);
  std::optional<PassLog> access;
  if (between != std::string_view::npos) {
    access = read_log(bytes.substr(between + kBetween.size()), "access", Pass::kAccess);
  }
  Merger merger(timing, access ? &*access : nullptr, {});
  trace::Validator validator("trace", merger.header());
  merger.run([&](const trace::Record& record) { require(taken([&] { validator.check(record); })); });
  require(taken([&] { validator.finish(); }));
}

}  // namespace
}  // namespace uvmsim::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  static const Folder folder("fuzz");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string file = folder.write("input", bytes);
  fuzz::taken([&] {
    trace::AccelprofImporter importer(file);
    fuzz::import(importer);
  });
  fuzz::taken([&] {
    trace::RequestsImporter importer(bytes, "input");
    fuzz::import(importer);
  });
  fuzz::taken([&] { fuzz::merge(bytes); });
  return 0;
}
