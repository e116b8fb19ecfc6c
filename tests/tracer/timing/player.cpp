// SPDX-License-Identifier: Apache-2.0
// A program that uses CUDA, as the timing pass sees it. It loads the injection library as the driver does and plays a
// script of JSON lines into it, through the fake CUPTI and the fake driver with which it is linked.
//
// A line has "call" (player_calls.h) or "do". The values of "do" are: context, module (is loaded), node (declares a
// graph's node), nodes_made (a capture makes one), device (becomes current), others (take memory), iteration, record
// (of the GPU's work), push and pop (NVTX), sleep, flush, kill, limit (of file sizes), fork, threads, measure. Usage:
// player LIBRARY SCRIPT
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "fake_cuda.h"
#include "fake_cupti.h"
#include "player_calls.h"
#include "tests/tracer/maps/bytes.h"

namespace {

using nlohmann::json;

void* injection = nullptr;

void play(const json& line);

void make_context(const json& line) {
  const unsigned device = line.value("device", 0u);
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(std::uintptr_t{device} << 8 | line.value("id", 1u));
  fake::cupti().context_exists = true;
  fake::cupti().call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void make_node(const json& line) {
  const std::string type = line.at("type");
  const std::uint64_t id = line.at("node");
  fake::Node node;
  if (type == "kernel") {
    node.type = CU_GRAPH_NODE_TYPE_KERNEL;
    // A graph keeps its nodes' parameters.
    static std::list<std::vector<std::uint64_t>> all_words;
    static std::list<std::vector<void*>> all_pointers;
    auto* const words = &all_words.emplace_back(line.at("params").get<std::vector<std::uint64_t>>());
    auto* const pointers = &all_pointers.emplace_back();
    fake::Function& function = fake::cuda().functions[line.at("function")];
    function = {line.at("name"), {}, line.value("is_kernel", false)};
    for (std::size_t i = 0; i < words->size(); ++i) {
      pointers->push_back(&(*words)[i]);
      function.parameters.emplace_back(8 * i, 8);
    }
    const auto handle = line.at("function").get<std::uint64_t>();
    if (function.is_kernel) {
      node.kernel.kern = reinterpret_cast<CUkernel>(handle);
    } else {
      node.kernel.func = reinterpret_cast<CUfunction>(handle);
    }
    node.kernel.gridDimX = line.value("grid", 1u);
    node.kernel.gridDimY = node.kernel.gridDimZ = node.kernel.blockDimY = node.kernel.blockDimZ = 1;
    node.kernel.blockDimX = 64;
    node.kernel.kernelParams = pointers->data();
  } else if (type == "memcpy") {
    node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    node.copy.srcMemoryType = node.copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    node.copy.srcDevice = line.at("src");
    node.copy.dstDevice = line.at("dst");
    node.copy.WidthInBytes = line.at("bytes");
    node.copy.Height = node.copy.Depth = 1;
  } else if (type == "memset") {
    node.type = CU_GRAPH_NODE_TYPE_MEMSET;
    node.set.dst = line.at("va");
    node.set.elementSize = 4;
    node.set.width = line.at("count");
    node.set.height = 1;
  } else if (type == "alloc" || type == "free") {
    node.type = type == "alloc" ? CU_GRAPH_NODE_TYPE_MEM_ALLOC : CU_GRAPH_NODE_TYPE_MEM_FREE;
    node.va = line.at("va");
    node.bytes = line.value("bytes", 0u);
  } else if (type == "graph") {
    node.type = CU_GRAPH_NODE_TYPE_GRAPH;
    node.child = line.at("child");
  }
  fake::cuda().nodes[id] = node;
  fake::cuda().graphs[line.at("graph")].push_back(id);
}

template <typename Record>
Record timed(const json& line, CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.start = line.at("start");
  record.end = line.at("end");
  record.deviceId = line.value("device", 0u);
  record.correlationId = line.at("corr");
  record.graphNodeId = line.value("node", std::uint64_t{0});
  return record;
}

void add_record(const json& line) {
  const std::string kind = line.at("kind");
  if (kind == "kernel") {
    auto record = timed<CUpti_ActivityKernel10>(line, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    record.registersPerThread = static_cast<std::uint16_t>(line.value("registers", 0));
    record.staticSharedMemory = line.value("static", 0);
    record.dynamicSharedMemory = line.value("dynamic", 0);
    fake::cupti().add_record(record);
  } else if (kind == "memcpy") {
    fake::cupti().add_record(timed<CUpti_ActivityMemcpy6>(line, CUPTI_ACTIVITY_KIND_MEMCPY));
  } else if (kind == "peer") {
    fake::cupti().add_record(timed<CUpti_ActivityMemcpyPtoP4>(line, CUPTI_ACTIVITY_KIND_MEMCPY2));
  } else if (kind == "memset") {
    fake::cupti().add_record(timed<CUpti_ActivityMemset4>(line, CUPTI_ACTIVITY_KIND_MEMSET));
  } else if (kind == "uvm") {
    CUpti_ActivityUnifiedMemoryCounter3 record{};
    record.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    record.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(line.at("counter").get<int>());
    record.value = line.at("value");
    record.start = line.at("start");
    record.end = line.at("end");
    record.address = line.at("va");
    record.srcId = line.at("source").get<std::uint32_t>();
    record.dstId = line.at("destination").get<std::uint32_t>();
    record.flags = line.at("flags");
    fake::cupti().add_record(record);
  }
}

// "file" holds the module's bytes in hexadecimal.
void load_module(const json& line) {
  const std::vector<unsigned char> file = uvmtrace::maps_test::bytes_of(line.at("file").get<std::string>());
  CUpti_ModuleResourceData module{};
  module.cubinSize = file.size();
  module.pCubin = reinterpret_cast<const char*>(file.data());
  CUpti_ResourceData data{};
  data.resourceDescriptor = &module;
  fake::cupti().call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

void made_nodes() {
  CUpti_GraphData graph{};
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  fake::cupti().call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
}

void play_all(const json& lines) {
  for (const json& line : lines) play(line);
}

// Prints the time that the callbacks of one call take.
void measure(const json& line) {
  const int count = line.at("count");
  cuLaunchKernel_params p{};
  std::vector<std::uint64_t> words(static_cast<std::size_t>(line.at("words").get<int>()), 0x7f0000001000);
  void* pointers[] = {words.data()};
  fake::cuda().functions[77] = {"measured", {{0, words.size() * 8}}, false};
  p.f = reinterpret_cast<CUfunction>(77);
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = pointers;
  CUresult result = CUDA_SUCCESS;
  CUpti_CallbackData data{};
  data.functionParams = &p;
  data.functionReturnValue = &result;
  const std::string name(200, 'k');
  data.symbolName = name.c_str();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    data.correlationId = static_cast<std::uint32_t>(i + 1);
    data.callbackSite = CUPTI_API_ENTER;
    fake::cupti().call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    data.callbackSite = CUPTI_API_EXIT;
    fake::cupti().call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f ns per launch with %zu words\n", took.count() / count, words.size());
}

void play(const json& line) {
  if (line.contains("call")) return player::play_call(line);
  const std::string what = line.at("do");
  if (what == "context") {
    make_context(line);
  } else if (what == "module") {
    load_module(line);
  } else if (what == "node") {
    make_node(line);
  } else if (what == "nodes_made") {
    made_nodes();
  } else if (what == "record") {
    add_record(line);
  } else if (what == "push") {
    nvtxRangePushA(line.at("name").get<std::string>().c_str());
  } else if (what == "domain_push") {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, line.at("name").get<std::string>().c_str());
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
  } else if (what == "wide_push") {
    nvtxRangePushW(L"gr\u00f6\u00dfe");
  } else if (what == "device") {
    fake::cuda().current_device = line.at("is").get<int>();
  } else if (what == "others") {
    player::change_memory(line);
  } else if (what == "iteration") {
    const auto mark = reinterpret_cast<void (*)(std::uint64_t, int)>(::dlsym(injection, "uvmtrace_iteration"));
    mark(line.at("index"), line.at("begin").get<bool>() ? 1 : 0);
  } else if (what == "pop") {
    nvtxRangePop();
  } else if (what == "sleep") {
    std::this_thread::sleep_for(std::chrono::milliseconds(line.at("ms").get<int>()));
  } else if (what == "kill") {
    ::raise(SIGKILL);
  } else if (what == "abort") {
    std::abort();
  } else if (what == "limit") {
    const rlimit limit{line.at("bytes").get<rlim_t>(), line.at("bytes").get<rlim_t>()};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  } else if (what == "fork") {
    const pid_t child = ::fork();
    if (child == 0) {
      play_all(line.at("child"));
      std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) std::_Exit(98);
  } else if (what == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < line.at("count").get<int>(); ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < line.at("times").get<int>(); ++j) play_all(line.at("lines"));
      });
    }
    for (std::thread& thread : threads) thread.join();
  } else if (what == "measure") {
    measure(line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 97;
  injection = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (injection == nullptr) {
    std::fprintf(stderr, "player: %s\n", ::dlerror());
    return 96;
  }
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(injection, "InitializeInjection"));
  if (initialize == nullptr || initialize() != 1 || initialize() != 1) return 95;
  std::ifstream script(argv[2]);
  for (std::string text; std::getline(script, text);) {
    if (!text.empty()) play(json::parse(text));
  }
  std::puts("the program goes on");
  return 7;
}
