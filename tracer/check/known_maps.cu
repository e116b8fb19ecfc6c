// SPDX-License-Identifier: Apache-2.0
// Runs kernels that move tiles by tensor maps and writes, for each launch, what the trace must contain. Usage:
//      known_maps EXPECTED.jsonl
// Needs a GPU with tensor copies (compute capability 9.0). README.md says how to record it; check_maps.py compares.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tracer/check/expectation.h"
#include "tracer/check/known_maps.cuh"

namespace {

using namespace uvmtrace::check;

std::FILE* expected = nullptr;

void must(cudaError_t result, const char* what, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "known_maps.cu:%d: %s: %s\n", line, what, cudaGetErrorString(result));
  std::exit(2);
}
#define MUST(call) must((call), #call, __LINE__)

char* allocate(std::size_t bytes, const char* name) {
  char* pointer = nullptr;
  MUST(cudaMalloc(&pointer, bytes));
  MUST(cudaMemset(pointer, 0, bytes));
  std::fprintf(expected, "{\"t\":\"alloc\",\"name\":\"%s\",\"kind\":\"device\",\"va\":%llu,\"bytes\":%llu}\n", name,
               reinterpret_cast<unsigned long long>(pointer), static_cast<unsigned long long>(bytes));
  return pointer;
}

template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  MUST(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  if (function == nullptr) {
    std::fprintf(stderr, "known_maps.cu: the driver has no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function>(function);
}

struct Tensor {
  char* data = nullptr;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  unsigned element_bytes = 4;
  unsigned rank = 1;
  cuuint64_t dims[5] = {1, 1, 1, 1, 1};
  cuuint64_t strides[4] = {};  // bytes
  cuuint32_t box[5] = {1, 1, 1, 1, 1};
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;

  std::size_t bytes() const { return rank == 1 ? dims[0] * element_bytes : strides[rank - 2] * dims[rank - 1]; }
  unsigned box_bytes() const {
    unsigned out = element_bytes;
    for (unsigned d = 0; d < rank; ++d) out *= box[d];
    return out;
  }
  unsigned tile_count() const {
    unsigned out = 1;
    for (unsigned d = 0; d < rank; ++d) out *= static_cast<unsigned>((dims[d] + box[d] - 1) / box[d]);
    return out;
  }
  Tiles tiles() const {
    Tiles out{};
    for (unsigned d = 0; d < 5; ++d) {
      out.count[d] = static_cast<unsigned>((dims[d] + box[d] - 1) / box[d]);
      out.box[d] = static_cast<int>(box[d]);
    }
    return out;
  }
  CUtensorMap map() const {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    alignas(128) CUtensorMap out{};
    const cuuint32_t ones[5] = {1, 1, 1, 1, 1};
    const CUresult result = encode(&out, type, rank, data, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
      std::fprintf(stderr, "known_maps.cu: the driver refuses a map of rank %u: error %d\n", rank, result);
      std::exit(2);
    }
    return out;
  }

  // Adds every row of the tile that lies within the tensor.
  void touch(Expectation& e, unsigned tile, std::uint32_t mode, unsigned block) const {
    unsigned long long begin[5], end[5];
    for (unsigned d = 0; d < 5; ++d) {
      const auto along = static_cast<unsigned>((dims[d] + box[d] - 1) / box[d]);
      begin[d] = static_cast<unsigned long long>(tile % along) * box[d];
      end[d] = std::min<unsigned long long>(begin[d] + box[d], dims[d]);
      tile /= along;
    }
    for (auto i4 = begin[4]; i4 < end[4]; ++i4) {
      for (auto i3 = begin[3]; i3 < end[3]; ++i3) {
        for (auto i2 = begin[2]; i2 < end[2]; ++i2) {
          for (auto i1 = begin[1]; i1 < end[1]; ++i1) {
            e.access(
                data + i1 * strides[0] + i2 * strides[1] + i3 * strides[2] + i4 * strides[3] + begin[0] * element_bytes,
                (end[0] - begin[0]) * element_bytes, mode, block);
          }
        }
      }
    }
  }
};

constexpr unsigned kThreads = 32;

Tensor tensor(CUtensorMapDataType type, unsigned element_bytes, std::vector<cuuint64_t> dims,
              std::vector<cuuint64_t> strides, std::vector<cuuint32_t> box) {
  Tensor out;
  out.type = type;
  out.element_bytes = element_bytes;
  out.rank = static_cast<unsigned>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims);
  std::copy(strides.begin(), strides.end(), out.strides);
  std::copy(box.begin(), box.end(), out.box);
  return out;
}

using CopyKernel = void (*)(CUtensorMap, CUtensorMap, Tiles, unsigned);
void copy(Tensor like, const char* kernel, CopyKernel function, unsigned blocks, unsigned threads) {
  Tensor in = like, out = like;
  in.data = allocate(in.bytes(), "in");
  out.data = allocate(out.bytes(), "out");
  Expectation e(kernel, blocks, 1, threads);
  for (unsigned tile = 0; tile < blocks; ++tile) {
    in.touch(e, tile, kRead, tile);
    out.touch(e, tile, kWrite, tile);
  }
  function<<<blocks, threads, in.box_bytes()>>>(in.map(), out.map(), in.tiles(), in.box_bytes());
  e.write(expected);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(in.data));
  MUST(cudaFree(out.data));
}

