// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/access/player.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace uvmtrace::access {

namespace {
template <typename Handle>
Handle handle(std::uint64_t number) {
  return reinterpret_cast<Handle>(number);
}
const auto kContext = handle<CUcontext>(0x1000);
}  // namespace

Player::Player(const char* injection_library) {
  void* const library = ::dlopen(injection_library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(3);
  }
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  if (initialize == nullptr || initialize() != 1) std::exit(4);
  if (const char* const place = std::getenv("UVMTRACE_SANITIZER_LIBRARY"); place != nullptr) {
    if (void* const api = ::dlopen(place, RTLD_NOW | RTLD_NOLOAD); api != nullptr) {
      fake_ = reinterpret_cast<FakeSanitizer* (*)()>(::dlsym(api, "fake_sanitizer"))();
      take_launch_data_ = reinterpret_cast<const void* (*)()>(::dlsym(api, "fake_take_launch_data"));
    }
  }
}

void Player::callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
  if (recording()) fake_->callback(fake_->userdata, domain, id, data);
}

void Player::create_context() {
  const Sanitizer_ResourceContextData data{kContext, 0};
  callback(SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED, &data);
}

void Player::load_module(std::uint64_t module) {
  const Sanitizer_ResourceModuleData data{kContext, handle<CUmodule>(module)};
  callback(SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_MODULE_LOADED, &data);
}

void Player::call(std::uint32_t number, const void* parameters, const std::function<void()>& inside, CUresult result) {
  Sanitizer_CallbackData data{SANITIZER_API_ENTER, parameters, nullptr};
  callback(SANITIZER_CB_DOMAIN_DRIVER_API, number, &data);
  if (inside) inside();
  data.callbackSite = SANITIZER_API_EXIT;
  data.functionReturnValue = &result;
  callback(SANITIZER_CB_DOMAIN_DRIVER_API, number, &data);
}

void Player::device_memory(std::uint64_t va, std::uint64_t bytes, std::uint32_t flags, bool gone) {
  const Sanitizer_ResourceMemoryData data{va, bytes, flags};
  callback(SANITIZER_CB_DOMAIN_RESOURCE,
           gone ? SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE : SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC, &data);
}

void Player::allocate(std::uint64_t va, std::uint64_t bytes, CUresult result) {
  CUdeviceptr pointer = va;
  const params::Alloc parameters{&pointer, bytes};
  // The driver reports the same memory from inside the call, rounded up.
  call(
      243, &parameters, [&] { device_memory(va, (bytes + 511) / 512 * 512, 0); }, result);
}

void Player::free(std::uint64_t va) {
  const params::Free parameters{va};
  call(245, &parameters, [&] { device_memory(va, 0, 0, true); });
}

void Player::mark_range(Marks* marks, std::uint64_t va, std::uint64_t bytes, std::uint32_t mode, std::uint64_t block) {
  marks = marks_of_grid<HostMachine>(marks);
  if (marks != nullptr) mark<HostMachine>(marks, va, bytes, mode, block);
}

Sanitizer_LaunchData Player::launch_data(const char* name, std::uint64_t module, std::uint64_t stream,
                                         std::uint32_t blocks) {
  Sanitizer_LaunchData data{};
  data.context = kContext;
  data.stream = handle<CUstream>(stream);
  data.module = handle<CUmodule>(module);
  data.functionName = name;
  data.gridDim_x = blocks;
  data.gridDim_y = data.gridDim_z = 1;
  data.blockDim_x = 128;
  data.blockDim_y = data.blockDim_z = 1;
  return data;
}

void Player::launch(const std::string& name, std::uint64_t module, std::uint64_t stream, std::uint32_t blocks,
                    const Kernel& kernel) {
  const params::Launch parameters{nullptr, {blocks, 1, 1}, {128, 1, 1}, 64, handle<CUstream>(stream), nullptr};
  call(307, &parameters, [&] {
    const Sanitizer_LaunchData data = launch_data(name.c_str(), module, stream, blocks);
    callback(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_BEGIN, &data);
    kernel(take_marks());
    callback(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_END, &data);
  });
}

void Player::graph(std::uint64_t module, const Kernel& first, const Kernel& second) {
  const params::GraphLaunch parameters{nullptr, handle<CUstream>(0x77)};
  call(514, &parameters, [&] {
    const Sanitizer_GraphLaunchData graph{kContext, nullptr, 0};
    callback(SANITIZER_CB_DOMAIN_GRAPHS, SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN, &graph);
    Marks* marks = nullptr;
    for (std::uint64_t i = 0; i < 2; ++i) {
      Sanitizer_GraphNodeLaunchData node{};
      node.node = handle<CUgraphNode>(100 + i);
      node.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
      node.launchData = launch_data("node", module, 0x77, 4);
      node.launchData.gridId = 1000 + i;
      callback(SANITIZER_CB_DOMAIN_GRAPHS, SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN, &node);
      callback(SANITIZER_CB_DOMAIN_GRAPHS, SANITIZER_CBID_GRAPHS_NODE_LAUNCH_END, &node);
      // As on the GPU, the last setting applies to all.
      marks = take_marks();
    }
    HostMachine::grid() = 1000;
    first(marks);
    HostMachine::grid() = 1001;
    second(marks);
    callback(SANITIZER_CB_DOMAIN_GRAPHS, SANITIZER_CBID_GRAPHS_LAUNCH_END, &graph);
  });
}

}  // namespace uvmtrace::access
