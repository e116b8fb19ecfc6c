// SPDX-License-Identifier: Apache-2.0
// Turns an oracleGeneral request stream of libCacheSim into a trace: a GPU thread that touches pages in that order.
//
// What the conversion decides:
//  - Every id is one page of `page_bytes`; sizes and times of the requests are ignored.
//  - Ids whose span is at most kIdsSpan times their number are page numbers, counted from the lowest, so that pages
//  side
//    by side stay so; others are numbered by first appearance. The header's attribute `ids` says which.
//  - All pages are one managed object, and one thread reads them (the format knows no writes), in kernels of
//    `touches_per_kernel`, whose recorded duration is 0: what a touch costs is the model's (runtime.touch_ns).
// The stream is read twice, so standard input is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct OracleImportOptions {
  std::uint32_t page_bytes = 4096;  // a power of two, 512 to 2 MB; the trace's quantum
  std::uint64_t touches_per_kernel = 1u << 20;
  std::string provenance;
};

struct OracleImportSummary {
  std::uint64_t pages = 0, requests = 0;
};

class OracleImporter : public Importer<OracleImportSummary> {
 public:
  static constexpr std::uint64_t kIdsSpan = 16;

  // Both throw InputError naming file and record, as does next().
  explicit OracleImporter(const std::string& path, const OracleImportOptions& options = {});
  OracleImporter(std::string_view bytes, std::string name, const OracleImportOptions& options = {});
};

}  // namespace uvmsim::trace
