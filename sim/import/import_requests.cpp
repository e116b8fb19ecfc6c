// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_requests.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/import/access_set.h"
#include "sim/import/request_stream.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kRequestsTool = "uvmsim trace import requests, conversion 2";
constexpr std::uint32_t kSmallestPage = 512;
constexpr ObjectId kObject = 1;
constexpr std::uint64_t kLargestRequest = std::uint64_t{1} << 40;

class RequestsConversion final : public Conversion<RequestsImportSummary> {
 public:
  using Open = std::function<std::unique_ptr<RequestReader>()>;

  RequestsConversion(Open open, const RequestsImportOptions& options) : open_(std::move(open)), options_(options) {
    if (!std::has_single_bit(options.page_bytes) || options.page_bytes < kSmallestPage ||
        options.page_bytes > kMaxQuantumBytes) {
      throw_input_error("page size of {} bytes; allowed: a power of two from {} to {}", options.page_bytes,
                        kSmallestPage, kMaxQuantumBytes);
    }
    if (options.touches_per_kernel == 0 || options.touches_per_kernel > (1u << 22)) {
      throw_input_error("{} touches per kernel; allowed: 1 to {}", options.touches_per_kernel, 1u << 22);
    }
    look();
    ready.emplace_back(ObjectAlloc{kObject, ObjectKind::kManaged, summary.pages * options_.page_bytes, 0, 0});
    header.quantum_bytes = options.page_bytes;
    header.tool = kRequestsTool;
    header.program = name_;
    header.provenance = options.provenance;
    header.attributes = {{"format", summary.format},
                         {"ids", by_appearance_ ? "by first appearance" : "page numbers"},
                         {"sizes", summary.sizes_used ? "all pages of a request" : "one page of a request"},
                         {"requests", std::to_string(summary.requests)}};
    reader_ = open_();
  }

 private:
  bool go_on() override {
    if (left_ != 0 || taken_ < summary.requests) {
      ready.emplace_back(kernel());
    } else if (ended_) {
      return false;
    } else {
      ended_ = true;
      ready.emplace_back(Sync{});
      ready.emplace_back(ObjectFree{kObject});
    }
    return true;
  }

  // Reads the stream for the first time: finds the ids, the size of each, and how they are numbered.
  void look() {
    const std::unique_ptr<RequestReader> reader = open_();
    name_ = reader->name;
    summary.format = kRequestFormatNames.at(static_cast<std::size_t>(reader->format));
    summary.sizes_used = reader->has_sizes && options_.whole_sizes;
    id_bytes_ = options_.id_bytes != 0 ? options_.id_bytes : std::uint64_t{reader->id_bytes};
    if (id_bytes_ == 0) id_bytes_ = options_.page_bytes;
    summary.smallest_bytes = UINT64_MAX;
    std::vector<std::uint64_t> ids;  // by first appearance
    std::uint64_t lowest = UINT64_MAX, highest = 0;
    for (Request request; reader->next(request); ++summary.requests) {
      if (request.bytes > kLargestRequest) {
        throw_input_error("{}: request {} has {} bytes; allowed: up to 2^40", name_, summary.requests + 1,
                          request.bytes);
      }
      lowest = std::min(lowest, request.id);
      highest = std::max(highest, request.id);
      summary.smallest_bytes = std::min(summary.smallest_bytes, request.bytes);
      summary.largest_bytes = std::max(summary.largest_bytes, request.bytes);
      const auto [known, fresh] = extent_of_.try_emplace(request.id, 0);
      if (fresh) ids.push_back(request.id);
      known->second = std::max(known->second, bytes_of(request));
    }
    if (summary.requests == 0) throw_input_error("{}: no requests", name_);
    lowest_ = lowest;
    std::uint64_t blocks = 0;  // number of distinct blocks of `id_bytes` that were requested
    for (const std::uint64_t id : ids) blocks += divide_up(extent_of_.at(id), id_bytes_);
    const std::uint64_t span = highest - lowest;  // number of blocks in the range of ids, less one
    by_appearance_ =
        !reader->numbers || span / RequestsImporter::kIdsSpan >= blocks || span >= kMaxObjectBytes / id_bytes_;
    for (const std::uint64_t id : ids) {
      std::uint64_t& extent = extent_of_.at(id);
      if (by_appearance_) {  // `extent` becomes the begin of its pages
        const std::uint64_t pages = divide_up(extent, options_.page_bytes);
        extent = summary.pages * options_.page_bytes;
        summary.pages += pages;
      } else {
        summary.pages =
            std::max(summary.pages, divide_up((id - lowest) * id_bytes_ + extent, std::uint64_t{options_.page_bytes}));
      }
      if (summary.pages > kMaxObjectBytes / options_.page_bytes) {
        throw_input_error("{}: {} pages of {} bytes are more than an object may have ({} bytes)", name_, summary.pages,
                          options_.page_bytes, kMaxObjectBytes);
      }
    }
    if (!by_appearance_) extent_of_ = {};
  }

