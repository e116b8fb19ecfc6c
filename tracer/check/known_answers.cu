// SPDX-License-Identifier: Apache-2.0
// Runs kernels whose accesses are known and writes, for each launch and each copy, what the log must contain. Usage:
//      known_answers EXPECTED.jsonl
// The kernels' results are not checked. Run it under the access pass, then compare with check_answers.py.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>

#include "tracer/check/expectation.h"
#include "tracer/check/known_kernels.cuh"

namespace {

using namespace uvmtrace::check;

std::FILE* expected = nullptr;

void must(cudaError_t result, const char* what, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "known_answers.cu:%d: %s: %s\n", line, what, cudaGetErrorString(result));
  std::exit(2);
}
#define MUST(call) must((call), #call, __LINE__)

template <typename T>
T* allocate(std::size_t count, const char* name) {
  T* pointer = nullptr;
  MUST(cudaMalloc(&pointer, count * sizeof(T)));
  std::fprintf(expected, "{\"t\":\"alloc\",\"name\":\"%s\",\"kind\":\"device\",\"va\":%llu,\"bytes\":%llu}\n", name,
               reinterpret_cast<unsigned long long>(pointer), static_cast<unsigned long long>(count * sizeof(T)));
  return pointer;
}

void note_allocation(const void* pointer, std::size_t bytes, const char* name, const char* kind) {
  std::fprintf(expected, "{\"t\":\"alloc\",\"name\":\"%s\",\"kind\":\"%s\",\"va\":%llu,\"bytes\":%llu}\n", name, kind,
               reinterpret_cast<unsigned long long>(pointer), static_cast<unsigned long long>(bytes));
}

// A fixed sequence without structure.
struct Numbers {
  std::uint64_t state = 12345;
  unsigned next(unsigned below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>((state >> 33) % below);
  }
};

constexpr unsigned kThreads = 256;
unsigned blocks_for(unsigned n) { return (n + kThreads - 1) / kThreads; }

void dense(unsigned n) {
  float* const a = allocate<float>(n, "a");
  float* const b = allocate<float>(n, "b");
  float* const c = allocate<float>(n, "c");
  Expectation add("vector_add", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) {
    add.access(a + i, 4, kRead, i / kThreads);
    add.access(b + i, 4, kRead, i / kThreads);
    add.access(c + i, 4, kWrite, i / kThreads);
  }
  add.counted(3 * ((n + 31) / 32));  // a warp's 128 bytes never span two pages
  vector_add<<<blocks_for(n), kThreads>>>(a, b, c, n);
  add.write(expected);

  Expectation half("half_range", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n / 2; ++i) half.access(a + i, 4, kWrite, i / kThreads);
  half.counted((n / 2 + 31) / 32);
  half_range<<<blocks_for(n), kThreads>>>(a, n);
  half.write(expected);

  // Reads and writes the same quanta: c = c + a.
  Expectation again("vector_add", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) {
    again.access(c + i, 4, kBoth, i / kThreads);
    again.access(a + i, 4, kRead, i / kThreads);
  }
  vector_add<<<blocks_for(n), kThreads>>>(c, a, c, n);
  again.write(expected);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(a));
  MUST(cudaFree(b));
  MUST(cudaFree(c));
}

void strides() {
  for (const unsigned stride : {32U, 129U, 256U, 1000U, 16384U, 300000U}) {
    const unsigned n = stride > 100000 ? 50 : 2000;
    float* const a = allocate<float>(std::size_t{n} * stride, "strided");
    float* const out = allocate<float>(n, "out");
    Expectation e("strided_read", blocks_for(n), 1, kThreads);
    for (unsigned i = 0; i < n; ++i) {
      e.access(a + std::uint64_t{i} * stride, 4, kRead, i / kThreads);
      e.access(out + i, 4, kWrite, i / kThreads);
    }
    strided_read<<<blocks_for(n), kThreads>>>(a, out, stride, n);
    e.write(expected);
    MUST(cudaDeviceSynchronize());
    MUST(cudaFree(a));
    MUST(cudaFree(out));
  }
}

