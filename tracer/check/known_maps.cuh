// SPDX-License-Identifier: Apache-2.0
// Kernels that move tiles by tensor maps; the touched bytes follow from the maps and the tiles.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace uvmtrace::check {

// Tile number t of a launch starts at box * (position of t in `count`, dimension 0 fastest).
struct Tiles {
  unsigned count[5];
  int box[5];
};

__device__ inline void place_of(const Tiles& tiles, unsigned number, int (&at)[5]) {
  for (int d = 0; d < 5; ++d) {
    at[d] = static_cast<int>(number % tiles.count[d]) * tiles.box[d];
    number /= tiles.count[d];
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define UVMTRACE_HAS_TENSOR_COPIES 1
__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline void expect(std::uint32_t gate, unsigned bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }" ::"r"(gate), "r"(bytes)
               : "memory");
}
__device__ inline void init_gate(std::uint32_t gate) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(gate) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void wait(std::uint32_t gate, unsigned parity) {
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(gate), "r"(parity)
                 : "memory");
  }
}
__device__ inline void finish_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#define UVMTRACE_LOAD "cp.async.bulk.tensor."
#define UVMTRACE_LOAD_TILE ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
template <int kRank>
__device__ inline void load(std::uint32_t to, const CUtensorMap& map, const int (&at)[5], std::uint32_t gate) {
  if constexpr (kRank == 1) {
    asm volatile(UVMTRACE_LOAD "1d" UVMTRACE_LOAD_TILE "{%3}], [%2];" ::"r"(to), "l"(&map), "r"(gate), "r"(at[0])
                 : "memory");
  } else if constexpr (kRank == 2) {
    asm volatile(UVMTRACE_LOAD "2d" UVMTRACE_LOAD_TILE "{%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(gate), "r"(at[0]),
                 "r"(at[1])
                 : "memory");
  } else if constexpr (kRank == 3) {
    asm volatile(UVMTRACE_LOAD "3d" UVMTRACE_LOAD_TILE "{%3, %4, %5}], [%2];" ::"r"(to), "l"(&map), "r"(gate),
                 "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  } else if constexpr (kRank == 4) {
    asm volatile(UVMTRACE_LOAD "4d" UVMTRACE_LOAD_TILE "{%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(&map), "r"(gate),
                 "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                 : "memory");
  } else {
    asm volatile(UVMTRACE_LOAD "5d" UVMTRACE_LOAD_TILE "{%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(&map), "r"(gate),
                 "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                 : "memory");
  }
}
template <int kRank>
__device__ inline void store(const CUtensorMap& map, const int (&at)[5], std::uint32_t from) {
  if constexpr (kRank == 1) {
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(&map), "r"(from),
                 "r"(at[0])
                 : "memory");
  } else if constexpr (kRank == 2) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from),
                 "r"(at[0]), "r"(at[1])
                 : "memory");
  } else if constexpr (kRank == 3) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  } else if constexpr (kRank == 4) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
                 "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&map),
                 "r"(from), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                 : "memory");
  }
}
#endif

// Copies one tile per block from `in` to `out`; a single thread does it.
template <int kRank>
__device__ inline void copy_tile(const CUtensorMap& in, const CUtensorMap& out, const Tiles& tiles, unsigned bytes) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const std::uint32_t gate = shared_address(&barrier);
  int at[5];
  place_of(tiles, blockIdx.x, at);
  init_gate(gate);
  expect(gate, bytes);
  load<kRank>(shared_address(buffer), in, at, gate);
  wait(gate, 0);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  store<kRank>(out, at, shared_address(buffer));
  finish_stores();
#endif
}

}  // namespace uvmtrace::check

using uvmtrace::check::Tiles;

extern "C" {

__global__ void map_copy_1d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                            Tiles tiles, unsigned bytes) {
  uvmtrace::check::copy_tile<1>(in, out, tiles, bytes);
}
__global__ void map_copy_2d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                            Tiles tiles, unsigned bytes) {
  uvmtrace::check::copy_tile<2>(in, out, tiles, bytes);
}
__global__ void map_copy_3d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                            Tiles tiles, unsigned bytes) {
  uvmtrace::check::copy_tile<3>(in, out, tiles, bytes);
}
__global__ void map_copy_4d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                            Tiles tiles, unsigned bytes) {
  uvmtrace::check::copy_tile<4>(in, out, tiles, bytes);
}
__global__ void map_copy_5d(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                            Tiles tiles, unsigned bytes) {
  uvmtrace::check::copy_tile<5>(in, out, tiles, bytes);
}

