#include "sim/report/glossary.h"

#include <fmt/format.h>

#include <iterator>

#include "sim/events/counters.h"

namespace uvmsim::report {
namespace {

// Columns of tables; the counters explain themselves.
constexpr Term kColumns[] = {
    {"footprint", "GPU memory (2 MiB chunks) that holds all live managed memory at its peak"},
    {"capacity (GiB)", "GPU memory that the program had for managed data"},
    {"OSF", "oversubscription factor: footprint / capacity; \"ran\": what whole chunks made of it"},
    {"time (ms)", "of a settled iteration (of the whole run where the trace marks no iterations)"},
    {"shortest (ms), longest (ms)", "the extremes over the seeds; all else is the mean"},
    {"slowdown", "time / time under the driver's own policies with the GPU's whole memory"},
    {"slowdown against all resident", "time / time with everything resident and no cost of managed memory"},
    {"kernel sum (ms)", "durations of all kernels added up: more than the time where streams run side by side"},
    {"kernel sum, all resident (ms)", "the same with everything resident"},
    {"driver serving faults (ms)", "the driver's thread busy with fault batches"},
    {"host in allocation calls (ms)", "host time in allocation and free calls"},
    {"fault batches", "what the driver's thread fetched and served at once"},
    {"faulting pages", "distinct 4 KiB pages that batches served; one that comes back counts again"},
    {"HtoD (GiB), DtoH (GiB)", "all that moved to the GPU, and to the host, whatever the cause; per iteration, or run"},
    {"first touch, zero-filled (GiB)", "pages that were resident nowhere and got zeros on the GPU"},
    {"evictions", "2 MiB chunks (64 KiB under some policies) taken away to make room"},
    {"all resident", "the program with its data on the GPU and no cost of managed memory"},
    {"settled iterations", "those from which on all agree, or take turns; numbers are their means"},
    {"learning, learning_iterations",
     "iterations before the first settled one; \"no\" or empty: the run has not settled"},
    {"is_settled, settled_period", "whether the run has settled within its iterations; how many take turns"},
};

}  // namespace

const std::vector<Term>& glossary() {
  static const std::vector<Term> terms = [] {
    std::vector<Term> all(std::begin(kColumns), std::end(kColumns));
    const Counters none;
    for_each_explained_counter(none, [&](const char* name, std::uint64_t, const char* meaning) {
      all.push_back({name, meaning});
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

}  // namespace uvmsim::report
