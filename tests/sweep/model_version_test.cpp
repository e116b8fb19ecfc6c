// SPDX-License-Identifier: Apache-2.0
// The versions of the model and of its policies: which changes alter them and which do not.
#include "sim/sweep/model_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/policy/registry.h"
#include "sim/sweep/model_version/meaning.h"
#include "tests/report/scratch_folder.h"

namespace uvmsim::sweep::model_version_test {
namespace {

TEST(Meaning, CommentsAndWhiteSpaceAreNone) {
  EXPECT_EQ(Meaning::of("int  a = 1; // one\n/* two\n lines */ int b;\n"), Meaning::of("int a=1;\nint b;"));
  EXPECT_EQ(Meaning::of("// only this\n\n"), "");
  EXPECT_EQ(Meaning::of("f(a,\n  b);"), Meaning::of("f(a, b);"));
  EXPECT_EQ(Meaning::of("#pragma once\n#include <a>\n#include \"b.h\"  // why\nint a;\n"), "int a;");
}

TEST(Meaning, WordsAndOperatorsStayApart) {
  EXPECT_EQ(Meaning::of("return x;"), "return x;");
  EXPECT_NE(Meaning::of("a - -b"), Meaning::of("a --b"));
  EXPECT_EQ(Meaning::of("a/**/b"), "a b");
}

TEST(Meaning, TextIsKeptAsItIs) {
  EXPECT_EQ(Meaning::of(R"(s = "http://a  b"; // c)"), R"(s="http://a  b";)");
  EXPECT_EQ(Meaning::of(R"(s = "a\"// b";)"), R"(s="a\"// b";)");
  EXPECT_EQ(Meaning::of("s = R\"x(a // \" b\n c)x\"; // d"), "s=R\"x(a // \" b\n c)x\";");
  EXPECT_EQ(Meaning::of("c = '\"'; d = '\\''; // e"), "c='\"';d='\\'';");
  EXPECT_EQ(Meaning::of("n = 1'000'000; // '"), "n=1'000'000;");
}

TEST(Meaning, DirectivesAreLines) {
  EXPECT_EQ(Meaning::of("int a;\n#define F  (x) \\\n  y // z\nint b;"), "int a;\n#define F (x) y\nint b;");
  EXPECT_NE(Meaning::of("#define F(x) 1\n"), Meaning::of("#define F (x) 1\n"));
}

// A small source tree: a model of one file and two policies, one of which includes a header.
class WrittenVersion : public ::testing::Test {
 protected:
  void SetUp() override {
    folder.write("list", "model sim/m.cpp\npolicy a policies/a.cpp\npolicy b policies/b.cpp\n");
    folder.write("sim/m.cpp", "int model = 1;\n");
    folder.write("policies/a.cpp", "#include \"policies/shared.h\"\nint a = 1;\n");
    folder.write("policies/b.cpp", "int b = 1;\n");
    folder.write("policies/shared.h", "int shared = 1;\n");
  }
  // The lines of the file that is written: the versions of the model, of a and of b.
  struct Versions {
    std::string model, a, b;
    bool operator==(const Versions&) const = default;
  };
  Versions versions() const {
    const std::string line = std::string(UVMSIM_WRITE_MODEL_VERSION) + " '" + folder.path() + "' '" +
                             folder.path("list") + "' '" + folder.path("out") + "'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::istringstream lines(folder.read("out"));
    Versions out;
    std::string skipped;
    std::getline(lines, out.model);
    std::getline(lines, skipped);
    std::getline(lines, out.a);
    std::getline(lines, out.b);
    return out;
  }

  const ScratchFolder folder;
};

TEST_F(WrittenVersion, ACommentChangesNone) {
  const Versions before = versions();
  folder.write("sim/m.cpp", "// The model.\nint model   = 1;\n");
  folder.write("policies/shared.h", "int shared = 1;  // for all\n");
  EXPECT_EQ(versions(), before);
}

TEST_F(WrittenVersion, AChangeOfTheModelIsOneOfTheModelAlone) {
  const Versions before = versions();
  folder.write("sim/m.cpp", "int model = 2;\n");
  const Versions after = versions();
  EXPECT_NE(after.model, before.model);
  EXPECT_EQ(after.a, before.a);
  EXPECT_EQ(after.b, before.b);
}

TEST_F(WrittenVersion, AChangeOfAPolicyIsOneOfThosePoliciesThatHaveIt) {
  const Versions before = versions();
  folder.write("policies/shared.h", "int shared = 2;\n");
  const Versions after = versions();
  EXPECT_EQ(after.model, before.model);
  EXPECT_NE(after.a, before.a);
  EXPECT_EQ(after.b, before.b);
}

TEST_F(WrittenVersion, AFileThatIsNotThereIsAnError) {
  folder.write("list", "model sim/none.cpp\n");
  const std::string line = std::string(UVMSIM_WRITE_MODEL_VERSION) + " '" + folder.path() + "' '" +
                           folder.path("list") + "' '" + folder.path("out") + "' 2>'" + folder.path("err") + "'";
  EXPECT_NE(std::system(line.c_str()), 0);
  EXPECT_THAT(folder.read("err"), ::testing::HasSubstr("sim/none.cpp: cannot be read"));
}

// All of this project's files with one more comment at their ends give the version that the library carries.
TEST_F(WrittenVersion, OfThisModelWithCommentsIsItsOwn) {
  std::set<std::string> files;
  std::ifstream list(UVMSIM_MODEL_FILES);
  std::string text;
  for (std::string line; std::getline(list, line); text += line + "\n") files.insert(line.substr(line.rfind(' ') + 1));
  ASSERT_GT(files.size(), 200u);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(UVMSIM_SOURCE_DIR) + "/policies")) {
    if (entry.path().extension() == ".h") files.insert(entry.path().lexically_relative(UVMSIM_SOURCE_DIR).string());
  }
  for (const std::string& file : files) {
    std::ifstream source(std::string(UVMSIM_SOURCE_DIR) + "/" + file, std::ios::binary);
    folder.write(file, std::string(std::istreambuf_iterator<char>(source), {}) + "\n\n// A comment more.\n");
  }
  folder.write("list", text);
  EXPECT_THAT(versions().model, ::testing::HasSubstr(model_version()));
  EXPECT_THAT(folder.read("out"), ::testing::HasSubstr(policy_version(policy::Slot::kPrefetch, "tree")));
}

TEST(PolicyVersions, EveryBuiltInHasOne) {
  std::set<std::string_view> versions;
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    const std::string_view version = policy_version(entry->slot, entry->info.name);
    EXPECT_EQ(version.size(), 64u) << entry->label();
    versions.insert(version);
  }
  EXPECT_GT(versions.size(), 50u);
  EXPECT_EQ(policy_version(policy::Slot::kEvict, "of nobody"), "");
  EXPECT_EQ(policies_version().size(), 64u);
}

}  // namespace
}  // namespace uvmsim::sweep::model_version_test
