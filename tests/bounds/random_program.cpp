// SPDX-License-Identifier: Apache-2.0
#include "tests/bounds/random_program.h"

#include <algorithm>
#include <array>
#include <vector>

#include "sim/common/units.h"
#include "sim/engine/tile_shape.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim {

namespace {

class Writer {
 public:
  Writer(Random& random, const RandomProgramOptions& options) : random_(random), options_(options) {
    for (unsigned i = 0; i < options.objects; ++i) allocate();
  }

  Program write() {
    for (unsigned i = 0; i < options_.records; ++i) add_record();
    if (random_.below(2) == 0) {
      while (!live_.empty()) free_one();
    }
    return std::move(program_);
  }

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  std::uint32_t stream() { return options_.streams ? static_cast<std::uint32_t>(random_.below(3)) : 0; }
  std::int32_t device() { return static_cast<std::int32_t>(random_.below(options_.gpus)); }
  trace::ObjectId any_object() { return live_[random_.below(live_.size())]; }

  void allocate() {
    // Small ones share 2 MB blocks with others under some layouts.
    const std::uint64_t most = one_in(3) ? 300 : options_.largest_object_pages;
    const std::uint64_t bytes = (1 + random_.below(most)) * kPage - (one_in(4) ? 512 : 0);
    live_.push_back(options_.tensors ? program_.alloc_tensor(bytes) : program_.alloc(bytes));
  }
  void free_one() {
    const std::size_t which = random_.below(live_.size());
    if (options_.tensors) {
      program_.add(trace::TensorFree{live_[which]});
    } else {
      program_.free(live_[which]);
    }
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  std::pair<std::uint64_t, std::uint64_t> part_of(trace::ObjectId id) {  // first page, count
    const std::uint64_t pages = std::max<std::uint64_t>(program_.bytes(id) / kPage, 1);
    if (one_in(2)) return {0, pages};
    const std::uint64_t first = random_.below(pages);
    return {first, 1 + random_.below(pages - first)};
  }
  trace::AccessMode mode() { return static_cast<trace::AccessMode>(1 + random_.below(3)); }

  void add_kernel() {
    trace::Kernel kernel;
    kernel.name = one_in(3) ? "gemm" : "kernel";
    kernel.stream = stream();
    kernel.device = device();
    kernel.duration_ns = static_cast<std::int64_t>(random_.below(one_in(3) ? 2000000 : 50000));
    kernel.host_gap_ns = static_cast<std::int64_t>(one_in(3) ? random_.below(300000) : 0);
    kernel.block = {static_cast<std::uint32_t>(32u << random_.below(5)), one_in(4) ? 2u : 1u, 1};
    kernel.grid = {static_cast<std::uint32_t>(1 + random_.below(one_in(2) ? 8 : 600)),
                   static_cast<std::uint32_t>(one_in(3) ? 1 + random_.below(6) : 1), 1};
    kernel.distribution = static_cast<trace::Distribution>(random_.below(4));
    // a thread returns to a page this often
    const bool by_thread = kernel.distribution == trace::Distribution::kThreadChunk;
    kernel.bytes_per_thread_access = one_in(2) ? (by_thread ? 1024 : 16) : 0;
    std::vector<trace::ObjectId> ids = live_;
    for (std::uint64_t n = 1 + random_.below(std::min<std::uint64_t>(ids.size(), 4)); n > 0; --n) {
      const std::size_t which = random_.below(ids.size());
      const auto [first, count] = part_of(ids[which]);
      trace::ObjectAccess access{ids[which], {{first, count, mode()}}};
      if (count > 8 && one_in(4)) {  // with a hole
        access.extents = {{first, count / 4, mode()}, {first + count / 2, count - count / 2, mode()}};
      }
      kernel.accesses.push_back(access);
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (one_in(5)) add_touches(kernel);
    if (one_in(5)) add_phases(kernel);
    if (one_in(3)) name_as_known(kernel);
    program_.add(kernel);
  }
  // Kernels whose names say how blocks share their operands; half of the products have a grid that fits the last of
  // them.
  void name_as_known(trace::Kernel& kernel) {
    constexpr std::array<const char*, 5> kNames = {
        "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", "cutlass_80_simt_sgemm_128x256_8x4_nt_align1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize256x128x8_stage3", "bn_fw_tr_1C11_kernel_NCHW"};
    kernel.name = kNames.at(random_.below(kNames.size()));
    const auto tile = trace::matrix_tile_by_name(kernel.name);
    if (!tile) return add_phases(kernel);
    if (one_in(4)) kernel.grid.z = static_cast<std::uint32_t>(1 + random_.below(4));
    if (one_in(2)) return;
    trace::Extent& output = kernel.accesses.back().extents.edit().front();
    output.mode = trace::AccessMode::kWrite;
    const std::uint64_t rows = (1 + random_.below(3)) * tile->rows;
    const auto tiles = engine::ProductTiles::of(*tile, rows, output.count * kPage / tile->element_bytes / rows + 1);
    kernel.grid.x = static_cast<std::uint32_t>(tiles.grid_x());
    kernel.grid.y = static_cast<std::uint32_t>(tiles.grid_y());
    kernel.distribution = trace::Distribution::kTiled;
    kernel.touches.clear();
    kernel.phases.clear();
  }
  void add_touches(trace::Kernel& kernel) {
    if (one_in(2)) kernel.grid = kernel.block = {1, 1, 1};
    for (std::uint64_t n = 1 + random_.below(200); n > 0; --n) {
      const auto slot = static_cast<std::uint32_t>(random_.below(kernel.accesses.size()));
      const trace::Extent& extent = kernel.accesses[slot].extents.front();
      kernel.touches.push_back({slot, extent.first + random_.below(extent.count), mode()});
    }
  }
  void add_phases(trace::Kernel& kernel) {
    const std::uint64_t blocks = kernel.grid.count();
    const std::uint64_t phases = std::min<std::uint64_t>(blocks, 1 + random_.below(4));
    for (std::uint64_t i = 0; i < phases; ++i) {
      trace::Phase phase;
      phase.first_block = blocks * i / phases;
      phase.block_count = blocks * (i + 1) / phases - phase.first_block;
      for (std::uint32_t slot = 0; slot < kernel.accesses.size(); ++slot) {
        phase.accesses.push_back({slot, kernel.accesses[slot].extents});
      }
      kernel.phases.edit().push_back(phase);
    }
  }

  void add_record() {
    const std::uint64_t kind = random_.below(20);
    const trace::ObjectId id = any_object();
    if (options_.host && kind == 0) {
      const auto [first, count] = part_of(id);
      return program_.host(id, first, std::min<std::uint64_t>(count, 300), mode(),
                           static_cast<std::int64_t>(random_.below(20000)));
    }
    if (options_.host && kind == 1) {
      const bool to_device = one_in(2);
      trace::Memcpy copy;
      copy.bytes = 1 + random_.below(program_.bytes(id));
      (to_device ? copy.dst : copy.src).object = id;
      copy.kind = to_device ? trace::CopyKind::kHostToDevice : trace::CopyKind::kDeviceToHost;
      copy.stream = stream();
      copy.blocking = one_in(2);
      program_.add(copy);
      return;
    }
    if (options_.host && kind == 2) {
      program_.add(
          trace::Prefetch{id, 0, 1 + random_.below(program_.bytes(id)), one_in(3) ? -1 : device(), stream(), 0});
      return;
    }
    if (options_.host && kind == 3) {
      program_.add(trace::Memset{id, 0, 1 + random_.below(program_.bytes(id)), stream(), 0});
      return;
    }
    if (kind == 4 && live_.size() > 2) return free_one();
    if (kind == 5) return allocate();
    if (kind == 6) return one_in(2) ? program_.sync() : program_.sync_stream(stream());
    if (options_.streams && kind < 10) {
      const std::uint64_t event = random_.below(2);
      if (kind == 9 && recorded_[event]) {
        const auto who = stream();
        if (one_in(4)) {
          program_.add(trace::Sync{trace::SyncKind::kEventSynchronize, who, event, 0});
        } else {
          program_.wait_event(who, event);
        }
        return;
      }
      recorded_[event] = true;
      return program_.record_event(stream(), event);
    }
    if (options_.advice && kind == 10 && one_in(4)) {
      return program_.advise(id, static_cast<trace::Advice>(random_.below(6)), one_in(2) ? -1 : 0);
    }
    if (options_.advice && kind == 11) {
      program_.add(trace::Discard{id, 0, 1 + random_.below(program_.bytes(id)), stream()});
      return;
    }
    add_kernel();
  }

  Random& random_;
  const RandomProgramOptions& options_;
  Program program_;
  std::vector<trace::ObjectId> live_;
  bool recorded_[2] = {false, false};
};

}  // namespace

Program random_program(Random& random, const RandomProgramOptions& options) { return Writer(random, options).write(); }

config::SystemConfig random_system(Random& random) {
  const auto below = [&](std::uint64_t n) { return random.below(n); };
  config::SystemConfig system = plain_system();
  config::LinkConfig& link = system.host_links[0];
  link.host_to_device = {below(3000), below(3000), 1000 + below(60000)};
  link.device_to_host = {below(3000), below(3000), 1000 + below(60000)};
  if (below(2) == 0) {
    link.both_ways_bytes_per_us =
        std::max(link.host_to_device.bytes_per_us, link.device_to_host.bytes_per_us) + below(40000);
  }
  if (below(4) == 0) system.host.memory_bytes_per_us = 500 + below(60000);
  system.host.large_pages = below(3) != 0;
  system.gpus[0].sm_count = static_cast<std::uint32_t>(1 + below(16));
  system.gpus[0].max_blocks_per_sm = static_cast<std::uint32_t>(1 + below(32));
  system.driver.thrashing_enable = below(2) == 0;
  system.driver.access_counter_migration = below(8) == 0;
  system.driver.access_counter_threshold = 16;
  if (below(2) == 0) {
    system.costs = {};
    for (std::uint64_t config::DriverCosts::*cost : {&config::DriverCosts::wakeup_ns,
                                                     &config::DriverCosts::late_interrupt_ns,
                                                     &config::DriverCosts::first_fault_ns,
                                                     &config::DriverCosts::sleep_after_ns,
                                                     &config::DriverCosts::sleep_doubling_ns,
                                                     &config::DriverCosts::batch_ns,
                                                     &config::DriverCosts::raw_fault_ns,
                                                     &config::DriverCosts::fault_entry_ns,
                                                     &config::DriverCosts::stale_block_ns,
                                                     &config::DriverCosts::block_ns,
                                                     &config::DriverCosts::new_chunk_ns,
                                                     &config::DriverCosts::unmap_host_run_ns,
                                                     &config::DriverCosts::unmap_host_page_ns,
                                                     &config::DriverCosts::push_ns,
                                                     &config::DriverCosts::push_run_ns,
                                                     &config::DriverCosts::push_to_engine_ns,
                                                     &config::DriverCosts::push_gap_ns,
                                                     &config::DriverCosts::after_push_ns,
                                                     &config::DriverCosts::after_copies_ns,
                                                     &config::DriverCosts::map_block_ns,
                                                     &config::DriverCosts::map_page_ns,
                                                     &config::DriverCosts::populate_page_ns,
                                                     &config::DriverCosts::copies_done_ns,
                                                     &config::DriverCosts::protect_block_ns,
                                                     &config::DriverCosts::remote_map_ns,
                                                     &config::DriverCosts::evict_chunk_ns,
                                                     &config::DriverCosts::host_allocate_chunk_ns,
                                                     &config::DriverCosts::cpu_fault_ns,
                                                     &config::DriverCosts::cpu_fault_page_ns,
                                                     &config::DriverCosts::prefetch_block_ns,
                                                     &config::DriverCosts::prefetch_call_ns}) {
      system.costs.*cost = 0;
    }
    system.costs.poll_read_ns = system.costs.replay_ns = 500;  // throttled faults repeat at once
    system.gmmu.fault_ps = 0;
    system.gmmu.resume_spread_ns = 0;
    system.runtime.first_load_ns = system.runtime.migrated_load_ns = system.runtime.block_spread_ns = 0;
    system.runtime.load_ns = system.runtime.store_ns = system.runtime.load_after_store_ns = 0;
    system.runtime.block_start_ns = system.runtime.block_launch_ns = system.runtime.kernel_start_ns = 0;
    system.runtime.touch_ns = system.runtime.touch_write_ns = 0;
  }
  if (below(6) == 0) {
    system.gpus.push_back(system.gpus[0]);
    system.host_links.push_back(system.host_links[0]);
  }
  return system;
}

}  // namespace uvmsim
