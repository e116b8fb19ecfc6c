// SPDX-License-Identifier: Apache-2.0
// Which function of a plug-in's policy runs, so that whatever happens in it has a name: an exception, a crash, an exit.
#pragma once

#include <cstdint>
#include <string>

namespace uvmsim::policy {

// "evict policy 'mine' (./mine.so): select_victim() for block 12". The texts outlive the call.
struct PluginCall {
  const char* policy;
  const char* hook;
  const char* unit = nullptr;  // what `number` counts: "block", "GPU"; null: the call is about nothing in particular
  std::uint64_t number = 0;
};

// While it lives, this thread is in the call; calls nest.
class InPluginCall {
 public:
  // `call` outlives it.
  explicit InPluginCall(const PluginCall& call);
  ~InPluginCall();
  InPluginCall(const InPluginCall&) = delete;
  InPluginCall& operator=(const InPluginCall&) = delete;

 private:
  const PluginCall* outer_;
};

// The innermost call of this thread, null outside of plug-ins.
const PluginCall* current_plugin_call();

std::string describe(const PluginCall& call);

// From now on a call that crashes (also where the stack is full, in this thread), aborts or exits ends the process with
// one line that names it, and exit code 3. Once; later calls do nothing.
void watch_plugin_calls();

// Where that line goes, as one write: standard error, until a process that answers another one says otherwise.
// `preface` outlives the process's work.
void report_plugin_calls_to(int descriptor, const char* preface);

}  // namespace uvmsim::policy
