// SPDX-License-Identifier: Apache-2.0
// A small program that causes one of every kind of event that the timing pass records. gpu_smoke.sh runs it and checks
// the log. Managed memory stays at a few MB. With arguments it does only one of these:
//      smoke launches N     prints the host's time per launch, for the cost of recording
//      smoke repeat N       launches for N seconds, to be killed
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const cudaError_t error = (call);                                                        \
    if (error != cudaSuccess) {                                                              \
      std::fprintf(stderr, "smoke: line %d: %s\n", __LINE__, cudaGetErrorString(error));     \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (false)

struct Arguments {  // pointers inside a struct by value
  long count;
  float* out;
  const float* in;
};
__global__ void scale(Arguments a) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < a.count) a.out[i] = 2 * a.in[i];
}
__global__ void add(float* out, const float* left, const float* right, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = left[i] + right[i];
}
__global__ void fill(float* out, int count, float value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = value;
}

// VMM: reserve, create, map, use, unmap.
void map_and_unmap() {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  property.location.id = 0;
  const std::size_t bytes = 2u << 20;
  CUdeviceptr va = 0;
  CUmemGenericAllocationHandle handle{};
  CUmemAccessDesc access{};
  access.location = property.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (cuMemAddressReserve(&va, bytes, 0, 0, 0) != CUDA_SUCCESS ||
      cuMemCreate(&handle, bytes, &property, 0) != CUDA_SUCCESS || cuMemMap(va, bytes, 0, handle, 0) != CUDA_SUCCESS ||
      cuMemSetAccess(va, bytes, &access, 1) != CUDA_SUCCESS) {
    std::fprintf(stderr, "smoke: mapping failed\n");
    std::exit(1);
  }
  fill<<<1, 256>>>(reinterpret_cast<float*>(va), 256, 1.0f);
  CHECK(cudaDeviceSynchronize());
  cuMemUnmap(va, bytes);
  cuMemRelease(handle);
  cuMemAddressFree(va, bytes);
}

void launch_graph(float* out, float* in, int count) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(in, 0, count * sizeof(float), stream));
  fill<<<count / 256, 256, 0, stream>>>(in, count, 3.0f);
  scale<<<count / 256, 256, 0, stream>>>(Arguments{count, out, in});
  CHECK(cudaMemcpyAsync(in, out, count * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

void use_managed_memory() {
  const int count = 1 << 20;
  float* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, count * sizeof(float)));
  for (int i = 0; i < count; ++i) managed[i] = 1.0f;  // on the host: the GPU must fault
  fill<<<count / 256, 256>>>(managed, count, 2.0f);
  CHECK(cudaDeviceSynchronize());
  const float seen = managed[7];  // back on the host
#if CUDART_VERSION >= 13000
  cudaMemLocation gpu{};
  gpu.type = cudaMemLocationTypeDevice;
  cudaMemLocation host{};
  host.type = cudaMemLocationTypeHost;
  CHECK(cudaMemAdvise(managed, count * sizeof(float), cudaMemAdviseSetPreferredLocation, gpu));
  CHECK(cudaMemPrefetchAsync(managed, count * sizeof(float), gpu, 0, 0));
  CHECK(cudaMemPrefetchAsync(managed, count * sizeof(float), host, 0, 0));
  CUdeviceptr ranges[2] = {reinterpret_cast<CUdeviceptr>(managed), reinterpret_cast<CUdeviceptr>(managed) + (2u << 20)};
  std::size_t sizes[2] = {2u << 20, 2u << 20};
  // Older drivers lack these two calls; the check then says so.
  (void)cuMemDiscardBatchAsync(ranges, sizes, 2, 0, CU_STREAM_PER_THREAD);
  CUmemLocation where{};
  where.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t index = 0;
  (void)cuMemPrefetchBatchAsync(ranges, sizes, 2, &where, &index, 1, 0, CU_STREAM_PER_THREAD);
#else
  CHECK(cudaMemAdvise(managed, count * sizeof(float), cudaMemAdviseSetPreferredLocation, 0));
  CHECK(cudaMemPrefetchAsync(managed, count * sizeof(float), 0, 0));
  CHECK(cudaMemPrefetchAsync(managed, count * sizeof(float), cudaCpuDeviceId, 0));
#endif
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(managed));
  if (seen != 2.0f) std::exit(2);
}

// 20 launches, then a wait, because an iteration of a framework has many launches and few waits.
void launch_batches(float* out, const float* in, int batches) {
  for (int batch = 0; batch < batches; ++batch) {
    for (int i = 0; i < 20; ++i) add<<<4, 256>>>(out, in, in, 1024);
    CHECK(cudaDeviceSynchronize());
  }
}

int launch_only(const char* mode, int amount) {
  float* memory = nullptr;
  CHECK(cudaMalloc(&memory, 2 * 4096));
  launch_batches(memory, memory + 1024, 50);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  if (std::strcmp(mode, "launches") == 0) {
    launch_batches(memory, memory + 1024, amount / 20);
    std::printf("smoke: %.2f us per launch\n", 1e6 * seconds() / amount);
  } else {
    std::puts("smoke: launching");
    std::fflush(stdout);
    while (seconds() < amount) launch_batches(memory, memory + 1024, 100);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3) return launch_only(argv[1], std::atoi(argv[2]));
  const int count = 1 << 18;
  const std::size_t bytes = count * sizeof(float);
  float *left = nullptr, *right = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&left, bytes));
  CHECK(cudaMalloc(&right, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaProfilerStart());
  nvtxRangePushA("copies");
  std::vector<float> host(count, 1.0f);
  float* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, bytes));
  std::vector<char> registered(1 << 20);
  CHECK(cudaHostRegister(registered.data(), registered.size(), 0));
  CHECK(cudaMemcpy(left, host.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyAsync(right, pinned, bytes, cudaMemcpyHostToDevice, 0));
  CHECK(cudaMemset(out, 0, bytes));
  float* pitched = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&pitched, &pitch, 1000, 64));
  CHECK(cudaMemset2D(pitched, pitch, 1, 1000, 64));
  CHECK(cudaMemcpy2D(pitched, pitch, host.data(), 1000, 1000, 64, cudaMemcpyHostToDevice));
  nvtxRangePop();

  nvtxRangePushA("kernels");
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  add<<<count / 256, 256>>>(out, left, right, count);
  scale<<<count / 256, 256>>>(Arguments{count, out, left + 1024});
  CHECK(cudaEventRecord(event, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamWaitEvent(stream, event, 0));
  void* cooperative[] = {&out, const_cast<int*>(&count), &host[0]};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(fill), dim3(16), dim3(256), cooperative, 0, stream));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaStreamSynchronize(stream));
  float* pooled = nullptr;
  CHECK(cudaMallocAsync(&pooled, bytes, stream));
  fill<<<count / 256, 256, 0, stream>>>(pooled, count, 5.0f);
  CHECK(cudaFreeAsync(pooled, stream));
  CHECK(cudaDeviceSynchronize());
  nvtxRangePop();

  launch_graph(out, left, count);
  map_and_unmap();
  use_managed_memory();
  CHECK(cudaMemcpy(host.data(), out, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaHostUnregister(registered.data()));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(left));
  CHECK(cudaFree(right));
  CHECK(cudaFree(out));
  CHECK(cudaFree(pitched));
  CHECK(cudaProfilerStop());
  std::puts("smoke: done");
  return 0;
}
