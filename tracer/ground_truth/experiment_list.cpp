// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "tracer/ground_truth/experiment.h"

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kPagesPer64KiB = 16;

// splitmix64, so that the lists are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

std::vector<std::uint64_t> permutation(std::uint64_t count, Random& random) {
  std::vector<std::uint64_t> items(count);
  std::iota(items.begin(), items.end(), 0);
  for (std::uint64_t i = count; i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
  return items;
}

std::string text(std::uint64_t number) { return std::to_string(number); }

class List {
 public:
  explicit List(const ListOptions& options) : options_(options) {}

  std::vector<Experiment> make() {
    strided();
    random_lists();
    sizes();
    partly_resident();
    advised();
    parallel();
    once();
    streams();
    cpu();
    prefetches();
    return take();
  }

  std::vector<Experiment> make_of_peers() {
    peer_one_thread();
    peer_advised();
    peer_many_threads();
    for (const std::uint64_t mib : {2u, 16u, 64u}) {
      add("peer_prefetch_" + text(mib) + "m", Mode::kPrefetch, mib * kMiB, Data::kPeer);
    }
    return take();
  }

 private:
  enum class Data : std::uint8_t { kHost, kPeer, kNowhere };

  std::vector<Experiment> take() {
    if (options_.quick) keep_some();
    return std::move(experiments_);
  }

  Experiment& add(std::string name, Mode mode, std::uint64_t bytes, Data data) {
    Experiment& experiment = experiments_.emplace_back();
    experiment.name = std::move(name);
    experiment.mode = mode;
    experiment.bytes = bytes;
    if (data == Data::kHost) experiment.host_populated = {{0, bytes}};
    if (data == Data::kPeer) experiment.peer_resident = {{0, bytes}};
    return experiment;
  }

  static void touch_every(std::uint64_t stride, bool write, Experiment& out, std::uint64_t first = 0) {
    for (std::uint64_t page = first; page < (out.bytes + kPageBytes - 1) / kPageBytes; page += stride) {
      out.touches.push_back({page, write});
    }
  }

  void strided() {
    for (const std::uint64_t stride : {1u, 3u, 8u, 16u, 32u, 33u, 40u, 48u, 64u, 96u, 128u, 200u, 512u}) {
      touch_every(stride, false, add("seq_s" + text(stride) + "_r_host", Mode::kOrdered, 16 * kMiB, Data::kHost));
    }
    for (const std::uint64_t stride : {1u, 16u, 32u, 64u, 512u}) {
      touch_every(stride, true, add("seq_s" + text(stride) + "_w_unpop", Mode::kOrdered, 16 * kMiB, Data::kNowhere));
    }
    touch_every(16, true, add("seq_s16_w_host", Mode::kOrdered, 16 * kMiB, Data::kHost));
    touch_every(16, false, add("seq_from100_s16_r_host", Mode::kOrdered, 16 * kMiB, Data::kHost), 100);
  }

  void touch_each_64k_in_random_order(std::uint64_t seed, Experiment& out) const {
    Random random(options_.seed + seed);
    for (const std::uint64_t slot : permutation(out.bytes / (64 * kKiB), random)) {
      out.touches.push_back({slot * kPagesPer64KiB + random.below(kPagesPer64KiB), false});
    }
  }

  // Touches `count` different pages.
  void touch_random_pages(std::uint64_t seed, std::uint64_t count, Experiment& out) const {
    Random random(options_.seed + seed);
    std::vector<std::uint64_t> pages = permutation(out.bytes / kPageBytes, random);
    pages.resize(count);
    for (const std::uint64_t page : pages) out.touches.push_back({page, false});
  }

  void random_lists() {
    for (std::uint64_t i = 0; i < 4; ++i) {
      touch_each_64k_in_random_order(
          i, add("perm64k_in2m_seed" + text(options_.seed + i), Mode::kOrdered, 2 * kMiB, Data::kHost));
    }
    for (std::uint64_t i = 10; i < 13; ++i) {
      Random random(options_.seed + i);
      Experiment& dense = add("perm4k_in2m_seed" + text(options_.seed + i), Mode::kOrdered, 2 * kMiB, Data::kHost);
      for (const std::uint64_t page : permutation(dense.bytes / kPageBytes, random)) {
        dense.touches.push_back({page, false});
      }
    }
    // 1024 of 4096 pages: read; read or written; written where memory was not populated.
    const auto random_touches = [this](std::uint64_t seed, const char* suffix, Data data, bool reads, bool writes) {
      Random random(options_.seed + seed);
      Experiment& experiment =
          add("rand4k_seed" + text(options_.seed + seed) + suffix, Mode::kOrdered, 16 * kMiB, data);
      std::vector<std::uint64_t> pages = permutation(experiment.bytes / kPageBytes, random);
      pages.resize(1024);
      for (const std::uint64_t page : pages) {
        experiment.touches.push_back({page, writes && (!reads || random.below(2) == 1)});
      }
    };
    for (std::uint64_t i = 20; i < 23; ++i) random_touches(i, "_r_host", Data::kHost, true, false);
    for (std::uint64_t i = 30; i < 32; ++i) random_touches(i, "_rw_host", Data::kHost, true, true);
    for (std::uint64_t i = 40; i < 42; ++i) random_touches(i, "_w_unpop", Data::kNowhere, false, true);
  }

  void sizes() {
    for (const std::uint64_t kib :
         {4u, 8u, 60u, 64u, 100u, 512u, 1000u, 1024u, 1200u, 2044u, 2048u, 2052u, 3500u, 5000u}) {
      touch_every(1, false, add("size" + text(kib) + "k_seq1_r_host", Mode::kOrdered, kib * kKiB, Data::kHost));
    }
    for (const std::uint64_t kib : {64u, 1200u, 3500u}) {
      touch_every(1, true, add("size" + text(kib) + "k_seq1_w_unpop", Mode::kOrdered, kib * kKiB, Data::kNowhere));
    }
  }

  void partly_resident() {
    Experiment& gpu = add("gpu_first_half_each_block", Mode::kOrdered, 8 * kMiB, Data::kHost);
    for (std::uint64_t block = 0; block < gpu.bytes; block += kBlockBytes) gpu.gpu_resident.push_back({block, kMiB});
    touch_every(16, false, gpu);
    Experiment& quarter = add("gpu_last_quarter_each_block", Mode::kOrdered, 8 * kMiB, Data::kHost);
    for (std::uint64_t block = 0; block < quarter.bytes; block += kBlockBytes) {
      quarter.gpu_resident.push_back({block + 3 * kBlockBytes / 4, kBlockBytes / 4});
    }
    touch_every(16, false, quarter);
    Experiment& half = add("host_first_half_r", Mode::kOrdered, 8 * kMiB, Data::kNowhere);
    half.host_populated = {{0, half.bytes / 2}};
    touch_every(16, false, half);
    Experiment& checker = add("host_checker64k_r", Mode::kOrdered, 4 * kMiB, Data::kNowhere);
    for (std::uint64_t at = 0; at < checker.bytes; at += 128 * kKiB) checker.host_populated.push_back({at, 64 * kKiB});
    touch_every(16, false, checker);
  }

  void advised() {
    struct Case {
      const char* suffix;
      bool write;
      Data data;
    };
    constexpr std::array<const char*, 4> kAdvice = {"preferred_host", "read_mostly", "preferred_host+accessed_by_gpu",
                                                    "preferred_gpu"};
    for (std::size_t i = 0; i < kAdvice.size(); ++i) {
      const std::string name = "advise" + text(i + 1) + "_s16";
      const std::array<Case, 3> cases = {
          {{"_r_host", false, Data::kHost}, {"_w_host", true, Data::kHost}, {"_w_unpop", true, Data::kNowhere}}};
      for (const auto& [suffix, write, data] : cases) {
        Experiment& experiment = add(name + suffix, Mode::kOrdered, 4 * kMiB, data);
        experiment.advise = kAdvice[i];
        touch_every(16, write, experiment);
      }
    }
  }

  void parallel() {
    for (const std::uint64_t seed : {80u, 81u}) {
      for (const std::uint32_t threads : {1u, 32u, 256u}) {
        Experiment& experiment = add("par_rand4k_b" + text(threads) + "_seed" + text(options_.seed + seed),
                                     Mode::kParallel, 16 * kMiB, Data::kHost);
        experiment.threads = threads;
        touch_random_pages(seed, 2048, experiment);
      }
    }
    for (const std::uint32_t threads : {32u, 256u}) {
      Experiment& reads = add("par_seq4k_b" + text(threads), Mode::kParallel, 16 * kMiB, Data::kHost);
      reads.threads = threads;
      touch_every(1, false, reads);
      Experiment& writes = add("par_seq4k_w_unpop_b" + text(threads), Mode::kParallel, 16 * kMiB, Data::kNowhere);
      writes.threads = threads;
      touch_every(1, true, writes);
      Experiment& sparse = add("par_s16_64m_b" + text(threads), Mode::kParallel, 64 * kMiB, Data::kHost);
      sparse.threads = threads;
      touch_every(16, false, sparse);
    }
  }

  // All touches happen at once, so that they are in one batch. The differences between experiments then give the costs
  // of a page, a run of pages and a 2 MB block.
  void once() {
    for (const Data data : {Data::kHost, Data::kNowhere}) {
      const auto add_once = [&](const std::string& what, std::uint64_t count, std::uint64_t pages_apart) {
        const std::uint64_t bytes = (count * pages_apart * kPageBytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
        Experiment& experiment = add("once_" + what + text(count) + (data == Data::kHost ? "_r_host" : "_w_unpop"),
                                     Mode::kParallel, bytes, data);
        experiment.threads = 32;
        for (std::uint64_t i = 0; i < count; ++i) {
          experiment.touches.push_back({i * pages_apart, data == Data::kNowhere});
        }
      };
      for (const std::uint64_t count : {1u, 8u, 32u, 128u, 256u}) add_once("pages", count, 1);
      for (const std::uint64_t count : {8u, 32u, 128u, 256u}) add_once("gaps", count, 2);
      for (const std::uint64_t count : {4u, 32u, 128u}) add_once("leaves", count, kPagesPer64KiB);
      for (const std::uint64_t count : {4u, 16u, 32u}) add_once("blocks", count, kBlockBytes / kPageBytes);
    }
  }

  void add_loop(const std::string& what, std::uint64_t mib, std::uint32_t grid, std::uint32_t threads,
                std::uint32_t access_bytes) {
    const bool read = what == "stream_rd", unpopulated = what == "stream_wr_unpop";
    const std::string shape = "_g" + text(grid) + "_t" + text(threads) + "x" + text(access_bytes);
    Experiment& loop = add(what + "_" + text(mib) + "m" + shape, read ? Mode::kStreamRead : Mode::kStreamWrite,
                           mib * kMiB, unpopulated ? Data::kNowhere : Data::kHost);
    loop.grid = grid;
    loop.loop_threads = threads;
    loop.access_bytes = access_bytes;
  }

  void streams() {
    // Few blocks, one per SM, eight per SM (the shipped file has 8, 132 and 1056 blocks).
    const std::array<std::uint32_t, 3> grids = {8, options_.sm_count, 8 * options_.sm_count};
    for (const std::uint64_t mib : {8u, 64u, 256u}) {
      for (const std::uint32_t grid : grids) {
        // If many blocks read 256 MB, there are more records than CUPTI's queue holds.
        if (mib < 256 || grid == 8) {
          add("stream_rd_" + text(mib) + "m_g" + text(grid), Mode::kStreamRead, mib * kMiB, Data::kHost).grid = grid;
        }
        add("stream_wr_unpop_" + text(mib) + "m_g" + text(grid), Mode::kStreamWrite, mib * kMiB, Data::kNowhere).grid =
            grid;
      }
    }
    // Writes of memory that is on the host: the migrations tell which pages each batch held, which first touches do
    // not.
    for (const std::uint32_t per_sm : {1u, 2u, 4u, 8u}) {
      add_loop("stream_wr_host", 64, per_sm * options_.sm_count, 256, 16);
    }
    // One access per thread: 4, 8 and 16 bytes, as in kernels of libraries.
    for (const std::uint32_t access_bytes : {4u, 8u, 16u}) {
      for (const std::uint32_t threads : {128u, 256u, 1024u}) {
        const auto grid = static_cast<std::uint32_t>(32 * kMiB / (threads * access_bytes));
        for (const char* what : {"stream_wr_host", "stream_wr_unpop", "stream_rd"}) {
          add_loop(what, 32, grid, threads, access_bytes);
        }
      }
    }
    for (const std::uint64_t mib : {24u, 96u}) {
      Experiment& sum =
          add("vadd_" + text(mib) + "m_g" + text(options_.sm_count), Mode::kVectorAdd, mib * kMiB, Data::kNowhere);
      sum.grid = options_.sm_count;
      sum.host_populated = {{0, sum.bytes / 3 * 2}};
    }
  }

  void cpu() {
    const std::string grid = "_g" + text(options_.sm_count);
    add("gpu_write_cpu_read_16m" + grid, Mode::kCpuRead, 16 * kMiB, Data::kNowhere).grid = options_.sm_count;
    Experiment& random_read = add("cpu_random_read_after_gpu_16m" + grid, Mode::kCpuTouch, 16 * kMiB, Data::kNowhere);
    random_read.grid = options_.sm_count;
    Random random(options_.seed + 60);
    std::vector<std::uint64_t> pages = permutation(random_read.bytes / kPageBytes, random);
    pages.resize(512);
    for (const std::uint64_t page : pages) random_read.touches.push_back({page, false});
    Experiment& exchange = add("pingpong_2m_x6" + grid, Mode::kPingPong, 2 * kMiB, Data::kHost);
    exchange.grid = options_.sm_count;
    exchange.rounds = 6;
  }

  void prefetches() {
    for (const std::uint64_t mib : {2u, 16u, 64u}) {
      add("prefetch_gpu_" + text(mib) + "m", Mode::kPrefetch, mib * kMiB, Data::kHost);
      add("prefetch_back_" + text(mib) + "m", Mode::kPrefetchAndBack, mib * kMiB, Data::kHost);
    }
  }

  void peer_one_thread() {
    for (const std::uint64_t stride : {1u, 3u, 16u, 33u, 64u, 200u}) {
      touch_every(stride, false, add("peer_seq_s" + text(stride) + "_r", Mode::kOrdered, 16 * kMiB, Data::kPeer));
    }
    for (const std::uint64_t stride : {1u, 16u, 64u}) {
      touch_every(stride, true, add("peer_seq_s" + text(stride) + "_w", Mode::kOrdered, 16 * kMiB, Data::kPeer));
    }
    for (const std::uint64_t kib : {4u, 64u, 100u, 1200u, 2052u}) {
      touch_every(1, false, add("peer_size" + text(kib) + "k_seq1_r", Mode::kOrdered, kib * kKiB, Data::kPeer));
    }
    touch_each_64k_in_random_order(
        0, add("peer_perm64k_in2m_seed" + text(options_.seed), Mode::kOrdered, 2 * kMiB, Data::kPeer));
    touch_random_pages(
        20, 1024, add("peer_rand4k_seed" + text(options_.seed + 20) + "_r", Mode::kOrdered, 16 * kMiB, Data::kPeer));
    Experiment& halves = add("peer_first_half_each_block", Mode::kOrdered, 8 * kMiB, Data::kHost);
    for (std::uint64_t at = 0; at < halves.bytes; at += kBlockBytes) halves.peer_resident.push_back({at, kMiB});
    touch_every(16, false, halves);
    Experiment& checker = add("peer_checker64k_r", Mode::kOrdered, 4 * kMiB, Data::kHost);
    for (std::uint64_t at = 0; at < checker.bytes; at += 128 * kKiB) checker.peer_resident.push_back({at, 64 * kKiB});
    touch_every(16, false, checker);
  }

  void peer_advised() {
    constexpr std::array<const char*, 4> kAdvice = {"preferred_peer", "read_mostly", "preferred_peer+accessed_by_gpu",
                                                    "preferred_gpu"};
    for (std::size_t i = 0; i < kAdvice.size(); ++i) {
      for (const bool write : {false, true}) {
        Experiment& experiment =
            add("peer_advise" + text(i + 1) + (write ? "_s16_w" : "_s16_r"), Mode::kOrdered, 4 * kMiB, Data::kPeer);
        experiment.advise = kAdvice[i];
        touch_every(16, write, experiment);
      }
    }
  }

  void peer_many_threads() {
    for (const std::uint32_t threads : {32u, 256u}) {
      Experiment& random = add("peer_par_rand4k_b" + text(threads) + "_seed" + text(options_.seed + 80),
                               Mode::kParallel, 16 * kMiB, Data::kPeer);
      random.threads = threads;
      touch_random_pages(80, 2048, random);
      for (const bool write : {false, true}) {
        Experiment& dense = add(std::string("peer_par_seq4k_") + (write ? "w_b" : "r_b") + text(threads),
                                Mode::kParallel, 16 * kMiB, Data::kPeer);
        dense.threads = threads;
        touch_every(1, write, dense);
      }
      Experiment& sparse = add("peer_par_s16_64m_b" + text(threads), Mode::kParallel, 64 * kMiB, Data::kPeer);
      sparse.threads = threads;
      touch_every(16, false, sparse);
    }
    for (const std::uint64_t mib : {8u, 64u}) {
      for (const std::uint32_t grid : {8u, options_.sm_count}) {
        const std::string rest = text(mib) + "m_g" + text(grid);
        add("peer_stream_rd_" + rest, Mode::kStreamRead, mib * kMiB, Data::kPeer).grid = grid;
        add("peer_stream_wr_" + rest, Mode::kStreamWrite, mib * kMiB, Data::kPeer).grid = grid;
      }
    }
    // Reads and writes in place, over the link.
    for (const bool write : {false, true}) {
      Experiment& remote =
          add(std::string("peer_in_place_") + (write ? "wr" : "rd") + "_256m_g" + text(8 * options_.sm_count),
              write ? Mode::kStreamWrite : Mode::kStreamRead, 256 * kMiB, Data::kPeer);
      remote.grid = 8 * options_.sm_count;
      remote.advise = "preferred_peer+accessed_by_gpu";
    }
    // One operand on the host, the other on the peer, the sum nowhere.
    Experiment& sum = add("peer_vadd_24m_g" + text(options_.sm_count), Mode::kVectorAdd, 24 * kMiB, Data::kNowhere);
    sum.grid = options_.sm_count;
    sum.host_populated = {{0, sum.bytes / 3}};
    sum.peer_resident = {{sum.bytes / 3, sum.bytes / 3}};
  }

  void keep_some() {
    std::vector<Experiment> kept;
    for (std::size_t i = 0; i < experiments_.size(); ++i) {
      if (experiments_[i].bytes <= 16 * kMiB && i % 10 == 0) kept.push_back(std::move(experiments_[i]));
    }
    experiments_ = std::move(kept);
  }

  ListOptions options_;
  std::vector<Experiment> experiments_;
};

}  // namespace

std::string mode_text(const Experiment& experiment) {
  switch (experiment.mode) {
    case Mode::kOrdered:
      return "ordered";
    case Mode::kParallel:
      return "parallel" + text(experiment.threads);
    case Mode::kStreamRead:
      return "stream_rd";
    case Mode::kStreamWrite:
      return "stream_wr";
    case Mode::kVectorAdd:
      return "vadd";
    case Mode::kCpuRead:
    case Mode::kCpuTouch:
    case Mode::kPingPong:
      return "cpu";
    case Mode::kPrefetch:
    case Mode::kPrefetchAndBack:
      return "prefetch";
  }
  return "ordered";
}

std::vector<Experiment> default_experiments(const ListOptions& options) { return List(options).make(); }

std::vector<Experiment> peer_experiments(const ListOptions& options) { return List(options).make_of_peers(); }

}  // namespace uvmtrace::ground_truth
