// SPDX-License-Identifier: Apache-2.0
// A plug-in whose descriptor states another ABI version. With OTHER_VERSION_MISSES_A_FUNCTION it also needs a function
// that this program does not have.
#include "sim/policy/plugin_abi.h"

#ifdef OTHER_VERSION_MISSES_A_FUNCTION
void a_function_of_the_future();
#else
static void a_function_of_the_future() {}
#endif

extern "C" __attribute__((visibility("default"))) const uvmsim::policy::PluginDescriptor uvmsim_policy_plugin;
const uvmsim::policy::PluginDescriptor uvmsim_policy_plugin = {
    OTHER_VERSION_ABI, 0, OTHER_VERSION_COMPILER, "future",
    [](uvmsim::policy::Registry&) { a_function_of_the_future(); }};
