// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_warp_log.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "sim/common/units.h"
#include "sim/import/address_map.h"
#include "sim/import/nsys_faults.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

// Extents of addresses, in units of kAddressQuantum.
using Units = std::vector<Extent>;

struct Slice {  // of the grid
  std::uint64_t first_block = 0, blocks = 0;
  Units touched;
};
struct WarpRecord {
  Kernel kernel;  // without accesses
  Units touched;
  std::vector<Slice> slices;
  std::uint64_t copy_address = 0, copy_bytes = 0;
};

Units take_units(AccessSet& set) {
  std::vector<ObjectAccess> accesses = set.take();
  return accesses.empty() ? Units() : Units(accesses[0].extents.begin(), accesses[0].extents.end());
}
void add_units(AccessSet& set, const Units& units) {
  for (const Extent& extent : units) set.add(1, extent.first, extent.first + extent.count, extent.mode);
}
AddressRange addresses(std::uint64_t first, std::uint64_t count) {
  return {first * kAddressQuantum, (first + count) * kAddressQuantum};
}
AddressRange blocks_around(const AddressRange& range) {
  return {range.lower() / kBlockBytes * kBlockBytes, (range.upper() + kBlockBytes - 1) / kBlockBytes * kBlockBytes};
}

class WarpConversion final : public Conversion<WarpImportSummary> {
 public:
  WarpConversion(WarpLog& log, const std::string& tool, const std::string& path, const WarpImportOptions& options)
      : options_(options) {
    header.quantum_bytes = kAddressQuantum;
    header.tool = "uvmsim trace import " + tool + ", conversion 1";
    header.program = path;
    header.provenance = options.provenance;
    header.attributes = {{"accesses", "every address of global memory, by thread block"},
                         {"durations", "not recorded; 2 us + 1 ns per 1000 bytes touched"},
                         {"objects", "not recorded; 2 MB blocks in which something is touched"}};
    for (WarpEvent event; log.next(event);) events_.push_back(read(event));
    make_objects();
    if (options.kind == ObjectKind::kManaged) host_writes_first();
  }

 private:
  bool go_on() override {
    if (at_ == events_.size()) {
      if (ended_) return false;
      ended_ = true;
      ready.emplace_back(Sync{});
      return true;
    }
    WarpRecord& event = events_[at_++];
    event.copy_bytes != 0 ? copy(event) : launch(event);
    event = {};
    return true;
  }

  WarpRecord read(WarpEvent& in) {
    WarpRecord out;
    out.copy_address = in.copy_address;
    out.copy_bytes = in.copy_bytes;
    if (in.copy_bytes != 0) return out;
    WarpLaunch& launch = in.launch;
    out.kernel.name = std::move(launch.name);
    out.kernel.grid = launch.grid;
    out.kernel.block = launch.block;
    out.kernel.registers_per_thread = launch.registers;
    out.kernel.shared_bytes_per_block = launch.shared_bytes;
    out.kernel.stream = stream(launch.stream);
    summary.instructions += launch.instructions;
    const std::uint64_t blocks = launch.grid.count();
    const std::uint64_t per_slice = (blocks + WarpLogImporter::kMostPhases - 1) / WarpLogImporter::kMostPhases;
    AccessSet all, of_slice;
    const auto finish_slice = [&](std::uint64_t slice) {
      Units units = take_units(of_slice);
      add_units(all, units);
      if (units.empty()) return;
      const std::uint64_t first = slice * per_slice;
      out.slices.push_back({first, std::min(per_slice, blocks - first), std::move(units)});
    };
    std::uint64_t slice = 0;
    for (auto& [block, set] : launch.blocks) {
      if (block / per_slice != slice) finish_slice(slice);
      slice = block / per_slice;
      add_units(of_slice, take_units(set));
    }
    finish_slice(slice);
    out.touched = take_units(all);
    return out;
  }

  // Numbers streams by first appearance, as the tools name them by their addresses.
  std::uint32_t stream(std::uint64_t name) {
    const std::size_t next = std::min<std::size_t>(streams_.size(), kMaxStream);
    return static_cast<std::uint32_t>(streams_.try_emplace(name, next).first->second);
  }