void copies() {
  // Dimensions that are not multiples of the boxes; strides with gaps of less and of more than 512 bytes.
  const Tensor one = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {100003}, {}, {256});
  const Tensor two = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {1000, 301}, {8192}, {64, 16});
  Tensor swizzled = tensor(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, {1024, 768}, {2048}, {64, 64});
  swizzled.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const Tensor three = tensor(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {200, 50, 21}, {256, 16384}, {64, 16, 4});
  const Tensor four = tensor(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {70, 9, 11, 5}, {288, 4096, 65536}, {32, 4, 4, 2});
  const Tensor five =
      tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, {30, 5, 7, 3, 4}, {240, 1200, 16384, 65536}, {16, 4, 4, 2, 2});
  copy(one, "map_copy_1d", map_copy_1d, one.tile_count(), kThreads);
  copy(two, "map_copy_2d", map_copy_2d, two.tile_count(), kThreads);
  copy(swizzled, "map_copy_2d", map_copy_2d, swizzled.tile_count(), kThreads);
  copy(three, "map_copy_3d", map_copy_3d, three.tile_count(), kThreads);
  copy(four, "map_copy_4d", map_copy_4d, four.tile_count(), kThreads);
  copy(five, "map_copy_5d", map_copy_5d, five.tile_count(), kThreads);
  // Only the first tiles, one thread each: the grid limits which tiles are touched.
  copy(one, "map_copy_1d", map_copy_1d, 7, 1);
  copy(two, "map_copy_2d", map_copy_2d, 37, 1);
  copy(five, "map_copy_5d", map_copy_5d, 11, 1);
}

