// SPDX-License-Identifier: Apache-2.0
#include "sim/report/glossary.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/events/counters.h"

namespace uvmsim::report {
namespace {

constexpr TermKind kTable = TermKind::kTable, kColumn = TermKind::kColumn;

// Counters are not in this table: they have descriptions of their own.
constexpr Term kColumns[] = {
    // Tables of `uvmsim run`
    {"footprint", "GPU memory (2 MiB chunks) that holds all live managed memory at its peak", kTable},
    {"capacity (GiB)", "GPU memory that the program had for managed data", kTable},
    {"OSF", "oversubscription factor: footprint / capacity; \"ran\": what whole chunks made of it", kTable},
    {"time (ms)", "of a settled iteration (of the whole run where the trace marks no iterations)", kTable},
    {"shortest (ms), longest (ms)", "the extremes over the seeds; all else is the mean", kTable},
    {"slowdown", "time / time under the driver's own policies with room for all", kTable},
    {"slowdown against all resident", "time / time with everything resident and no cost of managed memory", kTable},
    {"kernel sum (ms)", "durations of all kernels added up: more than the time where streams run side by side", kTable},
    {"kernel sum, all resident (ms)", "the same with everything resident", kTable},
    {"driver serving faults (ms)", "the driver's thread busy with fault batches", kTable},
    {"host in allocation calls (ms)", "host time in allocation and free calls", kTable},
    {"fault batches", "groups of faults that the driver's thread fetched and served together", kTable},
    {"faulting pages", "distinct 4 KiB pages that batches served; a page that is fetched again counts again", kTable},
    {"HtoD (GiB), DtoH (GiB)", "all bytes moved to the GPU, and to the host, for any cause; per iteration, or run",
     kTable},
    {"for faults, prefetched, evicted, ...", "the sum above them by cause; some show only where there are such bytes",
     kTable},
    {"between GPUs (GiB)", "all bytes moved from one GPU to another, for any cause", kTable},
    {"first touch, zero-filled (GiB)", "pages that were resident nowhere and were filled with zeros on the GPU",
     kTable},
    {"evictions", "2 MiB chunks (64 KiB under some policies) taken away to make room", kTable},
    {"all resident", "the program with its data on the GPU and no cost of managed memory", kTable},
    {"settled iterations", "the iterations from which on all agree, or alternate; numbers are their means", kTable},
    {"not settled", "iterations still differ: mean of the later half of the passes, with their extremes", kTable},
    {"learning, learning_iterations",
     "iterations before the first settled one; \"not settled\" or empty: there is none", kTable},
    {"is_settled, settled_period", "whether the run has settled within its iterations; how many iterations alternate",
     kTable},
    // Columns of CSV and keys of JSON
    {"uvmsim_version, uvmsim_commit", "the simulator that ran", kColumn},
    {"model_version", "fingerprint of the sources that results follow from", kColumn},
    {"command", "the same run as a command line of `uvmsim run`", kColumn},
    {"trace, trace_sha256", "the trace's file name, and the hash of its content", kColumn},
    {"system, system_sha256", "the system's name, and the hash of all its values", kColumn},
    {"layout, layout_parameters", "the layout of memory, with every parameter in force", kColumn},
    {"prefetch, evict, plan, migrate, route, batch", "the policies, with every parameter in force", kColumn},
    {"seed", "of policies that draw random numbers", kColumn},
    {"include_host_gaps", "1: the recorded host time between calls was replayed", kColumn},
    {"time_scale", "what kernel durations were multiplied by: none, a factor, or roofline", kColumn},
    {"osf", "footprint_bytes / capacity_bytes, after rounding to whole chunks", kColumn},
    {"footprint_bytes, capacity_bytes", "what the factor divides, and GPU memory for managed data", kColumn},
    {"scope", "iteration: a row about one marked iteration; total: about the whole run", kColumn},
    {"iteration", "its number in the trace; empty for the whole run", kColumn},
    {"quoted", "1: one of the iterations whose mean is the result; empty for the whole run", kColumn},
    {"settled", "the same of a run that has settled; 0 throughout where it has not", kColumn},
    {"begin_ns, end_ns, duration_ns", "from the start of the run; their difference", kColumn},
    {"ideal_ns", "the same with everything resident and no cost of managed memory", kColumn},
    {"position, id", "of a sweep: the point's place in the plan, and its id (sim/sweep/README.md)", kColumn},
    {"settings", "of a sweep: changed numbers of the system, as JSON", kColumn},
    {"limit_by, osf_thousandths", "of a sweep: none, osf or capacity; the factor that was asked for", kColumn},
    {"iterations_asked", "of a sweep: how many were to run; empty: as recorded", kColumn},
    {"settled_ns", "mean time of the quoted iterations, of the whole run where the trace marks none", kColumn},
    {"shortest_ns, longest_ns", "the extremes of the quoted iterations", kColumn},
    {"first_quoted, last_quoted", "the first and the last quoted iteration", kColumn},
    {"slowdown_thousandths", "settled_ns over that of the driver's own policies with room for all", kColumn},
    {"slowdown_ideal_thousandths", "settled_ns over the same with everything resident at no cost", kColumn},
    {"uncertain_low_ns", "settled_ns on the fastest machine that the system may stand for (--uncertainty)", kColumn},
    {"uncertain_high_ns", "the same on the slowest", kColumn},
    {"baseline_hypothetical", "1: the GPU has no room for all; the run to divide by had as much as it needs", kColumn},
};

}  // namespace

const std::vector<Term>& glossary() {
  static const std::vector<Term> terms = [] {
    std::vector<Term> all(std::begin(kColumns), std::end(kColumns));
    const Counters none;
    for_each_explained_counter(none, [&](const char* name, std::uint64_t, const char* meaning) {
      all.push_back({name, meaning, TermKind::kCounter});
    });
    return all;
  }();
  return terms;
}

std::string glossary_text() {
  std::string text;
  for (const Term& term : glossary()) text += fmt::format("{:<34} {}\n", term.name, term.meaning);
  return text;
}

std::string glossary_json() {
  constexpr std::array<const char*, 3> kKinds = {"counter", "column", "table"};
  nlohmann::ordered_json terms = nlohmann::ordered_json::array();
  for (const Term& term : glossary()) {
    terms.push_back(
        {{"kind", kKinds[static_cast<std::size_t>(term.kind)]}, {"name", term.name}, {"meaning", term.meaning}});
  }
  return nlohmann::ordered_json{{"schema_version", 1}, {"terms", std::move(terms)}}.dump(2) + "\n";
}

}  // namespace uvmsim::report
