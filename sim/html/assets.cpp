// SPDX-License-Identifier: Apache-2.0
#include "sim/html/assets.h"

#include <cstddef>

// The assembler includes the bytes of a file between two labels (CMakeLists.txt lists the files).
#define UVMSIM_ASSET(name, file)                                                                           \
  asm(".pushsection .rodata\n"                                                                             \
      ".globl uvmsim_asset_" #name "\n.hidden uvmsim_asset_" #name                                         \
      "\n"                                                                                                 \
      ".globl uvmsim_asset_end_" #name "\n.hidden uvmsim_asset_end_" #name                                 \
      "\n"                                                                                                 \
      "uvmsim_asset_" #name ":\n.incbin \"" file                                                           \
      "\"\n"                                                                                               \
      "uvmsim_asset_end_" #name                                                                            \
      ":\n.byte 0\n"                                                                                       \
      ".popsection\n");                                                                                    \
  extern "C" const char uvmsim_asset_##name[] __attribute__((visibility("hidden")));                       \
  extern "C" const char uvmsim_asset_end_##name[] __attribute__((visibility("hidden")));                   \
  std::string_view uvmsim::html::name() {                                                                  \
    return {uvmsim_asset_##name, static_cast<std::size_t>(uvmsim_asset_end_##name - uvmsim_asset_##name)}; \
  }

UVMSIM_ASSET(page_css, UVMSIM_SOURCE_DIR "/sim/html/page/page.css")
UVMSIM_ASSET(page_js, UVMSIM_SOURCE_DIR "/sim/html/page/page.js")
UVMSIM_ASSET(d3_js, UVMSIM_SOURCE_DIR "/third_party/d3/d3.min.js")
UVMSIM_ASSET(plot_js, UVMSIM_SOURCE_DIR "/third_party/observable_plot/plot.umd.min.js")
UVMSIM_ASSET(licences_text, UVMSIM_SOURCE_DIR "/third_party/LICENSES.txt")

#undef UVMSIM_ASSET
