// SPDX-License-Identifier: Apache-2.0
// Turns NVTX ranges into `push` and `pop`. NVTX loads the library that NVTX_INJECTION64_PATH names when the program
// first uses a range, separately in every binary that contains NVTX, and lets it fill a table of functions. This needs
// neither CUPTI nor CUDA, so both passes record the same ranges in the same order relative to their launches.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tracer/log/event_log.h"
#include "tracer/log/host_clock.h"

namespace uvmtrace {
namespace {

std::string utf8(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != L'\0'; ++text) {
    const auto code = static_cast<std::uint32_t>(*text);
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | (code >> 18 & 7));
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }
  return out;
}

// The handle of a registered string is the address of its only copy.
nvtxStringHandle_t intern(std::string text) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& known = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(&*known.insert(std::move(text)).first));
}

std::string message(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii == nullptr ? "" : attributes->message.ascii;
    case NVTX_MESSAGE_TYPE_UNICODE:
      return utf8(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (attributes->message.registered == nullptr) return {};
      return *reinterpret_cast<const std::string*>(attributes->message.registered);
    default:
      return {};
  }
}

thread_local int depth = 0;

int push(std::string_view name) {
  EventLog& log = EventLog::instance();
  JsonLine line = log.host_event("push");
  put_times(line);
  line.text("name", name);
  log.write(std::move(line));
  return depth++;
}

int NVTX_API pop() {
  if (depth == 0) return -1;
  EventLog& log = EventLog::instance();
  JsonLine line = log.host_event("pop");
  put_times(line);
  log.write(std::move(line));
  return --depth;
}

int NVTX_API push_ascii(const char* name) { return push(name == nullptr ? "" : name); }
int NVTX_API push_unicode(const wchar_t* name) { return push(utf8(name)); }
int NVTX_API push_attributes(const nvtxEventAttributes_t* attributes) { return push(message(attributes)); }
int NVTX_API push_in_domain(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  return push(message(attributes));
}
int NVTX_API pop_in_domain(nvtxDomainHandle_t) { return pop(); }
nvtxStringHandle_t NVTX_API register_ascii(nvtxDomainHandle_t, const char* text) {
  return intern(text == nullptr ? "" : text);
}
nvtxStringHandle_t NVTX_API register_unicode(nvtxDomainHandle_t, const wchar_t* text) { return intern(utf8(text)); }
// All domains are treated as one, but a program may test that it got a handle.
nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(register_ascii(nullptr, name));
}
nvtxDomainHandle_t NVTX_API create_domain_unicode(const wchar_t* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(register_unicode(nullptr, name));
}

struct Table {
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;

  template <typename Function>
  void set(unsigned id, Function function) const {
    if (id < size && functions[id] != nullptr) *functions[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
};

}  // namespace
}  // namespace uvmtrace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace uvmtrace;
  if (get_export_table == nullptr) return 0;
  const auto* const exports = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (exports == nullptr || exports->GetModuleFunctionTable == nullptr) return 0;
  Table core;
  if (exports->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core.functions, &core.size) != 0) {
    core.set(NVTX_CBID_CORE_RangePushEx, &push_attributes);
    core.set(NVTX_CBID_CORE_RangePushA, &push_ascii);
    core.set(NVTX_CBID_CORE_RangePushW, &push_unicode);
    core.set(NVTX_CBID_CORE_RangePop, &pop);
  }
  Table domains;
  if (exports->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains.functions, &domains.size) != 0) {
    domains.set(NVTX_CBID_CORE2_DomainRangePushEx, &push_in_domain);
    domains.set(NVTX_CBID_CORE2_DomainRangePop, &pop_in_domain);
    domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_ascii);
    domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, &register_unicode);
    domains.set(NVTX_CBID_CORE2_DomainCreateA, &create_domain);
    domains.set(NVTX_CBID_CORE2_DomainCreateW, &create_domain_unicode);
  }
  return 1;
}
