// SPDX-License-Identifier: Apache-2.0
// Exit codes of the commands that compute many points.
#pragma once

namespace uvmsim::cli {

inline constexpr int kFine = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInterrupted = 130;  // as a shell reports Ctrl-C

}  // namespace uvmsim::cli