// Each block reads its part of all tiles by the map. One word of the data goes to `sums`.
__global__ void map_sum_loop(unsigned first, const __grid_constant__ CUtensorMap in, Tiles tiles, unsigned tile_count,
                             unsigned bytes, unsigned* sums) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const std::uint32_t gate = shared_address(&barrier);
  init_gate(gate);
  unsigned sum = 0;
  unsigned parity = 0;
  for (unsigned number = first + blockIdx.x; number < tile_count; number += gridDim.x) {
    int at[5];
    place_of(tiles, number, at);
    expect(gate, bytes);
    load<2>(shared_address(buffer), in, at, gate);
    wait(gate, parity);
    parity ^= 1;
    sum += *reinterpret_cast<volatile unsigned*>(buffer);
  }
  sums[blockIdx.x] = sum;
#endif
}

// Adds the content of shared memory to the tile, which is read and written.
__global__ void map_reduce(const __grid_constant__ CUtensorMap out, Tiles tiles) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  extern __shared__ __align__(1024) char buffer[];
  if (threadIdx.x != 0) return;
  int at[5];
  place_of(tiles, blockIdx.x, at);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&out),
      "r"(shared_address(buffer)), "r"(at[0]), "r"(at[1])
      : "memory");
  finish_stores();
#endif
}

// Two blocks of a cluster get the same tile, which the first one requests.
__global__ void __cluster_dims__(2, 1, 1)
    map_multicast(const __grid_constant__ CUtensorMap in, Tiles tiles, unsigned bytes, unsigned* sums) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  const std::uint32_t gate = shared_address(&barrier);
  if (threadIdx.x == 0) {
    init_gate(gate);
    expect(gate, bytes);
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  int at[5];
  place_of(tiles, blockIdx.x / 2, at);
  if (threadIdx.x == 0 && blockIdx.x % 2 == 0) {
    const std::uint16_t both = 3;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%3, %4}], [%2], %5;" ::"r"(shared_address(buffer)),
        "l"(&in), "r"(gate), "r"(at[0]), "r"(at[1]), "h"(both)
        : "memory");
  }
  if (threadIdx.x == 0) {
    wait(gate, 0);
    sums[blockIdx.x] = *reinterpret_cast<volatile unsigned*>(buffer);
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// Reads columns of an image batch (channels, width, height, images), one filter tap after the other.
__global__ void map_im2col(const __grid_constant__ CUtensorMap in, unsigned width, unsigned height, unsigned columns,
                           unsigned taps_x, unsigned taps_y, unsigned pixels, int first_x, int first_y, unsigned bytes,
                           unsigned* sums) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const std::uint32_t gate = shared_address(&barrier);
  init_gate(gate);
  unsigned sum = 0;
  unsigned parity = 0;
  for (unsigned column = blockIdx.x; column < columns; column += gridDim.x) {
    const unsigned pixel = column * pixels;
    const int x = first_x + static_cast<int>(pixel % width);
    const int y = first_y + static_cast<int>(pixel / width % height);
    const int image = static_cast<int>(pixel / width / height);
    for (unsigned tap = 0; tap < taps_x * taps_y; ++tap) {
      const auto dx = static_cast<std::uint16_t>(tap % taps_x);
      const auto dy = static_cast<std::uint16_t>(tap / taps_x);
      expect(gate, bytes);
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
          "%6}], [%2], {%7, %8};" ::"r"(shared_address(buffer)),
          "l"(&in), "r"(gate), "r"(0), "r"(x), "r"(y), "r"(image), "h"(dx), "h"(dy)
          : "memory");
      wait(gate, parity);
      parity ^= 1;
      sum += *reinterpret_cast<volatile unsigned*>(buffer);
    }
  }
  sums[blockIdx.x] = sum;
#endif
}

// Only requests that the tile be fetched into the cache.
__global__ void map_prefetch(const __grid_constant__ CUtensorMap in, Tiles tiles) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  if (threadIdx.x != 0) return;
  int at[5];
  place_of(tiles, blockIdx.x, at);
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&in), "r"(at[0]), "r"(at[1])
               : "memory");
#endif
}

// The GPU decides which of the two maps is read.
__global__ void map_choice(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                           const unsigned* choice, Tiles tiles, unsigned bytes, unsigned* sums) {
#ifdef UVMTRACE_HAS_TENSOR_COPIES
  using namespace uvmtrace::check;
  extern __shared__ __align__(1024) char buffer[];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x != 0) return;
  const std::uint32_t gate = shared_address(&barrier);
  int at[5];
  place_of(tiles, blockIdx.x, at);
  init_gate(gate);
  expect(gate, bytes);
  load<2>(shared_address(buffer), *choice != 0 ? b : a, at, gate);
  wait(gate, 0);
  sums[blockIdx.x] = *reinterpret_cast<volatile unsigned*>(buffer);
#endif
}

}  // extern "C"