  static std::uint64_t divide_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit; }

  // Returns the bytes of a request that the options take into account.
  std::uint64_t bytes_of(const Request& request) const {
    return summary.sizes_used ? std::max<std::uint64_t>(request.bytes, 1) : 1;
  }

  // Takes the next request's pages; returns false at the end of the stream.
  bool take_request() {
    Request request;
    if (!reader_->next(request)) return false;
    ++taken_;
    std::uint64_t begin = (request.id - lowest_) * id_bytes_;
    if (by_appearance_) {
      const auto found = extent_of_.find(request.id);
      begin = found == extent_of_.end() ? UINT64_MAX : found->second;
    }
    page_ = begin / options_.page_bytes;
    left_ = divide_up(begin % options_.page_bytes + bytes_of(request), options_.page_bytes);
    mode_ = request.mode;
    if (page_ >= summary.pages || left_ > summary.pages - page_) changed();
    return true;
  }
  [[noreturn]] void changed() const { throw_input_error("{}: the file changed while it was read", name_); }

  Kernel kernel() {
    Kernel out;
    out.name = "requests_" + std::to_string(taken_ + 1);
    out.distribution = Distribution::kThreadChunk;
    out.coverage = Coverage::kDeclared;
    AccessSet touched;
    while (out.touches.size() < options_.touches_per_kernel && (left_ != 0 || take_request())) {
      touched.add(kObject, page_, page_ + 1, mode_);
      out.touches.push_back({0, page_++, mode_});
      --left_;
    }
    if (out.touches.empty()) changed();
    summary.touches += out.touches.size();
    out.accesses = touched.take();
    return out;
  }

  Open open_;
  RequestsImportOptions options_;
  std::string name_;
  // By id: the bytes of its largest request; if numbered by appearance: where its pages begin. Never iterated.
  std::unordered_map<std::uint64_t, std::uint64_t> extent_of_;
  std::uint64_t lowest_ = 0, id_bytes_ = 0;
  bool by_appearance_ = false;
  std::unique_ptr<RequestReader> reader_;
  std::uint64_t taken_ = 0;              // requests
  std::uint64_t page_ = 0, left_ = 0;    // of the last request: the next page to touch, and the pages left
  AccessMode mode_ = AccessMode::kRead;  // of the last request
  bool ended_ = false;
};

void refuse_standard_input(const std::string& path) {
  if (path == "-") throw_input_error("the requests are read twice; give a file, not standard input");
}

}  // namespace

RequestsImporter::RequestsImporter(const std::string& path, const RequestsImportOptions& options)
    : Importer((refuse_standard_input(path),
                std::make_unique<RequestsConversion>(
                    [path, columns = options.columns] { return open_requests(path, columns); }, options))) {}
RequestsImporter::RequestsImporter(std::string_view bytes, std::string name, const RequestsImportOptions& options)
    : Importer(std::make_unique<RequestsConversion>(
          [bytes, name, columns = options.columns] { return open_requests(bytes, name, columns); }, options)) {}

}  // namespace uvmsim::trace
