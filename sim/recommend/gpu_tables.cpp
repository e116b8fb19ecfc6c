// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/gpu_tables.h"

#include <algorithm>

#include "sim/common/error.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;
using trace::AccessMode;

// Bytes of a set's tags and last uses, which a lookup in the cache reads.
constexpr std::uint64_t kSetBytes = RowCache::kWays * 8;
// Bytes of the location of a lookup's row in the cache, read by the embedding kernels.
constexpr std::uint64_t kLocationBytes = 4;
// FBGEMM gives a fetch ahead one eighth of the SMs; the dense layers have the rest during the fetch. (The link stays as
// fast: configs/measurements/row_gather_h200.txt.)
constexpr std::int64_t kSmsLeft = 7;
// RocksDB reads whole blocks for a row.
constexpr std::uint64_t kSsdBlockBytes = 4096;

std::uint64_t cache_sets(std::uint64_t rows, std::uint64_t row_bytes, std::uint32_t load_factor_thousandths,
                         std::uint64_t room) {
  const auto wanted = static_cast<std::uint64_t>(
      (WideUnsigned{rows} * load_factor_thousandths / 1000 + RowCache::kWays - 1) / RowCache::kWays);
  return std::max<std::uint64_t>(1, std::min(wanted, room / (RowCache::kWays * row_bytes)));
}

Event fetched_event(std::uint64_t step) { return step % 2 == 0 ? Event::kFetchedEven : Event::kFetchedOdd; }

}  // namespace

void RowStatistics::add(const RowStatistics& other) {
  steps = other.steps;
  for (const auto member :
       {&RowStatistics::lookups, &RowStatistics::unique, &RowStatistics::hits, &RowStatistics::lookup_hits,
        &RowStatistics::inserted, &RowStatistics::evicted, &RowStatistics::conflicts, &RowStatistics::conflict_lookups,
        &RowStatistics::device_bytes, &RowStatistics::host_read_bytes, &RowStatistics::host_written_bytes,
        &RowStatistics::host_cache_hits, &RowStatistics::ssd_read_rows, &RowStatistics::ssd_written_rows,
        &RowStatistics::ssd_read_bytes, &RowStatistics::ssd_written_bytes}) {
    this->*member += other.*member;
  }
}

GpuTables::GpuTables(const Workload& workload, const ShardMap::Share& share, const Placement& placement,
                     const ProgramOptions& options, const config::SystemConfig& system, const StepCosts& costs,
                     GpuQueue queue)
    : share_(share),
      placement_(placement),
      options_(options),
      ssd_(system.ssd),
      costs_(costs),
      lane_(system.host_links.front(), system.runtime),
      row_bytes_(workload.row_bytes()),
      state_row_bytes_(options.training ? options.optimizer->bytes_per_row(workload) : 0),
      state_touched_bytes_(options.training ? options.optimizer->touched_bytes(workload) : 0),
      bags_(workload.batch * options.gpus * share.tables),
      most_lookups_(workload.batch * options.gpus * workload.lookups_per_sample()),
      queue_(queue) {
  if (placement.memory != Memory::kDevice && device_state_bytes() >= options.gpu_bytes) {
    throw_input_error("{}: optimizer state of {} bytes in {} bytes of GPU memory; allowed: more memory than state",
                      placement.name, device_state_bytes(), options.gpu_bytes);
  }
  if (!placement.cached) return;
  const std::uint64_t sets = cache_sets(share.rows, row_bytes_, options.load_factor_thousandths, table_room());
  if (sets * RowCache::kWays * row_bytes_ > table_room()) {
    throw_input_error("{}: {} bytes of GPU memory; allowed: at least one set of the cache, {} bytes", placement.name,
                      table_room(), RowCache::kWays * row_bytes_);
  }
  if (placement.policy == CachePolicy::kLfu && sets > RowCache::kMostLfuSets) {
    throw_input_error("{}: a cache of {} sets; allowed: up to {} by use counts, as in FBGEMM", placement.name, sets,
                      RowCache::kMostLfuSets);
  }
  cache_.emplace(placement.policy, sets, placement.ahead ? 1 : 0);
  if (placement.memory == Memory::kSsd) host_cache_.emplace(options.host_cache_bytes / row_bytes_);
}

