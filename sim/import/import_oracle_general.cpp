// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_oracle_general.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/import/access_set.h"
#include "sim/import/oracle_general.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kOracleGeneralTool = "uvmsim trace import oracle-general, conversion 1";
constexpr std::uint32_t kSmallestPage = 512;
constexpr ObjectId kObject = 1;

class OracleConversion final : public Conversion<OracleImportSummary> {
 public:
  using Open = std::function<std::unique_ptr<OracleReader>()>;

  OracleConversion(Open open, const OracleImportOptions& options) : open_(std::move(open)), options_(options) {
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
    header.tool = kOracleGeneralTool;
    header.program = name_;
    header.provenance = options.provenance;
    header.attributes = {{"ids", by_appearance_ ? "by first appearance" : "page numbers"},
                         {"requests", std::to_string(summary.requests)}};
    reader_ = open_();
  }

 private:
  bool go_on() override {
    if (taken_ < summary.requests) {
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

  // The first pass: how many ids there are and how they are numbered.
  void look() {
    const std::unique_ptr<OracleReader> reader = open_();
    name_ = reader->name();
    std::uint64_t lowest = UINT64_MAX, highest = 0;
    OracleRecord request;
    while (reader->next(request)) {
      lowest = std::min(lowest, request.id);
      highest = std::max(highest, request.id);
      page_of_.try_emplace(request.id, page_of_.size());
    }
    summary.requests = reader->records();
    if (summary.requests == 0) throw_input_error("{}: no requests", name_);
    const std::uint64_t span = highest - lowest;  // one less than the pages
    by_appearance_ = span / OracleImporter::kIdsSpan >= page_of_.size();
    summary.pages = by_appearance_ ? page_of_.size() : span + 1;
    if (summary.pages > kMaxObjectBytes / options_.page_bytes) {
      throw_input_error("{}: {} pages of {} bytes are more than an object may have ({} bytes)", name_, summary.pages,
                        options_.page_bytes, kMaxObjectBytes);
    }
    lowest_ = lowest;
    if (!by_appearance_) page_of_ = {};
  }

  Kernel kernel() {
    Kernel out;
    out.name = "requests_" + std::to_string(taken_ + 1);
    out.distribution = Distribution::kThreadChunk;
    out.coverage = Coverage::kDeclared;
    AccessSet touched;
    OracleRecord request;
    while (out.touches.size() < options_.touches_per_kernel && reader_->next(request)) {
      const auto found = by_appearance_ ? page_of_.find(request.id) : page_of_.end();
      const std::uint64_t page = found != page_of_.end() ? found->second : request.id - lowest_;
      if (page >= summary.pages) throw_input_error("{}: the file changed while it was read", name_);
      touched.add(kObject, page, page + 1, AccessMode::kRead);
      out.touches.push_back({0, page, AccessMode::kRead});
    }
    if (out.touches.empty()) throw_input_error("{}: the file changed while it was read", name_);
    taken_ += out.touches.size();
    out.accesses = touched.take();
    return out;
  }

  Open open_;
  OracleImportOptions options_;
  std::string name_;
  std::unordered_map<std::uint64_t, std::uint64_t> page_of_;  // only looked up, never walked
  std::uint64_t lowest_ = 0;
  bool by_appearance_ = false;
  std::unique_ptr<OracleReader> reader_;
  std::uint64_t taken_ = 0;
  bool ended_ = false;
};

OracleConversion::Open opener(const std::string& path) {
  if (path == "-") throw_input_error("the requests are read twice; give a file, not standard input");
  return [path] { return std::make_unique<OracleReader>(path); };
}

}  // namespace

OracleImporter::OracleImporter(const std::string& path, const OracleImportOptions& options)
    : Importer(std::make_unique<OracleConversion>(opener(path), options)) {}
OracleImporter::OracleImporter(std::string_view bytes, std::string name, const OracleImportOptions& options)
    : Importer(std::make_unique<OracleConversion>([bytes, name] { return std::make_unique<OracleReader>(bytes, name); },
                                                  options)) {}

}  // namespace uvmsim::trace
