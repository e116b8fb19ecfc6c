#include "sim/recommend/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/common/error.h"

namespace uvmsim::recommend {

namespace {

using Memory = Placement::Memory;
using trace::AccessMode;

constexpr trace::ObjectId kTables = 1, kStaging = 2, kCache = 3;
constexpr std::uint32_t kCompute = 0, kAhead = 1, kSsdRead = 2, kSsdWrite = 3;  // streams
// Events. Fetches are two, by the parity of the step: one may be recorded again before the other is waited for.
constexpr std::uint64_t kUpdated = 1, kFound = 2, kRead = 3, kInserted = 4, kFetchedEven = 5;

// Tags and last uses of a set, which a lookup in the cache reads.
constexpr std::uint64_t kSetBytes = RowCache::kWays * 8;
// Where a lookup's row is in the cache, read by the embedding kernels.
constexpr std::uint64_t kLocationBytes = 4;
// FBGEMM gives a fetch ahead one eighth of the SMs; the dense layers have the rest as long as it runs. (The link stays
// as fast: configs/measurements/row_gather_h200.txt.)
constexpr std::int64_t kSmsLeft = 7;
// RocksDB reads blocks: a row brings its block along.
constexpr std::uint64_t kSsdBlockBytes = 4096;

std::uint64_t cache_sets(const Workload& workload, const ProgramOptions& options) {
  const auto wanted = static_cast<std::uint64_t>(
      (WideUnsigned{workload.total_rows()} * options.load_factor_thousandths / 1000 + RowCache::kWays - 1) /
      RowCache::kWays);
  const std::uint64_t possible = options.gpu_bytes / (RowCache::kWays * workload.row_bytes());
  return std::max<std::uint64_t>(1, std::min(wanted, possible));
}

}  // namespace

Program::Program(const Workload& workload, const Placement& placement, const ProgramOptions& options,
                 const config::SystemConfig& system)
    : workload_(workload),
      placement_(placement),
      options_(options),
      ssd_(system.ssd),
      costs_(workload, system.gpus.front()),
      lane_(system.host_links.front(), system.runtime),
      batches_(workload, options.training, options.seed),
      row_bytes_(workload.row_bytes()) {
  header_.quantum_bytes = static_cast<std::uint32_t>(row_bytes_);
  header_.tool = "uvmsim recommend";
  header_.program =
      fmt::format("{}, {} as {}", workload.name, options.training ? "training" : "inference", placement.name);
  header_.provenance = "generated";
  if (placement.memory == Memory::kSsd && ssd_.memory_bytes < workload.bytes()) {
    throw_input_error("{}: tables of {} bytes on an SSD of {}; allowed: a system with an SSD tier that holds them",
                      placement.name, workload.bytes(), ssd_.memory_bytes);
  }
  if (placement.memory != Memory::kSsd && placement.memory != Memory::kDevice && system.host.memory_bytes != 0 &&
      system.host.memory_bytes < workload.bytes()) {
    throw_input_error("{}: tables of {} bytes on a host of {}; allowed: tables that the host holds", placement.name,
                      workload.bytes(), system.host.memory_bytes);
  }
  if (!placement.cached) return;
  const std::uint64_t sets = cache_sets(workload, options);
  if (sets * RowCache::kWays * row_bytes_ > options.gpu_bytes) {
    throw_input_error("{}: {} bytes of GPU memory; allowed: at least one set of the cache, {} bytes", placement.name,
                      options.gpu_bytes, RowCache::kWays * row_bytes_);
  }
  if (placement.policy == CachePolicy::kLfu && sets > RowCache::kMostLfuSets) {
    throw_input_error("{}: a cache of {} sets; allowed: up to {} by use counts, as in FBGEMM", placement.name, sets,
                      RowCache::kMostLfuSets);
  }
  cache_.emplace(placement.policy, sets, placement.ahead ? 1 : 0);
  if (placement.memory == Memory::kSsd) host_cache_.emplace(options.host_cache_bytes / row_bytes_);
}

std::int64_t Program::dense_ns() const { return costs_.dense_forward_ns() * (options_.training ? 3 : 1); }

std::uint64_t Program::cache_rows() const { return cache_ ? cache_->sets() * RowCache::kWays : 0; }
std::uint64_t Program::cache_rows_used() const { return cache_ ? cache_->cached_rows() : 0; }

bool Program::next(trace::Record& record) {
  while (pending_.empty()) {
    switch (stage_) {
      case Stage::kSetUp:
        warm_up();
        set_up();
        stage_ = Stage::kSteps;
        break;
      case Stage::kSteps:
        if (step_ > options_.steps) {
          pending_.push_back(trace::Sync{});
          stage_ = Stage::kDone;
        } else {
          emit_step(step_++);
        }
        break;
      case Stage::kDone:
        return false;
    }
  }
  record = std::move(pending_.front());
  pending_.pop_front();
  return true;
}

// The caches as they are after so many batches.
void Program::warm_up() {
  if (!cache_) return;
  Fetched warm;
  for (std::uint64_t number = 0; number < options_.warm_up; ++number) {
    batches_.fill(number, warm.batch);
    cache_->prefetch(warm.batch.rows, warm.outcome);
    if (host_cache_) exchange_with_ssd(warm.outcome, false);
  }
}

void Program::set_up() {
  const std::uint64_t table_bytes = workload_.bytes();
  switch (placement_.memory) {
    case Memory::kDevice:
      pending_.push_back(trace::ObjectAlloc{kTables, trace::ObjectKind::kDevice, table_bytes, 0, 0});
      break;
    case Memory::kManaged:
      emit_managed(kTables, table_bytes, true);
      break;
    case Memory::kFaulting:
      emit_managed(kTables, table_bytes, false);
      // As after many steps: GPU memory is full.
      pending_.push_back(trace::Prefetch{kTables, 0, std::min(options_.gpu_bytes, table_bytes), 0, kCompute, 0});
      break;
    case Memory::kSsd:
      // Rows on their way from and to the host cache and the SSD, and those that found no way in the GPU's.
      emit_managed(kStaging, 2 * workload_.batch * workload_.lookups_per_sample() * row_bytes_, true);
      break;
  }
  if (cache_) {
    pending_.push_back(trace::ObjectAlloc{kCache, trace::ObjectKind::kDevice, cache_rows() * (row_bytes_ + 16), 0, 0});
  }
  pending_.push_back(trace::Sync{});
  if (placement_.ahead) fetch(0, kCompute);
}

// Managed memory that lies on the host. With FBGEMM's hints the GPU accesses it there.
void Program::emit_managed(trace::ObjectId id, std::uint64_t bytes, bool hints) {
  pending_.push_back(trace::ObjectAlloc{id, trace::ObjectKind::kManaged, bytes, 0, 0});
  pending_.push_back(trace::Prefetch{id, 0, bytes, -1, kCompute, 0});
  pending_.push_back(trace::Sync{});
  if (!hints) return;
  pending_.push_back(trace::Advise{id, 0, bytes, trace::Advice::kSetPreferredLocation, -1});
  pending_.push_back(trace::Advise{id, 0, bytes, trace::Advice::kSetAccessedBy, 0});
}

void Program::emit_event(trace::SyncKind kind, std::uint32_t stream, std::uint64_t event) {
  pending_.push_back(trace::Sync{kind, stream, event, 0});
}

trace::Kernel& Program::emit_kernel(const char* name, std::uint32_t stream, std::int64_t duration_ns) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.stream = stream;
  kernel.block.x = 256;
  kernel.grid.x = 1;
  kernel.duration_ns = duration_ns;
  kernel.coverage = trace::Coverage::kDeclared;
  pending_.push_back(std::move(kernel));
  return std::get<trace::Kernel>(pending_.back());
}

