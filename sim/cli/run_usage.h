// SPDX-License-Identifier: Apache-2.0
// What `uvmsim run --help` and `uvmsim bounds --help` print around their options.
#pragma once

namespace uvmsim::cli {

inline constexpr const char* kRunUsage = R"(uvmsim run TRACE --system SYSTEM [options]

Replays a trace on a system and says how long it takes, what moved and why.

Examples:
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5
      with all of the GPU's memory
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.25,1.5,2,4
      with so little memory that the program's footprint is 1, 1.25, ... times as large; one table
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch tree:threshold=75 --json result.json
      another prefetch threshold; the whole result for a script
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1.5,2,4 --bounds --best-of all
      also how far that is from what no policy can beat, and from the fastest policy there is

)";

inline constexpr const char* kRunNotes = R"(
OSF is the oversubscription factor: footprint / capacity, where the footprint is the GPU memory (2 MiB chunks)
that holds all live managed memory at its peak under the chosen layout. Programs that take one large block and divide it
themselves (JAX, TensorFlow, RMM) need --footprint touched: a 2 MiB chunk counts from the GPU's first to its last touch. Without --osf and --capacity-bytes the GPU's own memory is the capacity.
Slowdown is against one run, whatever the policies: the driver's own with the GPU's own memory. More memory than the GPU
has is refused, or with --hypothetical-capacity said in the result. If the trace marks iterations, numbers are
means of those from which on all agree, and the line above them says after how many the run had settled. "not settled after N iterations": more of
them (--iterations) may show it; until then numbers are of all passes of the repeated iteration, or of the last one recorded.
--bounds is about the whole run, not its settled iterations; `uvmsim bounds --help` explains it.
--explain-columns says what every column and counter means. Sizes take a unit: 12GiB, 512MiB, 80GB. Results never contain a file's folder, a date or a machine's name.
`uvmsim systems` and `uvmsim policies` list what --system, --prefetch and --evict take; `uvmsim systems NAME` the keys
of --set.
)";

inline constexpr const char* kBoundsUsage = R"(uvmsim bounds TRACE --system SYSTEM [options]

Says how fast the program can be at best on a system with so little GPU memory, whatever the prefetch and eviction
policies do, and how much must move. Nothing is simulated.

Examples:
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 1.25,2,4
      one row per oversubscription factor
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 2 --layout none --json bounds.json
      every tensor by itself; all numbers for a script
  uvmsim bounds gpt2.uvmt --system a100-pcie-80g --osf 2 --best-of tree+lru --best-of none+lrm
      also simulates two pairs of policies and compares the faster one with the bound

)";

inline constexpr const char* kBoundsNotes = R"(
Times are lower bounds of the whole program, each at least the one before:
  compute      everything is in GPU memory and that costs nothing: the ideal time of `uvmsim run`
  cold         what the host wrote has to arrive before the kernels that use it end
  MIN          and what cannot have stayed in memory since its last use has to come again (Belady's MIN)
  windowed     and between any two points of the program only what memory can hold may have come before the first
  write-backs  and what has to leave memory takes time too; the best bound
HtoD and DtoH: the least that any policy moves to the GPU and back. No policy of the simulator is ever below any of
these; real drivers that read host memory from afar may be. Faults, calls and wake-ups cost nothing in a bound, and a
kernel needs each of its pages once, so that kernels much larger than memory have a low bound.
Without --osf and --capacity-bytes the GPU's own memory is the capacity. What is assumed: sim/bounds/README.md.
)";

}  // namespace uvmsim::cli