void indexed() {
  const unsigned n = 20000;
  const unsigned range = 4U << 20;
  Numbers numbers;
  std::vector<unsigned> host(n);
  for (unsigned& i : host) i = numbers.next(range);
  unsigned* const index = allocate<unsigned>(n, "index");
  float* const a = allocate<float>(range, "table");
  float* const out = allocate<float>(n, "out");
  MUST(cudaMemcpy(index, host.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  Expectation g("gather", blocks_for(n), 1, kThreads);
  Expectation s("scatter_bytes", blocks_for(n), 1, kThreads);
  Expectation r("atomic_add", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) {
    const unsigned block = i / kThreads;
    for (Expectation* e : {&g, &s, &r}) e->access(index + i, 4, kRead, block);
    g.access(a + host[i], 4, kRead, block);
    g.access(out + i, 4, kWrite, block);
    s.access(reinterpret_cast<char*>(a) + host[i], 1, kWrite, block);
    r.access(a + host[i], 4, kBoth, block);
  }
  gather<<<blocks_for(n), kThreads>>>(index, a, out, n);
  g.write(expected);
  scatter_bytes<<<blocks_for(n), kThreads>>>(index, reinterpret_cast<unsigned char*>(a), n);
  s.write(expected);
  atomic_add<<<blocks_for(n), kThreads>>>(index, reinterpret_cast<unsigned*>(a), n);
  r.write(expected);

  Expectation x("atomic_swap", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) {
    x.access(a + std::uint64_t{i} * 64, 4, kBoth, i / kThreads);
    x.access(out + i, 4, kWrite, i / kThreads);
  }
  atomic_swap<<<blocks_for(n), kThreads>>>(reinterpret_cast<unsigned*>(a), reinterpret_cast<unsigned*>(out), n);
  x.write(expected);

  Expectation d("divergent", blocks_for(n), 1, kThreads);
  float* const wide = allocate<float>(std::size_t{n} * 128, "wide");
  float* const wide_out = allocate<float>(std::size_t{n} * 128, "wide_out");
  for (unsigned i = 0; i < n; ++i) {
    const unsigned way = i % kThreads % 3;
    if (way == 1) d.access(wide + std::uint64_t{i} * 128, 4, kRead, i / kThreads);
    if (way < 2) d.access(wide_out + std::uint64_t{i} * 128, 4, kWrite, i / kThreads);
  }
  divergent<<<blocks_for(n), kThreads>>>(wide, wide_out, n);
  d.write(expected);
  MUST(cudaDeviceSynchronize());
  for (void* p : {static_cast<void*>(index), static_cast<void*>(a), static_cast<void*>(out), static_cast<void*>(wide),
                  static_cast<void*>(wide_out)}) {
    MUST(cudaFree(p));
  }
}

void asynchronous_copies(int major) {
  const unsigned n = 100000;
  float4* const a = allocate<float4>(n, "a");
  float4* const out = allocate<float4>(n, "out");
  Expectation e("async_copy", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) {
    e.access(a + i, 16, kRead, i / kThreads);
    e.access(out + i, 16, kWrite, i / kThreads);
  }
  async_copy<<<blocks_for(n), kThreads>>>(a, out, n);
  e.write(expected);
  if (major >= 9) {
    const unsigned bytes = 4096;
    const unsigned blocks = 100;
    Expectation bulk("bulk_copy", blocks, 1, 32);
    for (unsigned i = 0; i < blocks; ++i) {
      bulk.access(reinterpret_cast<char*>(a) + i * bytes, bytes, kRead, i);
      bulk.access(reinterpret_cast<char*>(out) + i * bytes, bytes, kWrite, i);
    }
    bulk_copy<<<blocks, 32, bytes>>>(reinterpret_cast<const char*>(a), reinterpret_cast<char*>(out), bytes);
    bulk.write(expected);
  }
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(a));
  MUST(cudaFree(out));
}

void halos() {
  const unsigned width = 1000;
  const unsigned height = 300;
  float* const in = allocate<float>(std::size_t{width} * height, "plane");
  float* const out = allocate<float>(std::size_t{width} * height, "plane_out");
  const unsigned columns = blocks_for(width);
  Expectation e("stencil", columns, height, kThreads);
  for (unsigned y = 1; y + 1 < height; ++y) {
    for (unsigned x = 1; x + 1 < width; ++x) {
      const std::uint64_t at = std::uint64_t{y} * width + x;
      const std::uint64_t block = x / kThreads + std::uint64_t{columns} * y;
      for (const std::uint64_t cell : {at, at - 1, at + 1, at - width, at + width}) e.access(in + cell, 4, kRead, block);
      e.access(out + at, 4, kWrite, block);
    }
  }
  stencil<<<dim3(columns, height), kThreads>>>(in, out, width, height);
  e.write(expected);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(in));
  MUST(cudaFree(out));
}

