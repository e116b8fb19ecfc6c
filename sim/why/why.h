// SPDX-License-Identifier: Apache-2.0
// Explains why a run is slow: which kernels and allocations wait, for which memory and cause, and what could be saved.
// It uses a profile of the run (report/PROFILE.md) and a few additional runs.
//
// A wait is divided among causes by pages: the pages of a kernel, or of an allocation, that came back after an
// eviction, came for the first time, or were zero-filled. A wait without any of them (the host, other kernels' batches,
// hits that wait behind a miss) is "other".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::why {

enum class Cause : std::uint8_t { kCameBack, kFirstLoad, kFirstTouch, kOther };
inline constexpr std::array kCauses = {Cause::kCameBack, Cause::kFirstLoad, Cause::kFirstTouch, Cause::kOther};
const char* cause_text(Cause cause);

// Sums over an iteration, the mean of the quoted ones; over the whole run if none is marked.
struct Waiting {
  std::string name;
  std::uint64_t count = 0;        // launches of a kernel; bytes of an allocation
  std::uint64_t allocations = 0;  // allocations of that name, over all iterations; 0: a kernel
  std::int64_t stall_ns = 0;
  // Pages that came to the GPU; those that came after an eviction; those that were zero-filled.
  std::uint64_t in_bytes = 0, back_bytes = 0, populated_bytes = 0;
  std::array<std::int64_t, kCauses.size()> by_cause_ns{};

  Cause main_cause() const;
};

// An additional run with one policy exchanged.
struct Alternative {
  std::string what;
  std::uint64_t time_ns = 0;
  bool is_settled = true;
};

struct Answer {
  report::RunRecord run;                 // with its baseline
  std::uint64_t iterations = 0;          // number of iterations in the mean; 0: the whole run
  Waiting all;                           // all kernels
  std::vector<Waiting> kernels, memory;  // the longest waits first
  std::vector<Alternative> alternatives;
  std::uint64_t bound_ns = 0;  // lower bound of the whole run
};

// Reads the profile that `run` wrote. Throws InputError if it is not a profile.
Answer read_waits(const std::string& profile, report::RunRecord run);
// Reads only the waits of one iteration, or of the whole run, from a profile without its run.
Answer read_waits(const std::string& profile, std::optional<std::uint64_t> iteration);

// Returns a kernel's or an allocation's name as plain text, short enough for a column.
std::string short_name(const std::string& name);

// Formats one screen of text.
std::string why_text(const Answer& answer);
// Formats schema "uvmsim.why/1" (README.md), one line.
std::string why_json(const Answer& answer);

}  // namespace uvmsim::why
