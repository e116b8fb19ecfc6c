// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_accelprof.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "sim/common/error.h"
#include "sim/formats/decimal.h"
#include "sim/import/accelprof_log.h"
#include "sim/import/address_map.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kAccelprofTool = "uvmsim trace import accelprof, conversion 1";
constexpr std::uint32_t kThreads = 256, kWarpsPerBlock = kThreads / 32;
constexpr std::uint64_t kBytesPerBlock = kThreads * 16;
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 20;

// Returns the files kernel_N.txt of a folder, by N, or the file itself.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::map<std::uint64_t, std::string> found;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    constexpr std::string_view kPrefix = "kernel_", kSuffix = ".txt";
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const auto number = parse_digits(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    if (number) found.insert_or_assign(*number, entry->path().string());
  }
  if (error) throw_input_error("{}: cannot be listed: {}", path, error.message());
  if (found.empty()) throw_input_error("{}: the folder holds no kernel_N.txt", path);
  std::vector<std::string> files;
  for (auto& [number, file] : found) files.push_back(std::move(file));
  return files;
}

class AccelprofConversion final : public Conversion<AccelprofImportSummary> {
 public:
  AccelprofConversion(const std::string& path, const AccelprofImportOptions& options)
      : options_(options), files_(files_of(path)) {
    open_next();
    summary.tool = accelprof_tool_name(tool_);
    header.quantum_bytes = AccelprofImporter::kQuantumBytes;
    header.tool = kAccelprofTool;
    header.program = path;
    header.provenance = options.provenance;
    const bool exact = tool_ == AccelprofTool::kMemTrace;
    header.attributes = {{"accelprof_tool", summary.tool},
                         {"accesses", exact                                  ? "every address"
                                      : tool_ == AccelprofTool::kHotAnalysis ? "2 MB ranges, direction unknown"
                                                                             : "whole objects, direction unknown"},
                         {"durations", "not recorded; 2 us + 1 ns per 1000 bytes touched"},
                         {"grids", "not recorded; estimated"}};
  }

 private:
  bool go_on() override {
    AccelprofKernel kernel;
    if (reader_ && reader_->next(kernel)) {
      add(kernel);
    } else if (file_ < files_.size()) {
      open_next();
    } else {
      return false;
    }
    return true;
  }

  void open_next() {
    reader_.emplace(files_[file_]);
    if (file_ > 0 && reader_->tool() != tool_) {
      throw_input_error("{}: a log of {}, unlike those before ({})", files_[file_],
                        accelprof_tool_name(reader_->tool()), accelprof_tool_name(tool_));
    }
    tool_ = reader_->tool();
    ++file_;
  }

  void add(const AccelprofKernel& kernel) {
    try {
      update_objects(kernel);
      emit(kernel);
    } catch (const InputError& error) {
      throw_input_error("{}: kernel {} ({}): {}", files_[file_ - 1], summary.kernels + 1, kernel.name, error.what());
    }
  }

  void release_object(const AddressMap::Entry& object) {
    for (const AddressMap::Entry& tensor : tensors_.overlapping(object.address, object.bytes)) release_tensor(tensor);
    live_.remove(object.address);
    ready.emplace_back(ObjectFree{object.id});
  }
  void release_tensor(const AddressMap::Entry& tensor) {
    tensors_.remove(tensor.address);
    ready.emplace_back(TensorFree{tensor.id});
  }