void Program::emit_step(std::uint64_t step) {
  Fetched& fetched = fetched_[step % 2];
  const trace::Range begin{trace::RangeKind::kIterationBegin, "", step};
  pending_.push_back(begin);
  if (!cache_) {
    batches_.fill(options_.warm_up + step, fetched.batch);
  } else if (!placement_.ahead) {
    fetch(step, kCompute);
  } else {
    // The rows of the batch before may leave the cache, so they must be up to date.
    if (step != 0) emit_event(trace::SyncKind::kEventWait, kAhead, kUpdated);
    fetch(step + 1, kAhead);
  }
  if (placement_.ahead) emit_event(trace::SyncKind::kEventWait, kCompute, kFetchedEven + step % 2);
  emit_forward(fetched);
  const std::int64_t disturbed = placement_.ahead ? std::min(fetch_ns_, dense_ns()) / kSmsLeft : 0;
  emit_kernel("dense_forward", kCompute, costs_.dense_forward_ns() + disturbed);
  if (options_.training) {
    emit_kernel("dense_backward", kCompute, 2 * costs_.dense_forward_ns());
    emit_backward(fetched);
  }
  emit_event(trace::SyncKind::kEventRecord, kCompute, kUpdated);
  if (step == 0) {
    statistics_ = {};
  } else {
    count(fetched);
  }
  trace::Range end = begin;
  end.kind = trace::RangeKind::kIterationEnd;
  pending_.push_back(end);
}