void loads() {
  Tensor in = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {1000, 301}, {8192}, {64, 16});
  in.data = allocate(in.bytes(), "in");
  auto* const sums = reinterpret_cast<unsigned*>(allocate(65536, "sums"));
  const unsigned tiles = in.tile_count(), bytes = in.box_bytes();

  Expectation loop("map_sum_loop", 16, 1, kThreads);
  for (unsigned tile = 0; tile < tiles; ++tile) in.touch(loop, tile, kRead, tile % 16);
  for (unsigned block = 0; block < 16; ++block) loop.access(sums + block, 4, kWrite, block);
  map_sum_loop<<<16, kThreads, bytes>>>(0, in.map(), in.tiles(), tiles, bytes, sums);
  loop.write(expected);

  Expectation multicast("map_multicast", 2 * tiles, 1, kThreads);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    in.touch(multicast, tile, kRead, 2 * tile);
    multicast.access(sums + std::size_t{2} * tile, 8, kWrite, 2 * tile);
  }
  map_multicast<<<2 * tiles, kThreads, bytes>>>(in.map(), in.tiles(), bytes, sums);
  multicast.write(expected);

  Expectation prefetch("map_prefetch", tiles, 1, kThreads);
  for (unsigned tile = 0; tile < tiles; ++tile) in.touch(prefetch, tile, kRead, tile);
  map_prefetch<<<tiles, kThreads>>>(in.map(), in.tiles());
  prefetch.write(expected);

  Tensor other = in;
  other.data = allocate(other.bytes(), "other");
  auto* const choice = reinterpret_cast<unsigned*>(allocate(4096, "choice"));
  // A choice on the GPU counts for both maps.
  Expectation either("map_choice", tiles, 1, kThreads);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    in.touch(either, tile, kRead, tile);
    other.touch(either, tile, kRead, tile);
    either.access(choice, 4, kRead, tile);
    either.access(sums + tile, 4, kWrite, tile);
  }
  map_choice<<<tiles, kThreads, bytes>>>(in.map(), other.map(), choice, in.tiles(), bytes, sums);
  either.write(expected);

  Expectation reduce("map_reduce", tiles, 1, kThreads);
  for (unsigned tile = 0; tile < tiles; ++tile) other.touch(reduce, tile, kBoth, tile);
  map_reduce<<<tiles, kThreads, bytes>>>(other.map(), other.tiles());
  reduce.write(expected);
  MUST(cudaDeviceSynchronize());
  for (void* p : {static_cast<void*>(in.data), static_cast<void*>(other.data), static_cast<void*>(sums),
                  static_cast<void*>(choice)}) {
    MUST(cudaFree(p));
  }
}

// A convolution over an image: 3 x 3 taps with a border of one, so that the whole image is read.
void im2col() {
  const unsigned channels = 64, width = 30, height = 29, images = 4, pixels = 64;
  const unsigned bytes = channels * 2 * pixels;
  const std::size_t all = std::size_t{channels} * width * height * images * 2;
  char* const data = allocate(all, "images");
  auto* const sums = reinterpret_cast<unsigned*>(allocate(4096, "sums"));
  const auto encode = driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  alignas(128) CUtensorMap map{};
  const cuuint64_t dims[4] = {channels, width, height, images};
  const cuuint64_t strides[3] = {channels * 2, std::uint64_t{channels} * 2 * width,
                                 std::uint64_t{channels} * 2 * width * height};
  const int lower[2] = {-1, -1}, upper[2] = {-1, -1};
  const cuuint32_t ones[4] = {1, 1, 1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, data, dims, strides, lower, upper, channels,
                                 pixels, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    std::fprintf(stderr, "known_maps.cu: the driver refuses an im2col map: error %d\n", result);
    std::exit(2);
  }
  const unsigned columns = width * height * images / pixels + 1;
  Expectation e("map_im2col", 8, 1, kThreads);
  e.access(data, all, kRead, 0);
  for (unsigned block = 0; block < 8; ++block) e.access(sums + block, 4, kWrite, block);
  map_im2col<<<8, kThreads, bytes>>>(map, width, height, columns, 3, 3, pixels, -1, -1, bytes, sums);
  e.write(expected);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(data));
  MUST(cudaFree(sums));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || (expected = std::fopen(argv[1], "w")) == nullptr) {
    std::fprintf(stderr, "usage: known_maps EXPECTED.jsonl\n");
    return 2;
  }
  int major = 0;
  MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) {
    std::fprintf(stderr, "known_maps.cu: this GPU has no tensor copies\n");
    return 2;
  }
  copies();
  loads();
  im2col();
  std::fclose(expected);
  return 0;
}
