// SPDX-License-Identifier: Apache-2.0
// Files of finished and failed points are whole or absent, whatever files are in the folder.
#include "sim/sweep/point_files.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/common/sha256.h"
#include "sim/sweep/point_lock.h"
#include "tests/sweep/sweep_folder.h"

namespace uvmsim::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kId(64, 'a'), kOther(64, 'b');
const std::string kResult = R"({"schema":"uvmsim.result/3","total_ns":7})";

class PointFilesTest : public ::testing::Test {
 protected:
  PointFilesTest() : files(folder.path()) { std::filesystem::create_directory(folder.path("points")); }
  std::string path(const std::string& id) const { return "points/" + id + ".json"; }

  const ScratchFolder folder;
  const PointFiles files;
};

TEST_F(PointFilesTest, AResultComesBackAndIsJson) {
  EXPECT_FALSE(files.is_finished(kId));
  files.write_result(kId, kResult + "\n");
  EXPECT_EQ(files.result(kId), kResult);
  EXPECT_FALSE(files.is_finished(kOther));
  const auto json = nlohmann::json::parse(folder.read(path(kId)));
  EXPECT_EQ(json["id"], kId);
  EXPECT_EQ(json["sha256"], sha256(kResult));
  EXPECT_EQ(json["result"]["total_ns"], 7);
}

TEST_F(PointFilesTest, AFileCutAnywhereIsNoResult) {
  files.write_result(kId, kResult);
  const std::string whole = folder.read(path(kId));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    folder.write(path(kId), whole.substr(0, length));
    EXPECT_FALSE(files.is_finished(kId)) << length;
  }
  folder.write(path(kId), whole + "\n");
  EXPECT_FALSE(files.is_finished(kId)) << "longer";
}

TEST_F(PointFilesTest, AFileChangedAnywhereIsNoResult) {
  files.write_result(kId, kResult);
  const std::string whole = folder.read(path(kId));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    folder.write(path(kId), changed);
    EXPECT_FALSE(files.is_finished(kId)) << at;
  }
}

TEST_F(PointFilesTest, AnotherPointsFileAndGarbageAreNoResult) {
  files.write_result(kOther, kResult);
  folder.write(path(kId), folder.read(path(kOther)));
  EXPECT_FALSE(files.is_finished(kId)) << "the id of another";
  for (const std::string& text : {std::string(), std::string(100'000, '\0'), std::string(1000, '{'), kResult}) {
    folder.write(path(kId), text);
    EXPECT_FALSE(files.is_finished(kId));
  }
  std::filesystem::remove(folder.path(path(kId)));
  std::filesystem::create_directory(folder.path(path(kId)));
  EXPECT_FALSE(files.is_finished(kId)) << "a folder";
}

TEST_F(PointFilesTest, AFailureIsTakenBackByAResult) {
  EXPECT_EQ(files.error(kId), std::nullopt);
  files.write_error(kId, "a label", "it broke: \"x\"\nbadly");
  EXPECT_EQ(files.error(kId), "it broke: \"x\"\nbadly");
  EXPECT_FALSE(files.is_finished(kId));
  files.write_result(kId, kResult);
  EXPECT_EQ(files.error(kId), std::nullopt);
  EXPECT_THAT(folder.names(), ElementsAre("points"));
}

TEST_F(PointFilesTest, ADamagedErrorFileIsStillAFailure) {
  for (const char* text : {"", "garbage", "[]", R"({"id":1,"error":"x"})", R"({"error":1})"}) {
    folder.write("points/" + kId + ".error.json", text);
    EXPECT_THAT(files.error(kId).value_or(""), HasSubstr("damaged")) << text;
  }
}

TEST_F(PointFilesTest, WhatADeadWriterLeftIsRemovedAndNothingElse) {
  folder.write("points/" + kId + ".json.tmp-77-0", "half");
  folder.write("points/" + kId + ".error.json.tmp-77-0", "half");
  folder.write("points/" + kId + ".json.tmp-78-0", "somebody else's");
  files.write_result(kId, kResult);
  files.remove_leftovers(kId, 77);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path("points"))) ++left;
  EXPECT_EQ(left, 2u);
  EXPECT_TRUE(files.is_finished(kId));
}

TEST_F(PointFilesTest, WhatTheDeadLeftIsRemovedButNotWhatSomebodyWrites) {
  for (const std::string& id : {kId, kOther}) folder.write("points/" + id + ".json.tmp-77-0", "half");
  folder.write("points/mine.json.tmp-1", "not ours");
  PointLocks mine(folder.path()), other(folder.path());
  ASSERT_TRUE(other.lock(kOther, true));
  files.remove_leftovers(mine);
  EXPECT_FALSE(std::filesystem::exists(folder.path("points/" + kId + ".json.tmp-77-0")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("points/" + kOther + ".json.tmp-77-0")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("points/mine.json.tmp-1")));
  EXPECT_TRUE(other.lock(kId, false)) << "nothing stays locked";
}

TEST_F(PointFilesTest, AResultThatCannotBeWrittenSaysSo) {
  const PointFiles nowhere(folder.path("missing"));
  EXPECT_THAT(message_of([&] { nowhere.write_result(kId, kResult); }), HasSubstr("cannot write"));
}

TEST_F(PointFilesTest, OnePointIsLockedByOneAtATime) {
  PointLocks mine(folder.path()), other(folder.path());
  EXPECT_TRUE(mine.lock(kId, false));
  EXPECT_FALSE(other.lock(kId, false));
  EXPECT_TRUE(other.lock(kOther, false)) << "another point";
  mine.unlock(kId);
  EXPECT_TRUE(other.lock(kId, false));
}

TEST_F(PointFilesTest, TheEndOfAProcessFreesItsLocks) {
  PointLocks mine(folder.path());
  {
    PointLocks other(folder.path());
    ASSERT_TRUE(other.lock(kId, true));
    EXPECT_FALSE(mine.lock(kId, false));
  }
  EXPECT_TRUE(mine.lock(kId, false));
}

TEST_F(PointFilesTest, WithoutLocksEverybodyComputes) {
  PointLocks locks(folder.path("missing"));
  EXPECT_TRUE(locks.lock(kId, false));
  EXPECT_TRUE(locks.lock(kId, true));
  locks.unlock(kId);
}

}  // namespace
}  // namespace uvmsim::sweep
