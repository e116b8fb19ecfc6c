// SPDX-License-Identifier: Apache-2.0
// A time limit for calls of plug-ins (plugin_call.h), which names the call that was running when it expired.
#pragma once

namespace uvmsim::policy {

// Makes this signal, sent when the time is up, end the process. During a call it prints a line that begins with
// `preface` and names the call, to the target of report_plugin_calls_to(); otherwise the signal has its default effect.
void end_plugin_calls_at(int signal, const char* preface);

}  // namespace uvmsim::policy