std::uint64_t GpuTables::host_bytes() const {
  if (placement_.memory == Memory::kDevice || placement_.memory == Memory::kSsd) return 0;
  return table_bytes() + state_bytes() - device_state_bytes();
}
std::uint64_t GpuTables::device_state_bytes() const {
  const bool with_tables = options_.optimizer->state == Optimizer::State::kPerElement;
  return with_tables && placement_.memory != Memory::kDevice ? 0 : state_bytes();
}
std::uint64_t GpuTables::cache_rows() const { return cache_ ? cache_->sets() * RowCache::kWays : 0; }
std::uint64_t GpuTables::cache_rows_used() const { return cache_ ? cache_->cached_rows() : 0; }

// Brings the caches to their state after many batches.
void GpuTables::warm_up(std::uint64_t step) {
  Fetched& warm = fetched_[step % 2];
  group_rows(warm.batch);
  cache_->prefetch(warm.batch.rows, warm.outcome);
  if (host_cache_) exchange_with_ssd(warm.outcome, false);
}

void GpuTables::set_up() {
  switch (placement_.memory) {
    case Memory::kDevice:
      queue_.allocate(Object::kTables, table_bytes());
      break;
    case Memory::kManaged:
      queue_.allocate_on_host(Object::kTables, table_bytes(), true);
      break;
    case Memory::kFaulting:
      queue_.allocate_on_host(Object::kTables, table_bytes(), false);
      break;
    case Memory::kSsd:
      // The buffer holds rows on their way from and to the host cache and the SSD, and rows for which the GPU's cache
      // has no way.
      queue_.allocate_on_host(Object::kStaging, 2 * most_lookups_ * row_bytes_, true);
      break;
  }
  if (device_state_bytes() != 0) {
    queue_.allocate(Object::kState, device_state_bytes());
  } else if (state_bytes() != 0) {
    queue_.allocate_on_host(Object::kState, state_bytes(), placement_.memory == Memory::kManaged);
  }
  if (placement_.memory == Memory::kFaulting) fill_memory();
  if (cache_) queue_.allocate(Object::kCache, cache_rows() * (row_bytes_ + 16));
}

// Fills GPU memory, as after many steps.
void GpuTables::fill_memory() {
  std::uint64_t room = table_room();
  const auto prefetch = [&](Object object, std::uint64_t bytes) {
    bytes = std::min(room, bytes);
    if (bytes != 0) {
      queue_.add(trace::Prefetch{queue_.number(object), 0, bytes, queue_.device(), queue_.number(Stream::kCompute), 0});
    }
    room -= bytes;
  };
  prefetch(Object::kTables, table_bytes());
  prefetch(Object::kState, state_bytes() - device_state_bytes());
}

void GpuTables::begin_step(std::uint64_t step) {
  if (!cache_) {
    group_rows(fetched_[step % 2].batch);
  } else if (!placement_.ahead) {
    fetch(step, Stream::kCompute);
  } else {
    // The rows of the previous batch may leave the cache, so they must be up to date.
    if (step != 0) queue_.wait(Stream::kAhead, Event::kUpdated);
    fetch(step + 1, Stream::kAhead);
  }
  if (placement_.ahead) queue_.wait(Stream::kCompute, fetched_event(step));
}

void GpuTables::end_step(std::uint64_t step, bool counts) {
  queue_.record(Stream::kCompute, Event::kUpdated);
  if (counts) {
    count(fetched_[step % 2]);
  } else {
    statistics_ = {};
  }
}

std::int64_t GpuTables::disturbed_ns(std::int64_t dense_ns) const {
  return placement_.ahead ? std::min(fetch_ns_, dense_ns) / kSmsLeft : 0;
}

