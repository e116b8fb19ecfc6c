// SPDX-License-Identifier: Apache-2.0
// The files of points that ran: one file per point, which is either complete or absent.
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
  // Opens the files of the sweep in `folder`.
  explicit PointFiles(const std::string& folder);

  // Returns the result of a finished point: one line of JSON without a newline.
  std::optional<std::string> result(const std::string& id) const;
  bool is_finished(const std::string& id) const { return result(id).has_value(); }
  // Returns the error of a failed point.
  std::optional<std::string> error(const std::string& id) const;

  // Writes a result as report::result_json() made it, and removes the point's error. Throws InputError when it cannot
  // be written.
  void write_result(const std::string& id, const std::string& result_line) const;
  void write_error(const std::string& id, const std::string& label, const std::string& message) const;
  // Removes the half-written files of dead processes. A writer holds its point's lock; a temporary file whose lock is
  // free therefore belongs to nobody.
  void remove_leftovers(PointLocks& locks) const;
  // Removes the temporary files of this point that process `pid` left when it died.
  void remove_leftovers(const std::string& id, long pid) const;

 private:
  std::string result_path(const std::string& id) const;
  std::string error_path(const std::string& id) const;

  std::filesystem::path folder_;
};

}  // namespace uvmsim::sweep
