// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/sanitizer_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace uvmtrace::access {

namespace {
template <typename Function>
bool look_up(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}
}  // namespace

SanitizerApi& sanitizer() {
  static SanitizerApi* const api = new SanitizerApi;
  return *api;
}

std::string SanitizerApi::load() {
  std::vector<std::string> places;
  if (const char* const wanted = std::getenv("UVMTRACE_SANITIZER_LIBRARY"); wanted != nullptr && *wanted != '\0') {
    places.emplace_back(wanted);
  } else {
#ifdef UVMTRACE_SANITIZER_LIBRARY_BUILT_WITH
    places.emplace_back(UVMTRACE_SANITIZER_LIBRARY_BUILT_WITH);
#endif
    places.emplace_back("libsanitizer-public.so");
  }
  void* library = nullptr;
  std::string tried;
  for (const std::string& place : places) {
    library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* const why = ::dlerror();
    if (tried.empty()) tried = why != nullptr ? why : place;
  }
  if (library == nullptr) {
    return "the Compute Sanitizer library of the CUDA toolkit cannot be loaded (" + tried +
           "); set UVMTRACE_SANITIZER_LIBRARY to libsanitizer-public.so";
  }
  std::string missing;
#define UVMTRACE_LOOK_UP(name) \
  if (!look_up(library, #name, this->name)) missing = #name;
  UVMTRACE_SANITIZER_FUNCTIONS(UVMTRACE_LOOK_UP)
#undef UVMTRACE_LOOK_UP
  if (!missing.empty()) return "the Compute Sanitizer library has no function " + missing + ": its toolkit is too old";
  return {};
}

std::string describe(SanitizerResult result) {
  const char* text = nullptr;
  if (sanitizer().sanitizerGetResultString != nullptr) (void)sanitizer().sanitizerGetResultString(result, &text);
  return (text != nullptr ? std::string(text) : std::string("error")) + " (" +
         std::to_string(static_cast<int>(result)) + ")";
}

bool succeeded(SanitizerResult result, const char* what, std::string& why) {
  if (result == SANITIZER_SUCCESS) return true;
  why = std::string(what) + ": " + describe(result);
  return false;
}

}  // namespace uvmtrace::access
