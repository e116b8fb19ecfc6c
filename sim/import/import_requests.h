// SPDX-License-Identifier: Apache-2.0
// Turns a stream of requests (request_stream.h) into a trace: a GPU thread that touches pages in that order.
//
// The conversion follows these rules:
// - Ids that lie close together are numbers of blocks of `id_bytes` (a page; 512 bytes in vscsi), counted from the
//   lowest, so that neighbours stay neighbours. Close means that their range has at most kIdsSpan times as many blocks
//   as were requested. Other ids are numbered by first appearance, each with the pages of its largest request. The
//   header's `ids` says which rule applied.
// - A request touches all pages of its bytes in ascending order; without a size, or with `whole_sizes` false, only the
//   page where it begins.
// - All pages are one managed object, and one thread touches them, in kernels of `touches_per_kernel` touches with a
//   recorded duration of 0: the model sets the cost of a touch (runtime.touch_ns). A request writes if the stream says
//   that it writes.
//
// Times of the requests are ignored. The stream is read twice, so standard input is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct RequestsImportOptions {
  std::uint32_t page_bytes = 4096;  // a power of two, 512 to 2 MB; the trace's quantum
  std::uint64_t id_bytes = 0;       // 0: what the format says, else a page
  bool whole_sizes = true;
  std::string columns;  // of csv (request_stream.h)
  std::uint64_t touches_per_kernel = 1u << 20;
  std::string provenance;
};

struct RequestsImportSummary {
  std::string format;
  std::uint64_t pages = 0, requests = 0, touches = 0;
  std::uint64_t smallest_bytes = 0, largest_bytes = 0;  // of a request; 0: no sizes
  bool sizes_used = false;
};

class RequestsImporter : public Importer<RequestsImportSummary> {
 public:
  static constexpr std::uint64_t kIdsSpan = 16;

  // Both throw InputError that names file and record, as does next().
  explicit RequestsImporter(const std::string& path, const RequestsImportOptions& options = {});
  RequestsImporter(std::string_view bytes, std::string name, const RequestsImportOptions& options = {});
};

}  // namespace uvmsim::trace
