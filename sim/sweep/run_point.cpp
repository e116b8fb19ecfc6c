#include "sim/sweep/run_point.h"

#include <string_view>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/report/numbers.h"

namespace uvmsim::sweep {

void check_factor(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, const std::string& where,
                  const std::string& trace_name) {
  if (footprint_bytes < kBlockBytes) {
    throw_input_error(
        "{}: its footprint is {} bytes, less than one 2 MiB chunk, so that no factor is possible; --capacity-bytes "
        "(capacity_bytes in a sweep) sets the capacity directly",
        trace_name, footprint_bytes);
  }
  const std::uint64_t largest = report::ratio_thousandths(footprint_bytes, kBlockBytes);
  if (osf_thousandths <= largest) return;
  throw_input_error("{}: {} leaves {} of a footprint of {}, less than one 2 MiB chunk; allowed here: at most {}", where,
                    report::format_factor(osf_thousandths),
                    report::format_bytes(footprint_bytes / osf_thousandths * 1000),
                    report::format_bytes(footprint_bytes), report::format_factor(largest));
}

report::RunRecord run_point(const ResolvedPoint& resolved, TraceInput& input, EventSink* events,
                            const ReadProgress& progress) {
  const Point& point = resolved.point;
  report::RunRecord record = resolved.record;
  const std::uint64_t measured = input.footprint_bytes(record.options.layout, point.iterations, progress);
  const std::uint64_t footprint = point.footprint_bytes != 0 ? point.footprint_bytes : measured;
  if (point.osf_thousandths != 0) check_factor(point.osf_thousandths, footprint, "osf", input.name());
  record.header = input.header();
  record.partial = input.truncated();

  RunOptions options = record.options;
  options.footprint_bytes = footprint;
  RunObserver observer;
  observer.events = events;
  try {
    record.result = simulate(record.header, input.play(progress), options, observer);
  } catch (const InputError& error) {
    if (std::string_view(error.what()).starts_with(input.name())) throw;
    throw_input_error("{}: {}", input.name(), error.what());
  }
  return record;
}

report::RunRecord run_point(const Point& point, Resolver& resolver, const ReadProgress& progress) {
  return run_point(resolver.resolve(point), resolver.trace(point), nullptr, progress);
}

}  // namespace uvmsim::sweep
