// SPDX-License-Identifier: Apache-2.0
// Records which function of a plug-in's policy is running, so that messages can name it after an exception, a crash or
// an exit.
#pragma once

#include <cstdint>
#include <string>

namespace uvmsim::policy {

// "evict policy 'mine' (./mine.so): select_victim() for block 12". The texts must outlive the call.
struct PluginCall {
  const char* policy;
  const char* hook;
  const char* unit = nullptr;  // what `number` counts: "block", "GPU"; null: the call has no subject
  std::uint64_t number = 0;
};

// Marks this thread as being in the call during the object's lifetime; calls nest.
class InPluginCall {
 public:
  // `call` must outlive the object.
  explicit InPluginCall(const PluginCall& call);
  ~InPluginCall();
  InPluginCall(const InPluginCall&) = delete;
  InPluginCall& operator=(const InPluginCall&) = delete;

 private:
  const PluginCall* outer_;
};

// Returns the innermost call of this thread, null outside of plug-ins.
const PluginCall* current_plugin_call();

std::string describe(const PluginCall& call);

// Installs handlers: from now on a plug-in call that crashes (also by stack overflow, in this thread), aborts or exits
// ends the process with exit code 3 and one line that names the call. Later calls of this function do nothing.
void watch_plugin_calls();

// Sets where that line goes, as one write; the default is standard error. `preface` must outlive the process's work.
void report_plugin_calls_to(int descriptor, const char* preface);

}  // namespace uvmsim::policy
