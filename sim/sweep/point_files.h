// SPDX-License-Identifier: Apache-2.0
// What is left of points that ran: one file each, there whole or not at all.
//
//   ID.json        {"id":"ID","sha256":"...","result":{...}}: finished; the SHA-256 is that of the result's bytes
//   ID.error.json  {"error":"...","id":"ID","point":"..."}: failed
// A file that was cut, changed or belongs to another point counts as missing. A finished point outweighs a failure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sim/sweep/point_lock.h"

namespace uvmsim::sweep {

class PointFiles {
 public:
  // Of the sweep in `folder`.
  explicit PointFiles(const std::string& folder);

  // The result, one line of JSON without a newline, if the point is finished.
  std::optional<std::string> result(const std::string& id) const;
  bool is_finished(const std::string& id) const { return result(id).has_value(); }
  // Why it failed, if it did.
  std::optional<std::string> error(const std::string& id) const;

  // `result_line`: as report::result_json. Removes the point's error. Throws InputError when it cannot be written.
  void write_result(const std::string& id, const std::string& result_line) const;
  void write_error(const std::string& id, const std::string& label, const std::string& message) const;
  // Half-written files of processes that died. Who writes a point has its lock, so what is there while we have it is
  // nobody's any more.
  void remove_leftovers(PointLocks& locks) const;
  // What process `pid` left of this point when it died while writing.
  void remove_leftovers(const std::string& id, long pid) const;

 private:
  std::string result_path(const std::string& id) const;
  std::string error_path(const std::string& id) const;

  std::filesystem::path folder_;
};

}  // namespace uvmsim::sweep