void GpuTables::count(const Fetched& fetched) {
  const std::vector<std::uint64_t>& uncached = fetched.outcome.uncached;
  ++statistics_.steps;
  statistics_.lookups += fetched.batch.lookups.size();
  statistics_.unique += fetched.batch.rows.size();
  if (!cache_) return;
  statistics_.hits += fetched.outcome.hits;
  statistics_.inserted += fetched.outcome.inserted.size();
  statistics_.evicted += fetched.outcome.evicted.size();
  statistics_.conflicts += uncached.size();
  auto missed = fetched.outcome.inserted.begin();
  auto conflict = uncached.begin();
  for (std::size_t i = 0; i < fetched.batch.rows.size(); ++i) {
    const std::uint64_t row = fetched.batch.rows[i];
    const bool inserted = missed != fetched.outcome.inserted.end() && *missed == row;
    const bool conflicts = conflict != uncached.end() && *conflict == row;
    if (inserted) ++missed;
    if (conflicts) ++conflict;
    if (conflicts) statistics_.conflict_lookups += fetched.batch.counts[i];
    if (!inserted && !conflicts) statistics_.lookup_hits += fetched.batch.counts[i];
  }
}

// Does FBGEMM's prefetch of a batch: finds the rows that are not in the cache, and inserts them.
void GpuTables::fetch(std::uint64_t step, Stream stream) {
  Fetched& fetched = fetched_[step % 2];
  const Batch& batch = fetched.batch;
  const RowCache::Outcome& outcome = fetched.outcome;
  group_rows(fetched.batch);
  cache_->prefetch(batch.rows, fetched.outcome);
  const std::int64_t unique_ns = costs_.unique_ns(batch.lookups.size());
  const std::int64_t find_ns = costs_.read_rows_ns(batch.rows.size(), kSetBytes);
  queue_.add_kernel("cache_unique", stream, unique_ns);
  queue_.add_kernel("cache_find", stream, find_ns);
  fetch_ns_ = unique_ns + find_ns;
  const std::uint64_t reads = outcome.inserted.size(), writes = outcome.evicted.size();
  std::uint64_t ssd_writes = 0;
  if (host_cache_) {
    queue_.record(stream, Event::kFound);
    queue_.wait(Stream::kSsdRead, Event::kFound);
    const std::uint64_t before = statistics_.ssd_read_rows;
    ssd_writes = exchange_with_ssd(outcome, true);
    const std::uint64_t ssd_reads = statistics_.ssd_read_rows - before;
    if (ssd_reads != 0) {
      const std::uint64_t bytes = ssd_reads * std::max(kSsdBlockBytes, row_bytes_);
      statistics_.ssd_read_bytes += bytes;
      queue_.add_kernel("ssd_read", Stream::kSsdRead,
                        static_cast<std::int64_t>(ssd_.read_latency_ns + bytes * 1000 / ssd_.read_bytes_per_us));
    }
    queue_.record(Stream::kSsdRead, Event::kRead);
    queue_.wait(stream, Event::kRead);
  }
  if (reads != 0) {
    trace::Kernel& kernel = queue_.add_kernel(
        "cache_insert", stream,
        costs_.write_rows_ns(reads, row_bytes_) + (writes != 0 ? costs_.read_rows_ns(writes, row_bytes_) : 0));
    kernel.grid.x = static_cast<std::uint32_t>((reads + 7) / 8);  // a warp per row
    fetch_ns_ += kernel.duration_ns + lane_.time({reads + writes, reads * row_bytes_, writes * row_bytes_}).value;
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = queue_.number(host_cache_ ? Object::kStaging : Object::kTables);
    if (host_cache_) {
      access.extents.push_back({0, reads, AccessMode::kRead});
      const std::uint64_t outgoing = most_lookups_;
      if (writes != 0) access.extents.push_back({outgoing, writes, AccessMode::kWrite});
    } else {
      auto out = outcome.evicted.begin();
      const auto write_up_to = [&](std::uint64_t row) {
        for (; out != outcome.evicted.end() && *out < row; ++out) {
          access.extents.push_back({*out, 1, AccessMode::kWrite});
        }
      };
      for (const std::uint64_t row : outcome.inserted) {
        write_up_to(row);
        access.extents.push_back({row, 1, AccessMode::kRead});
      }
      write_up_to(~std::uint64_t{0});
    }
    statistics_.host_read_bytes += reads * row_bytes_;
    statistics_.host_written_bytes += writes * row_bytes_;
    statistics_.device_bytes += (reads + writes) * row_bytes_;
  }
  queue_.record(stream, Event::kInserted);
  queue_.record(stream, fetched_event(step));
  if (ssd_writes != 0) {
    // RocksDB appends changes and sorts them later, which is not modelled.
    const std::uint64_t bytes = ssd_writes * row_bytes_;
    statistics_.ssd_written_bytes += bytes;
    queue_.wait(Stream::kSsdWrite, Event::kInserted);
    queue_.add_kernel("ssd_write", Stream::kSsdWrite,
                      static_cast<std::int64_t>(ssd_.write_latency_ns + bytes * 1000 / ssd_.write_bytes_per_us));
  }
}