  void make_objects() {
    AddressSet used;
    for (const WarpRecord& event : events_) {
      for (const Extent& extent : event.touched) used += blocks_around(addresses(extent.first, extent.count));
      if (event.copy_bytes != 0) used += blocks_around({event.copy_address, event.copy_address + event.copy_bytes});
    }
    for (const AddressRange& range : used) {
      const ObjectId id = ++summary.objects;
      live_.insert(id, range.lower(), range.upper() - range.lower());
      ready.emplace_back(ObjectAlloc{id, options_.kind, range.upper() - range.lower(), range.lower(), 0});
    }
  }

  // Makes the host write the memory that a kernel reads and neither a kernel nor a copy wrote before.
  void host_writes_first() {
    AddressSet known;
    AccessSet written;
    for (const WarpRecord& event : events_) {
      if (event.copy_bytes != 0) known += AddressRange(event.copy_address, event.copy_address + event.copy_bytes);
      for (const Extent& extent : event.touched) {
        const AddressRange range = addresses(extent.first, extent.count);
        if (extent.mode != AccessMode::kWrite) {
          AddressSet fresh(range);
          const auto [first, last] = known.equal_range(range);
          for (auto part = first; part != last; ++part) fresh -= *part;
          for (const AddressRange& part : fresh) {
            const std::uint64_t bytes = part.upper() - part.lower();
            summary.implied_host_bytes += bytes;
            live_.add_accesses(part.lower(), bytes, AccessMode::kWrite, kAddressQuantum, written);
          }
        }
        known += range;
      }
    }
    host_access(written);
  }

  void host_access(AccessSet& set) {
    for (ObjectAccess& access : set.take()) {
      ready.emplace_back(HostAccess{access.object, std::move(access.extents), {}, 0});
    }
  }

  void copy(const WarpRecord& event) {
    ++summary.copies;
    if (options_.kind == ObjectKind::kManaged) {
      AccessSet written;
      live_.add_accesses(event.copy_address, event.copy_bytes, AccessMode::kWrite, kAddressQuantum, written);
      host_access(written);
      return;
    }
    const AddressMap::Entry entry = live_.find(event.copy_address);
    Memcpy out;
    out.dst = {entry.id, event.copy_address - entry.address};
    out.bytes = event.copy_bytes;
    out.kind = CopyKind::kHostToDevice;
    ready.emplace_back(out);
  }

  std::vector<ObjectAccess> accesses(const Units& units) const {
    AccessSet set;
    for (const Extent& extent : units) {
      live_.add_accesses(extent.first * kAddressQuantum, extent.count * kAddressQuantum, extent.mode, kAddressQuantum,
                         set);
    }
    return set.take();
  }

  void launch(WarpRecord& event) {
    Kernel out = std::move(event.kernel);
    out.distribution = distribution_by_name(out.name);
    out.accesses = accesses(event.touched);
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kInstrumented;
    const std::uint64_t bytes = touched_quanta(out.accesses) * kAddressQuantum;
    out.duration_ns = static_cast<std::int64_t>(2000 + bytes / 1000);
    std::size_t extents = 0;
    for (const Slice& slice : event.slices) extents += slice.touched.size();
    if (event.slices.size() > 1 && extents <= kMaxPhaseExtents / 2) {
      add_phases(event, out);
    } else if (event.slices.size() > 1) {
      ++summary.without_phases;
    }
    ++summary.kernels;
    summary.touched_bytes += bytes;
    ready.emplace_back(std::move(out));
  }

  void add_phases(const WarpRecord& event, Kernel& out) const {
    std::unordered_map<ObjectId, std::uint32_t> slots;  // never iterated
    for (std::size_t i = 0; i < out.accesses.size(); ++i) {
      slots.emplace(out.accesses[i].object, static_cast<std::uint32_t>(i));
    }
    std::vector<Phase>& phases = out.phases.edit();
    for (const Slice& slice : event.slices) {
      Phase& phase = phases.emplace_back(Phase{slice.first_block, slice.blocks, {}});
      for (const ObjectAccess& access : accesses(slice.touched)) {
        phase.accesses.push_back({slots.at(access.object), {access.extents.begin(), access.extents.end()}});
      }
    }
  }

  WarpImportOptions options_;
  std::vector<WarpRecord> events_;
  std::size_t at_ = 0;
  bool ended_ = false;
  AddressMap live_;
  std::unordered_map<std::uint64_t, std::size_t> streams_;  // never iterated
};

}  // namespace

WarpLogImporter::WarpLogImporter(WarpLog& log, const std::string& tool, const std::string& path,
                                 const WarpImportOptions& options)
    : Importer(std::make_unique<WarpConversion>(log, tool, path, options)) {}

}  // namespace uvmsim::trace