void Program::count(const Fetched& fetched) {
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

// FBGEMM's prefetch of a batch: which rows are not in the cache, and those brought in.
void Program::fetch(std::uint64_t step, std::uint32_t stream) {
  Fetched& fetched = fetched_[step % 2];
  const Batch& batch = fetched.batch;
  const RowCache::Outcome& outcome = fetched.outcome;
  batches_.fill(options_.warm_up + step, fetched.batch);
  cache_->prefetch(batch.rows, fetched.outcome);
  const std::int64_t unique_ns = costs_.unique_ns(batch.lookups.size());
  const std::int64_t find_ns = costs_.read_rows_ns(batch.rows.size(), kSetBytes);
  emit_kernel("cache_unique", stream, unique_ns);
  emit_kernel("cache_find", stream, find_ns);
  fetch_ns_ = unique_ns + find_ns;
  const std::uint64_t reads = outcome.inserted.size(), writes = outcome.evicted.size();
  std::uint64_t ssd_writes = 0;
  if (host_cache_) {
    emit_event(trace::SyncKind::kEventRecord, stream, kFound);
    emit_event(trace::SyncKind::kEventWait, kSsdRead, kFound);
    const std::uint64_t before = statistics_.ssd_read_rows;
    ssd_writes = exchange_with_ssd(outcome, true);
    const std::uint64_t ssd_reads = statistics_.ssd_read_rows - before;
    if (ssd_reads != 0) {
      const std::uint64_t bytes = ssd_reads * std::max(kSsdBlockBytes, row_bytes_);
      statistics_.ssd_read_bytes += bytes;
      emit_kernel("ssd_read", kSsdRead,
                  static_cast<std::int64_t>(ssd_.read_latency_ns + bytes * 1000 / ssd_.read_bytes_per_us));
    }
    emit_event(trace::SyncKind::kEventRecord, kSsdRead, kRead);
    emit_event(trace::SyncKind::kEventWait, stream, kRead);
  }
  if (reads != 0) {
    trace::Kernel& kernel = emit_kernel(
        "cache_insert", stream,
        costs_.write_rows_ns(reads, row_bytes_) + (writes != 0 ? costs_.read_rows_ns(writes, row_bytes_) : 0));
    kernel.grid.x = static_cast<std::uint32_t>((reads + 7) / 8);  // a warp per row
    fetch_ns_ += kernel.duration_ns + lane_.time({reads + writes, reads * row_bytes_, writes * row_bytes_}).value;
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = host_cache_ ? kStaging : kTables;
    if (host_cache_) {
      access.extents.push_back({0, reads, AccessMode::kRead});
      const std::uint64_t outgoing = workload_.batch * workload_.lookups_per_sample();
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
  emit_event(trace::SyncKind::kEventRecord, stream, kInserted);
  emit_event(trace::SyncKind::kEventRecord, stream, kFetchedEven + step % 2);
  if (ssd_writes != 0) {
    // RocksDB appends what changed and sorts it later, which is not modelled.
    const std::uint64_t bytes = ssd_writes * row_bytes_;
    statistics_.ssd_written_bytes += bytes;
    emit_event(trace::SyncKind::kEventWait, kSsdWrite, kInserted);
    emit_kernel("ssd_write", kSsdWrite,
                static_cast<std::int64_t>(ssd_.write_latency_ns + bytes * 1000 / ssd_.write_bytes_per_us));
  }
}

// Missed rows come from the host cache or the SSD, rows that leave the GPU's cache go to the host cache, and the oldest
// changed ones of that to the SSD. Returns how many those are.
std::uint64_t Program::exchange_with_ssd(const RowCache::Outcome& outcome, bool count) {
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

// Lookups of `rows`, each by a warp of its own, in this order; repeated ones again.
void Program::add_touches(trace::Kernel& kernel, const std::vector<std::uint64_t>& rows, trace::ObjectId object) const {
  if (rows.empty()) return;
  kernel.distribution = trace::Distribution::kThreadChunk;
  kernel.block.x = 1;
  kernel.bytes_per_thread_access = static_cast<std::uint32_t>(row_bytes_);
  kernel.touches.reserve(rows.size());
  for (const std::uint64_t row : rows) kernel.touches.push_back({0, row, AccessMode::kRead});
  trace::ObjectAccess& access = kernel.accesses.emplace_back();
  access.object = object;
}

std::int64_t Program::locations_ns(std::uint64_t lookups) const {
  return cache_ ? costs_.stream_ns(lookups * kLocationBytes) : 0;
}

void Program::emit_forward(const Fetched& fetched) {
  const Batch& batch = fetched.batch;
  const std::uint64_t lookups = batch.lookups.size(), bags = workload_.batch * workload_.rows.size();
  trace::Kernel& kernel = emit_kernel(
      "embedding_forward", kCompute,
      costs_.read_rows_ns(lookups, row_bytes_) + costs_.stream_ns(bags * row_bytes_) + locations_ns(lookups));
  kernel.grid.x = static_cast<std::uint32_t>(bags);
  std::vector<std::uint64_t> remote;
  if (cache_) {
    // Rows without a way: as often as they are looked up. On the SSD's side they wait behind the inserted ones.
    const auto& uncached = fetched.outcome.uncached;
    for (std::size_t i = 0; i < uncached.size(); ++i) {
      const auto at = std::lower_bound(batch.rows.begin(), batch.rows.end(), uncached[i]) - batch.rows.begin();
      const std::uint64_t place = host_cache_ ? fetched.outcome.inserted.size() + i : uncached[i];
      remote.insert(remote.end(), batch.counts[static_cast<std::size_t>(at)], place);
    }
    add_touches(kernel, remote, host_cache_ ? kStaging : kTables);
    if (!remote.empty()) {
      for (std::size_t i = 0; i < remote.size(); ++i) {
        if (i == 0 || remote[i] != remote[i - 1])
          kernel.accesses[0].extents.push_back({remote[i], 1, AccessMode::kRead});
      }
    }
  } else if (placement_.memory != Memory::kDevice) {
    add_touches(kernel, batch.lookups, kTables);
    for (const std::uint64_t row : batch.rows) kernel.accesses[0].extents.push_back({row, 1, AccessMode::kRead});
  }
  const std::uint64_t in_place = placement_.memory == Memory::kManaged && !cache_ ? lookups : remote.size();
  statistics_.host_read_bytes += in_place * row_bytes_;
  statistics_.device_bytes += (lookups - in_place) * row_bytes_;
}

// Sorts the lookups by row, sums the gradients of each row, updates it (SGD).
void Program::emit_backward(const Fetched& fetched) {
  const Batch& batch = fetched.batch;
  emit_kernel("backward_sort", kCompute, costs_.unique_ns(batch.lookups.size()));
  trace::Kernel& kernel =
      emit_kernel("embedding_backward", kCompute,
                  costs_.read_rows_ns(batch.lookups.size(), row_bytes_) +
                      costs_.update_rows_ns(batch.rows.size(), row_bytes_) + locations_ns(batch.lookups.size()));
  kernel.grid.x = static_cast<std::uint32_t>((batch.rows.size() + 7) / 8);  // a warp per row
  const std::vector<std::uint64_t>& uncached = fetched.outcome.uncached;
  std::uint64_t in_place = 0;
  if (placement_.memory != Memory::kDevice && (!cache_ || !uncached.empty())) {
    trace::ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = host_cache_ ? kStaging : kTables;
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
}

}  // namespace uvmsim::recommend