  // Makes the ranges live and frees allocations that they overlap; if the list is complete, also frees those that it no
  // longer contains.
  template <class Release, class Allocate>
  static void update(AddressMap& map, const std::vector<AccelprofRange>& ranges, bool complete, Release&& release,
                     Allocate&& allocate) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> listed;
    for (const AccelprofRange& range : ranges) listed.emplace(range.address, range.bytes);
    if (complete) {
      std::vector<AddressMap::Entry> gone;
      for (const auto& [address, entry] : map.entries()) {
        if (!listed.contains({entry.address, entry.bytes})) gone.push_back(entry);
      }
      for (const AddressMap::Entry& entry : gone) release(entry);
    }
    for (const auto& [address, bytes] : listed) {
      const std::vector<AddressMap::Entry> there = map.overlapping(address, bytes);
      if (there.size() == 1 && there[0].address == address && there[0].bytes == bytes) continue;
      for (const AddressMap::Entry& entry : there) release(entry);
      allocate(AccelprofRange{address, bytes});
    }
  }

  void update_objects(const AccelprofKernel& kernel) {
    const bool complete = tool_ != AccelprofTool::kUvmAdvisor;
    update(
        live_, kernel.allocations, complete, [this](const AddressMap::Entry& entry) { release_object(entry); },
        [this](const AccelprofRange& range) {
          const ObjectId id = ++last_id_;
          live_.insert(id, range.address, range.bytes);
          ++summary.objects;
          ready.emplace_back(ObjectAlloc{id, options_.kind, range.bytes, range.address, 0});
        });
    std::vector<AccelprofRange> inside;  // tensors outside of listed memory are left out
    for (const AccelprofRange& tensor : kernel.tensors) {
      const AddressMap::Entry object = live_.find(tensor.address);
      if (object.id != kNoObject && tensor.bytes <= object.address + object.bytes - tensor.address) {
        inside.push_back(tensor);
      }
    }
    update(
        tensors_, inside, complete, [this](const AddressMap::Entry& entry) { release_tensor(entry); },
        [this](const AccelprofRange& range) {
          const AddressMap::Entry object = live_.find(range.address);
          const ObjectId id = ++last_id_;
          tensors_.insert(id, range.address, range.bytes);
          ++summary.tensors;
          ready.emplace_back(TensorAlloc{id, range.bytes, 0, object.id, range.address - object.address, ""});
        });
  }

  // Collects accesses in quanta of allocations. Tensors that uvm_advisor names replace their whole allocation.
  void collect(const AccelprofKernel& kernel, AccessSet& set) {
    if (tool_ != AccelprofTool::kUvmAdvisor) {
      for (const AccelprofAccess& access : kernel.accesses) {
        summary.bytes_outside += live_.add_accesses(access.range.address, access.range.bytes, access.mode,
                                                    AccelprofImporter::kQuantumBytes, set);
      }
      return;
    }
    std::set<ObjectId> with_tensors;
    for (const AccelprofRange& tensor : kernel.tensors) {
      const AddressMap::Entry object = live_.find(tensor.address);
      if (object.id != kNoObject) with_tensors.insert(object.id);
      summary.bytes_outside += live_.add_accesses(tensor.address, tensor.bytes, AccessMode::kReadWrite,
                                                  AccelprofImporter::kQuantumBytes, set);
    }
    for (const AccelprofRange& allocation : kernel.allocations) {
      if (with_tensors.contains(live_.find(allocation.address).id)) continue;
      live_.add_accesses(allocation.address, allocation.bytes, AccessMode::kReadWrite, AccelprofImporter::kQuantumBytes,
                         set);
    }
  }

  void emit(const AccelprofKernel& in) {
    AccessSet set;
    collect(in, set);
    Kernel out;
    out.name = in.name;
    out.distribution = distribution_by_name(in.name);
    out.accesses = set.take();
    out.coverage = out.accesses.empty()                ? Coverage::kNone
                   : tool_ == AccelprofTool::kMemTrace ? Coverage::kInstrumented
                                                       : Coverage::kDeclared;
    const std::uint64_t bytes = touched_quanta(out.accesses) * AccelprofImporter::kQuantumBytes;
    const std::uint64_t blocks = in.warps != 0 ? (in.warps + kWarpsPerBlock - 1) / kWarpsPerBlock
                                               : (bytes + kBytesPerBlock - 1) / kBytesPerBlock;
    out.grid.x = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, kMostBlocks));
    out.block.x = kThreads;
    out.duration_ns = static_cast<std::int64_t>(2000 + bytes / 1000);
    ++summary.kernels;
    if (!in.operation.empty()) ready.emplace_back(Range{RangeKind::kPush, in.operation, 0});
    ready.emplace_back(std::move(out));
    if (!in.operation.empty()) ready.emplace_back(Range{RangeKind::kPop, "", 0});
  }

  AccelprofImportOptions options_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;  // the next one
  std::optional<AccelprofReader> reader_;
  AccelprofTool tool_ = AccelprofTool::kUvmAdvisor;
  AddressMap live_, tensors_;
  ObjectId last_id_ = 0;
};

}  // namespace

AccelprofImporter::AccelprofImporter(const std::string& path, const AccelprofImportOptions& options)
    : Importer(std::make_unique<AccelprofConversion>(path, options)) {}

}  // namespace uvmsim::trace