void phases() {
  // 1537 blocks of 65,520 bytes: 96 MB, parts that end inside pages, a number of blocks that is not a multiple of the
  // slices.
  const unsigned per_block = 4095;
  uint4* const big = allocate<uint4>(std::size_t{1537} * per_block, "big");
  const auto expect_fill = [&](unsigned grid_x, unsigned grid_y) {
    Expectation e("fill_parts", grid_x, grid_y, kThreads);
    for (std::uint64_t block = 0; block < std::uint64_t{grid_x} * grid_y; ++block) {
      e.access(big + block * per_block, std::uint64_t{per_block} * 16, kWrite, block);
    }
    e.write(expected);
  };
  fill_parts<<<1537, kThreads>>>(big, per_block);
  expect_fill(1537, 1);
  fill_parts<<<dim3(29, 53), kThreads>>>(big, per_block);
  expect_fill(29, 53);
  fill_parts<<<5, kThreads>>>(big, 1000000);  // fewer blocks than slices
  Expectation few("fill_parts", 5, 1, kThreads);
  for (unsigned block = 0; block < 5; ++block) {
    few.access(big + std::size_t{block} * 1000000, 16000000, kWrite, block);
  }
  few.write(expected);

  const unsigned head_count = 65536;
  float4* const head = allocate<float4>(head_count, "head");
  Expectation h("shared_head", 1000, 1, kThreads);
  for (unsigned block = 0; block < 1000; ++block) {
    h.access(head, std::uint64_t{head_count} * 16, kRead, block);
    h.access(big + std::size_t{block} * per_block, std::uint64_t{per_block} * 16, kWrite, block);
  }
  shared_head<<<1000, kThreads>>>(head, head_count, reinterpret_cast<float4*>(big), per_block);
  h.write(expected);
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(big));
  MUST(cudaFree(head));
}

void other_memories() {
  const unsigned n = 8192;
  float* const out = allocate<float>(n, "out");
  Expectation inner("inner_memories", blocks_for(n), 1, kThreads);
  inner.access(out, n * 4, kWrite, 0);
  inner_memories<<<blocks_for(n), kThreads>>>(out, n);
  inner.write(expected);

  // No call announces the addresses of a module's variables: the accesses are counted as unknown.
  Expectation module("read_table", blocks_for(n), 1, kThreads);
  for (unsigned i = 0; i < n; ++i) module.access(out + i, 4, kWrite, i / kThreads);
  module.unknown(n);
  read_table<<<blocks_for(n), kThreads>>>(out, n);
  module.write(expected);

  float* managed = nullptr;
  float* pinned = nullptr;
  float* pooled = nullptr;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaMallocManaged(&managed, n * 4));
  note_allocation(managed, n * 4, "managed", "managed");
  MUST(cudaHostAlloc(&pinned, n * 4, cudaHostAllocDefault));
  note_allocation(pinned, n * 4, "pinned", "pinned");
  MUST(cudaMallocAsync(&pooled, n * 4, stream));
  note_allocation(pooled, n * 4, "pooled", "pool");
  Expectation kinds("vector_add", blocks_for(n), 1, kThreads);
  kinds.access(managed, n * 4, kRead, 0);
  kinds.access(pinned, n * 4, kRead, 0);
  kinds.access(pooled, n * 4, kWrite, 0);
  vector_add<<<blocks_for(n), kThreads, 0, stream>>>(managed, pinned, pooled, n);
  kinds.write(expected);
  MUST(cudaFreeAsync(pooled, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaFree(managed));
  MUST(cudaFreeHost(pinned));
  MUST(cudaFree(out));
  MUST(cudaStreamDestroy(stream));
}

void heap() {
  unsigned** const pointers = allocate<unsigned*>(64, "pointers");
  unsigned* const out = allocate<unsigned>(64, "out");
  heap_write<<<1, 64>>>(pointers);
  MUST(cudaDeviceSynchronize());
  unsigned* host[64] = {};
  MUST(cudaMemcpy(host, pointers, sizeof host, cudaMemcpyDeviceToHost));
  heap_read<<<1, 64>>>(pointers, out);
  MUST(cudaDeviceSynchronize());
  Expectation w("heap_write", 1, 1, 64);
  Expectation r("heap_read", 1, 1, 64);
  w.access(pointers, 64 * 8, kWrite, 0);
  w.unknown(64);  // the first kernel that uses the heap makes its address known
  r.access(pointers, 64 * 8, kRead, 0);
  r.access(out, 64 * 4, kWrite, 0);
  for (unsigned* pointer : host) {
    if (pointer != nullptr) r.access(pointer, 4, kRead, 0);
  }
  w.write(expected);
  r.write(expected);
  MUST(cudaFree(pointers));
  MUST(cudaFree(out));
}

