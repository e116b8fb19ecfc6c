// SPDX-License-Identifier: Apache-2.0
// The agreement that a plug-in and its loader check before either trusts the other.
//
// A plug-in exports one C symbol, uvmsim_policy_plugin, an object of type PluginDescriptor. Its first four members
// never move, so that any version of uvmsim can say why it refuses any plug-in.
#pragma once

#include <cstdint>
#include <version>

namespace uvmsim::policy {

class Registry;

// Increases with every change to the layout or the virtual functions of the headers that plug-ins see: policy.h,
// planner.h, migrator.h, router.h, scheduler.h, batcher.h, features.h, parameters.h, future.h, kernel_future.h,
// slots.h, registry.h, overrides.h here, units.h, random.h, state_digest.h, sparse_table.h and lazy_array.h of
// sim/common, page_mask.h, chunk_id.h
// and processor.h of sim/memory.
inline constexpr std::uint32_t kPluginAbiVersion = 17;

// Classes of the standard library cross the boundary, so both sides need the same library with the same layout.
#if defined(_LIBCPP_VERSION)
#define UVMSIM_STANDARD_LIBRARY "libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define UVMSIM_STANDARD_LIBRARY "libstdc++"
#else
#define UVMSIM_STANDARD_LIBRARY "libstdc++ with pre-C++11 strings"
#endif
#ifdef _GLIBCXX_DEBUG
#define UVMSIM_STANDARD_LIBRARY_CHECKS ", checked containers"
#else
#define UVMSIM_STANDARD_LIBRARY_CHECKS ""
#endif
inline constexpr const char* kCompilerAbi = "Itanium C++, " UVMSIM_STANDARD_LIBRARY UVMSIM_STANDARD_LIBRARY_CHECKS;

struct PluginDescriptor {
  std::uint32_t abi_version;
  std::uint32_t reserved;    // 0
  const char* compiler_abi;  // kCompilerAbi of the plug-in's compilation
  const char* policy_name;   // as given to UVMSIM_POLICY
  void (*add_to)(Registry& registry);
};

inline constexpr const char* kPluginSymbol = "uvmsim_policy_plugin";

}  // namespace uvmsim::policy
