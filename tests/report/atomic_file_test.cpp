// SPDX-License-Identifier: Apache-2.0
#include "sim/common/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "sim/common/error.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AtomicFile, AppearsOnlyOnCommit) {
  const ScratchFolder folder;
  AtomicFile file(folder.path("out"));
  file.write("hello ");
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  file.write("world");
  file.commit();
  EXPECT_EQ(folder.read("out"), "hello world");
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
  const ScratchFolder folder;
  { AtomicFile(folder.path("out")).write("half"); }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, KeepsTheOldFileWithoutCommit) {
  const ScratchFolder folder;
  folder.write("out", "old");
  { AtomicFile(folder.path("out")).write("half"); }
  EXPECT_EQ(folder.read("out"), "old");
}

TEST(AtomicFile, WritesMoreThanItsBuffer) {
  const ScratchFolder folder;
  const std::string megabyte(1 << 20, 'x');
  AtomicFile file(folder.path("out"));
  for (int i = 0; i < 3; ++i) file.write(megabyte);
  file.commit();
  EXPECT_EQ(std::filesystem::file_size(folder.path("out")), 3u << 20);
}

TEST(AtomicFile, KeepsModeOfAReplacedFile) {
  const ScratchFolder folder;
  folder.write("out", "old");
  std::filesystem::permissions(folder.path("out"), std::filesystem::perms(0640));
  write_file(folder.path("out"), "new");
  EXPECT_EQ(std::filesystem::status(folder.path("out")).permissions(), std::filesystem::perms(0640));
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  const ScratchFolder folder;
  folder.write("real", "old");
  std::filesystem::create_symlink("real", folder.path("link"));
  std::filesystem::create_symlink("later", folder.path("dangling"));
  write_file(folder.path("link"), "new");
  write_file(folder.path("dangling"), "new too");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(folder.read("real"), "new");
  EXPECT_EQ(folder.read("later"), "new too");
}

TEST(AtomicFile, NeverReplacesADevice) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, MissingFolder) {
  const ScratchFolder folder;
  EXPECT_EQ(error_of([&] { AtomicFile file(folder.path("no/such/out")); }),
            "cannot write " + folder.path("no/such/out") + ": No such file or directory");
}

TEST(AtomicFile, TargetIsAFolder) {
  const ScratchFolder folder;
  EXPECT_EQ(error_of([&] { AtomicFile file(folder.path()); }), "cannot write " + folder.path() + ": it is a folder");
}

TEST(AtomicFile, EmptyName) {
  EXPECT_EQ(error_of([] { AtomicFile file(""); }), "cannot write '': the name is empty");
}

TEST(AtomicFile, LoopOfLinks) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder.path("a")); }), HasSubstr("symbolic links"));
}

TEST(AtomicFile, FullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THAT(error_of([] { write_file("/dev/full", "x"); }), HasSubstr("No space left"));
}

}  // namespace
}  // namespace uvmsim
