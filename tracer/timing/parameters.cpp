// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/parameters.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "tracer/timing/driver_library.h"
#include "tracer/timing/live_allocations.h"

namespace uvmtrace {

namespace {

constexpr std::size_t kWordBytes = 8;
// CUDA's limit, as a guard against invalid data: 32,764 bytes of parameters since 12.1.
constexpr std::size_t kMostParameters = 4096;
constexpr std::size_t kMostParameterBytes = 65536;

struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
using Layout = std::vector<Parameter>;

template <typename Function>
bool read_layout(CUresult (*query)(Function, std::size_t, std::size_t*, std::size_t*), Function function,
                 Layout& layout) {
  if (query == nullptr) return false;
  layout.clear();
  while (layout.size() < kMostParameters) {
    Parameter parameter;
    const CUresult result = query(function, layout.size(), &parameter.offset, &parameter.bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // there is no such parameter: all have been read
    if (result != CUDA_SUCCESS || parameter.bytes > kMostParameterBytes) return false;
    layout.push_back(parameter);
  }
  return !layout.empty();
}

class LayoutCache {
 public:
  static LayoutCache& instance() {
    static LayoutCache* const cache = new LayoutCache;
    return *cache;
  }

  std::shared_ptr<const Layout> get(CUfunction function) {
    {
      const std::shared_lock lock(mutex_);
      const auto found = layouts_.find(function);
      if (found != layouts_.end()) return found->second;
    }
    auto layout = std::make_shared<Layout>();
    if (!read_layout(driver().cuFuncGetParamInfo, function, *layout) &&
        !read_layout(driver().cuKernelGetParamInfo, reinterpret_cast<CUkernel>(function), *layout)) {
      layout->clear();
    }
    const std::unique_lock lock(mutex_);
    return layouts_.try_emplace(function, std::move(layout)).first->second;
  }

  void clear() {
    const std::unique_lock lock(mutex_);
    layouts_.clear();
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, std::shared_ptr<const Layout>> layouts_;
};

// Words are aligned in the GPU's parameter buffer, where the parameter begins at `offset`.
void collect_words(const void* data, std::size_t offset, std::size_t bytes, std::vector<std::uint64_t>& words) {
  const LiveAllocations& live = LiveAllocations::instance();
  const auto* const begin = static_cast<const unsigned char*>(data);
  for (std::size_t at = (kWordBytes - offset % kWordBytes) % kWordBytes; at + kWordBytes <= bytes; at += kWordBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, begin + at, kWordBytes);
    if (live.may_be_pointer(word)) words.push_back(word);
  }
}

struct Buffer {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Returns the buffer with all parameters that CU_LAUNCH_PARAM_BUFFER_POINTER gives.
Buffer extra_buffer(void** extra) {
  Buffer out;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      out.data = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr) {
      out.bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return {};
    }
  }
  return out.data != nullptr && out.bytes <= kMostParameterBytes ? out : Buffer{};
}

}  // namespace

LaunchParameters read_parameters(std::string_view kernel, CUfunction function, void** parameters, void** extra) {
  std::vector<std::uint64_t> words;
  std::vector<unsigned char> bytes;
  const bool maps = TensorMaps::instance().wanted(kernel);
  const auto collect = [&](const void* data, std::size_t offset, std::size_t size) {
    collect_words(data, offset, size, words);
    if (!maps || offset > kMostParameterBytes) return;
    if (bytes.size() < offset + size) bytes.resize(offset + size);
    std::memcpy(bytes.data() + offset, data, size);
  };
  if (parameters != nullptr) {
    const std::shared_ptr<const Layout> layout = LayoutCache::instance().get(function);
    for (std::size_t i = 0; i < layout->size(); ++i) {
      if (parameters[i] != nullptr) collect(parameters[i], (*layout)[i].offset, (*layout)[i].bytes);
    }
  } else if (extra != nullptr) {
    const Buffer buffer = extra_buffer(extra);
    if (buffer.data != nullptr) collect(buffer.data, 0, buffer.bytes);
  }
  LaunchParameters out;
  if (!words.empty()) LiveAllocations::instance().keep_pointers(words, out.pointers);
  if (!bytes.empty()) out.maps = TensorMaps::instance().find(bytes);
  return out;
}

void forget_parameter_layouts() { LayoutCache::instance().clear(); }

std::string kernel_name(CUfunction function, CUkernel kernel) {
  const char* name = nullptr;
  if (function != nullptr && driver().cuFuncGetName != nullptr &&
      driver().cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr) {
    return name;
  }
  if (kernel != nullptr && driver().cuKernelGetName != nullptr &&
      driver().cuKernelGetName(&name, kernel) == CUDA_SUCCESS && name != nullptr) {
    return name;
  }
  return {};
}

}  // namespace uvmtrace