// Missed rows come from the host cache or the SSD, rows that leave the GPU's cache go to the host cache, and its oldest
// changed rows to the SSD. Returns the number of the latter.
std::uint64_t GpuTables::exchange_with_ssd(const RowCache::Outcome& outcome, bool count) {
  std::uint64_t reads = 0, writes = 0, hits = 0;
  for (const auto* missed : {&outcome.inserted, &outcome.uncached}) {
    for (const std::uint64_t row : *missed) {
      if (host_cache_->touch(row)) {
        ++hits;
      } else {
        ++reads;
        writes += host_cache_->put(row, false) ? 1 : 0;
      }
    }
  }
  for (const auto* leaving : {&outcome.evicted, &outcome.uncached}) {
    for (const std::uint64_t row : *leaving) writes += host_cache_->put(row, options_.training) ? 1 : 0;
  }
  if (count) {
    statistics_.host_cache_hits += hits;
    statistics_.ssd_read_rows += reads;
    statistics_.ssd_written_rows += writes;
  }
  return writes;
}

// Adds lookups of `rows`, each by a warp of its own, in this order, including repeated ones.
void GpuTables::add_touches(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows, Object object) const {
  if (rows.empty()) return;
  kernel.distribution = trace::Distribution::kThreadChunk;
  kernel.block.x = 1;
  kernel.bytes_per_thread_access = static_cast<std::uint32_t>(row_bytes_);
  kernel.touches.reserve(rows.size());
  for (const std::uint64_t row : rows) kernel.touches.push_back({0, row, AccessMode::kRead});
  trace::ObjectAccess& access = kernel.accesses.emplace_back();
  access.object = queue_.number(object);
}

std::int64_t GpuTables::locations_ns(std::uint64_t lookups) const {
  return cache_ ? costs_.stream_ns(lookups * kLocationBytes) : 0;
}

