// SPDX-License-Identifier: Apache-2.0
// The common part of the tests of sweeps: a folder with small traces and a system, and points over them.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/common/error.h"
#include "sim/sweep/point.h"
#include "tests/cli/small_traces.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::sweep {

// The message of the InputError that `action` throws; "" when it throws none.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

class SweepFolderTest : public ::testing::Test {
 protected:
  SweepFolderTest() { folder.write("a.jsonl", two_iterations(8)); }

  Point point() const {
    Point point;
    point.trace = folder.path("a.jsonl");
    point.system = "h200-sxm-pcie5";
    return point;
  }

  const ScratchFolder folder;
};

}  // namespace uvmsim::sweep
