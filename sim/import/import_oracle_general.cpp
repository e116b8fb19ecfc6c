// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_oracle_general.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/common/error.h"
#include "sim/import/oracle_general.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {
constexpr std::string_view kOracleGeneralTool = "uvmsim trace import oracle-general, conversion 1";
constexpr std::uint32_t kSmallestPage = 512;
constexpr ObjectId kObject = 1;
}  // namespace

class OracleImporter::State {
 public:
  State(std::function<OracleReader()> open, const OracleImportOptions& options)
      : open_(std::move(open)), options_(options) {
    if (!std::has_single_bit(options.page_bytes) || options.page_bytes < kSmallestPage ||
        options.page_bytes > kMaxQuantumBytes) {
      throw_input_error("page size of {} bytes; allowed: a power of two from {} to {}", options.page_bytes,
                        kSmallestPage, kMaxQuantumBytes);
    }
    if (options.touches_per_kernel == 0 || options.touches_per_kernel > (1u << 22)) {
      throw_input_error("{} touches per kernel; allowed: 1 to {}", options.touches_per_kernel, 1u << 22);
    }
    look();
    header.quantum_bytes = options.page_bytes;
    header.tool = kOracleGeneralTool;
    header.program = name_;
    header.provenance = options.provenance;
    header.attributes = {{"ids", by_appearance_ ? "by first appearance" : "page numbers"},
                         {"requests", std::to_string(requests)}};
    reader_.emplace(open_());
  }

  bool next(Record& record) {
    if (step_ == 0) {
      record = ObjectAlloc{kObject, ObjectKind::kManaged, pages * options_.page_bytes, 0, 0};
    } else if (taken_ < requests) {
      record = kernel();
    } else if (!synchronized_) {
      synchronized_ = true;
      record = Sync{};
    } else if (!freed_) {
      freed_ = true;
      record = ObjectFree{kObject};
    } else {
      return false;
    }
    ++step_;
    return true;
  }

  Header header;
  std::uint64_t pages = 0, requests = 0;

 private:
  // The first pass: how many ids there are and how they are numbered.
  void look() {
    OracleReader reader = open_();
    name_ = reader.name();
    std::uint64_t lowest = UINT64_MAX, highest = 0;
    OracleRecord request;
    while (reader.next(request)) {
      lowest = std::min(lowest, request.id);
      highest = std::max(highest, request.id);
      page_of_.try_emplace(request.id, page_of_.size());
    }
    requests = reader.records();
    if (requests == 0) throw_input_error("{}: no requests", name_);
    const std::uint64_t span = highest - lowest;  // one less than the pages
    by_appearance_ = span / kIdsSpan >= page_of_.size();
    pages = by_appearance_ ? page_of_.size() : span + 1;
    if (pages > kMaxObjectBytes / options_.page_bytes) {
      throw_input_error("{}: {} pages of {} bytes are more than an object may have ({} bytes)", name_, pages,
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
    std::vector<std::uint64_t> touched;
    OracleRecord request;
    while (touched.size() < options_.touches_per_kernel && reader_->next(request)) {
      const auto found = by_appearance_ ? page_of_.find(request.id) : page_of_.end();
      const std::uint64_t page = found != page_of_.end() ? found->second : request.id - lowest_;
      if (page >= pages) throw_input_error("{}: the file changed while it was read", name_);
      touched.push_back(page);
      out.touches.push_back({0, page, AccessMode::kRead});
    }
    if (touched.empty()) throw_input_error("{}: the file changed while it was read", name_);
    taken_ += touched.size();
    std::sort(touched.begin(), touched.end());
    ObjectAccess& access = out.accesses.emplace_back();
    access.object = kObject;
    for (const std::uint64_t page : touched) {
      if (!access.extents.empty()) {
        Extent& last = access.extents.edit().back();
        if (page < last.first + last.count) continue;
        if (page == last.first + last.count) {
          ++last.count;
          continue;
        }
      }
      access.extents.push_back({page, 1, AccessMode::kRead});
    }
    return out;
  }

  std::function<OracleReader()> open_;
  OracleImportOptions options_;
  std::string name_;
  std::unordered_map<std::uint64_t, std::uint64_t> page_of_;  // only looked up, never walked
  std::uint64_t lowest_ = 0;
  bool by_appearance_ = false;
  std::optional<OracleReader> reader_;
  std::uint64_t step_ = 0, taken_ = 0;
  bool synchronized_ = false, freed_ = false;
};

OracleImporter::OracleImporter(const std::string& path, const OracleImportOptions& options) {
  if (path == "-") throw_input_error("the requests are read twice; give a file, not standard input");
  state_ = std::make_unique<State>([path] { return OracleReader(path); }, options);
}
OracleImporter::OracleImporter(std::string_view bytes, std::string name, const OracleImportOptions& options)
    : state_(std::make_unique<State>([bytes, name] { return OracleReader(bytes, name); }, options)) {}
OracleImporter::~OracleImporter() = default;
OracleImporter::OracleImporter(OracleImporter&&) noexcept = default;

const Header& OracleImporter::header() const { return state_->header; }
bool OracleImporter::next(Record& record) { return state_->next(record); }
std::uint64_t OracleImporter::pages() const { return state_->pages; }
std::uint64_t OracleImporter::requests() const { return state_->requests; }

}  // namespace uvmsim::trace
