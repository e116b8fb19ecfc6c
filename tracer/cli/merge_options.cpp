// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/merge_options.h"

#include "sim/common/error.h"

namespace uvmtrace {

void add_merge_options(boost::program_options::options_description& options) {
  add_text(options, "as", "KIND",
           "what device memory becomes: managed (default: how would it run under unified memory), or recorded");
  add_text(options, "match", "PERMILLE", "share of launches that both passes must have, in thousandths; default 990");
  add_flag(options, "whole", "refuse passes that differ at first, instead of leaving that part out");
  add_text(options, "provenance", "TEXT", "where the recording comes from, for the trace's header");
  add_text(options, "level", "N", "zstd compression level, 1 to 19; default 9");
}

MergeOptions merge_options(const Options& options) {
  MergeOptions out;
  const std::string as = options.given("as") ? options.text("as") : "managed";
  if (as != "managed" && as != "recorded") {
    uvmsim::throw_input_error("--as: '{}' will not do; allowed: managed, recorded", as);
  }
  out.as_managed = as == "managed";
  out.match_thousandths = static_cast<std::uint32_t>(options.number("match", 990, 0, 1000));
  out.drop_prologue = !options.flag("whole");
  out.provenance = options.text("provenance");
  return out;
}

int compression_level(const Options& options) { return static_cast<int>(options.number("level", 9, 1, 19)); }

}  // namespace uvmtrace
