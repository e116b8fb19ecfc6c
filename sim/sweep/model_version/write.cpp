// SPDX-License-Identifier: Apache-2.0
// Writes the versions that ../model_version.h returns: of the model, and of each built-in policy. usage:
// uvmsim_write_model_version ROOT LIST OUTPUT. A line of LIST is `model FILE` or `policy NAME FILE`, with files
// relative to ROOT. A policy's version also covers the files of policies/ that its own file includes.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/common/sha256.h"
#include "sim/sweep/model_version/meaning.h"

namespace uvmsim::sweep {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> included_policy_files(const std::string& source) {
  const std::string begin = "#include \"policies/";
  std::vector<std::string> files;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) files.push_back(line.substr(10, line.find('"', 10) - 10));
  }
  return files;
}

// Adds names and contents of files, one after the other.
class Fingerprint {
 public:
  explicit Fingerprint(std::string root) : root_(std::move(root)) {}

  void add(const std::string& file) { files_.insert(file); }
  void add_with_included(const std::string& file) {
    if (!files_.insert(file).second) return;
    for (const std::string& included : included_policy_files(read(root_ + "/" + file))) add_with_included(included);
  }
  std::string value() const {
    std::string all;
    for (const std::string& file : files_) all += sha256(Meaning::of(read(root_ + "/" + file))) + "  " + file + "\n";
    return sha256(all);
  }

 private:
  std::string root_;
  std::set<std::string> files_;
};

std::string versions(const std::string& root, const std::string& list) {
  Fingerprint model(root);
  std::string policies;
  std::istringstream lines(read(list));
  for (std::string kind, name, file; lines >> kind;) {
    if (kind == "model") {
      lines >> file;
      model.add(file);
    } else if (kind == "policy") {
      lines >> name >> file;
      Fingerprint policy(root);
      policy.add_with_included(file);
      policies += "  {\"" + name + "\", \"" + policy.value() + "\"}, \\\n";
    } else {
      throw std::runtime_error(list + ": a line begins with '" + kind + "'; allowed: model, policy");
    }
  }
  return "#define UVMSIM_MODEL_VERSION \"" + model.value() + "\"\n#define UVMSIM_POLICY_VERSIONS \\\n" + policies +
         "\n";
}

void write(const std::string& root, const std::string& list, const std::string& output) {
  const std::string text = versions(root, list);
  if (std::ifstream(output) && read(output) == text) return;  // avoids a rebuild of files that depend on it
  std::ofstream file(output, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error(output + ": cannot be written");
}

}  // namespace
}  // namespace uvmsim::sweep

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: uvmsim_write_model_version ROOT LIST OUTPUT\n", stderr);
    return 2;
  }
  try {
    uvmsim::sweep::write(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "uvmsim_write_model_version: error: %s\n", error.what());
    return 2;
  }
}