void graphs() {
  const unsigned n = 100000;
  float* const a = allocate<float>(n, "graph_a");
  float* const b = allocate<float>(n, "graph_b");
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  half_range<<<blocks_for(n), kThreads, 0, stream>>>(a, n);
  vector_add<<<blocks_for(n), kThreads, 0, stream>>>(a, a, b, n);
  half_range<<<blocks_for(n), kThreads, 0, stream>>>(b, n);  // the same kernel again, elsewhere
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&instance, graph, 0));
  for (int round = 0; round < 2; ++round) {
    MUST(cudaGraphLaunch(instance, stream));
    MUST(cudaStreamSynchronize(stream));
    Expectation half("half_range", blocks_for(n), 1, kThreads);
    Expectation add("vector_add", blocks_for(n), 1, kThreads);
    Expectation half_again("half_range", blocks_for(n), 1, kThreads);
    for (Expectation* e : {&half, &add, &half_again}) e->from_graph();
    for (unsigned i = 0; i < n; ++i) {
      if (i < n / 2) half.access(a + i, 4, kWrite, i / kThreads);
      if (i < n / 2) half_again.access(b + i, 4, kWrite, i / kThreads);
      add.access(a + i, 4, kRead, i / kThreads);
      add.access(b + i, 4, kWrite, i / kThreads);
    }
    half.write(expected);
    add.write(expected);
    half_again.write(expected);
  }
  MUST(cudaGraphExecDestroy(instance));
  MUST(cudaGraphDestroy(graph));
  MUST(cudaStreamDestroy(stream));
  MUST(cudaFree(a));
  MUST(cudaFree(b));
}

void copies_and_sets() {
  const std::size_t pitch = 1536;
  const std::size_t rows = 100;
  char* const a = allocate<char>(pitch * rows, "pitched_a");
  char* const b = allocate<char>(pitch * rows, "pitched_b");
  std::vector<char> host(pitch * rows);
  const auto va = [](const void* p) { return reinterpret_cast<unsigned long long>(p); };
  MUST(cudaMemcpy2D(b + 64, pitch, a, 1024, 700, rows, cudaMemcpyDeviceToDevice));
  std::fprintf(expected,
               "{\"t\":\"memcpy\",\"kind\":\"dtod\",\"dst\":%llu,\"src\":%llu,\"bytes\":70000,\"rows\":100,"
               "\"row_bytes\":700,\"dst_pitch\":1536,\"src_pitch\":1024}\n",
               va(b + 64), va(a));
  MUST(cudaMemcpy(host.data(), b, pitch * rows, cudaMemcpyDeviceToHost));
  std::fprintf(expected, "{\"t\":\"memcpy\",\"kind\":\"dtoh\",\"dst\":%llu,\"src\":%llu,\"bytes\":153600}\n",
               va(host.data()), va(b));
  MUST(cudaMemcpy(a, b, 5000, cudaMemcpyDeviceToDevice));
  std::fprintf(expected, "{\"t\":\"memcpy\",\"kind\":\"dtod\",\"dst\":%llu,\"src\":%llu,\"bytes\":5000}\n", va(a), va(b));
  MUST(cudaMemset(a + 512, 3, 12345));
  std::fprintf(expected, "{\"t\":\"memset\",\"va\":%llu,\"bytes\":12345}\n", va(a + 512));
  MUST(cudaMemset2D(b, pitch, 1, 1000, rows));
  std::fprintf(expected,
               "{\"t\":\"memset\",\"va\":%llu,\"bytes\":100000,\"rows\":100,\"row_bytes\":1000,\"pitch\":1536}\n", va(b));
  MUST(cudaDeviceSynchronize());
  MUST(cudaFree(a));
  MUST(cudaFree(b));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || (expected = std::fopen(argv[1], "w")) == nullptr) {
    std::fprintf(stderr, "usage: known_answers EXPECTED.jsonl\n");
    return 2;
  }
  int major = 0;
  MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  dense(1U << 20);
  dense(1000003);
  strides();
  indexed();
  asynchronous_copies(major);
  halos();
  phases();
  other_memories();
  heap();
  graphs();
  copies_and_sets();
  std::fclose(expected);
  return 0;
}