void GpuTables::emit_forward(std::uint64_t step) {
  const Fetched& fetched = fetched_[step % 2];
  const Batch& batch = fetched.batch;
  const std::uint64_t lookups = batch.lookups.size();
  trace::Kernel& kernel = queue_.add_kernel(
      "embedding_forward", Stream::kCompute,
      costs_.read_rows_ns(lookups, row_bytes_) + costs_.stream_ns(bags_ * row_bytes_) + locations_ns(lookups));
  kernel.grid.x = static_cast<std::uint32_t>(bags_);
  std::vector<std::uint64_t> remote;
  if (cache_) {
    // Rows that have no way in the cache are read at every lookup. With an SSD they are in the staging buffer after the
    // inserted ones.
    const auto& uncached = fetched.outcome.uncached;
    for (std::size_t i = 0; i < uncached.size(); ++i) {
      const auto at = std::lower_bound(batch.rows.begin(), batch.rows.end(), uncached[i]) - batch.rows.begin();
      const std::uint64_t place = host_cache_ ? fetched.outcome.inserted.size() + i : uncached[i];
      remote.insert(remote.end(), batch.counts[static_cast<std::size_t>(at)], place);
    }
    add_touches(kernel, remote, host_cache_ ? Object::kStaging : Object::kTables);
    for (std::size_t i = 0; i < remote.size(); ++i) {
      if (i != 0 && remote[i] == remote[i - 1]) continue;
      kernel.accesses[0].extents.push_back({remote[i], 1, AccessMode::kRead});
    }
  } else if (placement_.memory != Memory::kDevice) {
    add_touches(kernel, batch.lookups, Object::kTables);
    for (const std::uint64_t row : batch.rows) kernel.accesses[0].extents.push_back({row, 1, AccessMode::kRead});
  }
  const std::uint64_t in_place = placement_.memory == Memory::kManaged && !cache_ ? lookups : remote.size();
  statistics_.host_read_bytes += in_place * row_bytes_;
  statistics_.device_bytes += (lookups - in_place) * row_bytes_;
}

// Emits kernels that sort the lookups by row, sum the gradients of each row, and update it.
void GpuTables::emit_backward(std::uint64_t step) {
  const Fetched& fetched = fetched_[step % 2];
  const Batch& batch = fetched.batch;
  queue_.add_kernel("backward_sort", Stream::kCompute, costs_.unique_ns(batch.lookups.size()));
  trace::Kernel& kernel =
      queue_.add_kernel("embedding_backward", Stream::kCompute,
                        costs_.read_rows_ns(batch.lookups.size(), row_bytes_) +
                            costs_.update_rows_ns(batch.rows.size(), row_bytes_ + state_touched_bytes_) +
                            locations_ns(batch.lookups.size()));
  kernel.grid.x = std::max(1u, static_cast<std::uint32_t>((batch.rows.size() + 7) / 8));  // a warp per row
  const std::vector<std::uint64_t>& uncached = fetched.outcome.uncached;
  std::uint64_t in_place = 0;
  if (placement_.memory != Memory::kDevice && !(cache_ ? uncached : batch.rows).empty()) {
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = queue_.number(host_cache_ ? Object::kStaging : Object::kTables);
    if (host_cache_) {
      access.extents.push_back({fetched.outcome.inserted.size(), uncached.size(), AccessMode::kReadWrite});
    } else {
      for (const std::uint64_t row : cache_ ? uncached : batch.rows) {
        access.extents.push_back({row, 1, AccessMode::kReadWrite});
      }
    }
    if (placement_.memory != Memory::kFaulting) in_place = cache_ ? uncached.size() : batch.rows.size();
  }
  statistics_.host_read_bytes += in_place * row_bytes_;
  statistics_.host_written_bytes += in_place * row_bytes_;
  statistics_.device_bytes += 2 * (batch.rows.size() - in_place) * row_bytes_;
  update_state(kernel, batch.rows);
}

// The optimizer reads and writes the state of each row, which no row cache holds.
void GpuTables::update_state(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows) {
  if (state_row_bytes_ == 0 || rows.empty()) return;
  const bool on_host = device_state_bytes() == 0;
  if (on_host) {
    const std::uint64_t quanta = state_row_bytes_ / row_bytes_;
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = queue_.number(Object::kState);
    for (const std::uint64_t row : rows) access.extents.push_back({row * quanta, quanta, AccessMode::kReadWrite});
  }
  const std::uint64_t bytes = rows.size() * state_touched_bytes_;
  if (on_host && placement_.memory == Memory::kManaged) {
    statistics_.host_read_bytes += bytes;
    statistics_.host_written_bytes += bytes;
  } else {
    statistics_.device_bytes += 2 * bytes;
  }
}

}  // namespace uvmsim::recommend
