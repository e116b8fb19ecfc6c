#include "sim/report/run_record.h"

#include <filesystem>

#include "sim/common/sha256.h"
#include "sim/report/numbers.h"

namespace uvmsim::report {
namespace {

std::uint64_t ratio(Nanoseconds numerator, Nanoseconds denominator) {
  if (numerator.value < 0 || denominator.value <= 0) return 0;
  return ratio_thousandths(static_cast<std::uint64_t>(numerator.value), static_cast<std::uint64_t>(denominator.value));
}

}  // namespace

InputFile describe_input(const std::string& path) {
  InputFile file;
  file.name = std::filesystem::path(path).filename().string();
  file.sha256 = sha256_of_file(path);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  file.bytes = error ? 0 : bytes;  // a pipe has no size
  return file;
}

const IterationResult* settled_iteration(const RunResult& result) {
  return result.iterations.empty() ? nullptr : &result.iterations.back();
}

std::uint64_t effective_osf_thousandths(const RunRecord& record) {
  const std::uint64_t given = record.options.footprint_bytes;
  return ratio_thousandths(given != 0 ? given : record.result.footprint_bytes, record.result.capacity_bytes);
}

std::uint64_t slowdown_thousandths(const RunResult& result) { return ratio(result.total, result.ideal); }

std::uint64_t slowdown_to_unlimited_thousandths(const RunRecord& record) {
  if (!record.unlimited) return 0;
  const IterationResult* settled = settled_iteration(record.result);
  if (settled != nullptr) return ratio(settled->end - settled->begin, record.unlimited->settled);
  return ratio(record.result.total, record.unlimited->total);
}

}  // namespace uvmsim::report
