// SPDX-License-Identifier: Apache-2.0
// A folder for one test's files, removed at its end.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/folder.h"

namespace uvmsim {

class ScratchFolder : public Folder {
 public:
  ScratchFolder() : Folder(name_of(*::testing::UnitTest::GetInstance()->current_test_info())) {}

 private:
  static std::string name_of(const ::testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + "-" + test.name();
  }
};

}  // namespace uvmsim
