// SPDX-License-Identifier: Apache-2.0
#include "tests/ground_truth/known_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace uvmsim::ground_truth {

namespace {

const char* const kList = UVMSIM_SOURCE_DIR "/tests/ground_truth/known_differences.txt";

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> lines_of_list() {
  std::ifstream file(kList);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", kList));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Parses name and checks of a line; the name is empty for a comment.
std::pair<std::string, std::set<std::string>> parse_line(const std::string& whole) {
  const std::string line = trimmed(whole.substr(0, whole.find('#')));
  if (line.empty()) return {};
  const std::size_t colon = line.find(": ");
  if (colon == std::string::npos) throw std::runtime_error(fmt::format("{}: no 'name: check': {}", kList, whole));
  std::set<std::string> checks;
  for (std::size_t begin = colon + 1; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    checks.insert(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return {trimmed(line.substr(0, colon)), checks};
}

std::set<std::string> checks_of(const Differences& differences, const std::string& name) {
  const auto found = differences.find(name);
  return found == differences.end() ? std::set<std::string>{} : found->second;
}

void update_list(Differences found, const std::set<std::string>& checked) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of_list()) {
    const std::string name = parse_line(line).first;
    if (name.empty() || checked.count(name) == 0) {
      lines.push_back(line);
      continue;
    }
    const std::set<std::string> checks = checks_of(found, name);
    if (!checks.empty()) lines.push_back(fmt::format("{}: {}", name, fmt::join(checks, ", ")));
    found.erase(name);
  }
  for (const auto& [name, checks] : found) lines.push_back(fmt::format("{}: {}", name, fmt::join(checks, ", ")));
  std::ofstream file(kList);
  for (const std::string& line : lines) file << line << '\n';
}

}  // namespace

Differences load_known_differences() {
  Differences differences;
  for (const std::string& line : lines_of_list()) {
    const auto [name, checks] = parse_line(line);
    if (name.empty()) continue;
    if (!differences.emplace(name, checks).second) {
      throw std::runtime_error(fmt::format("{}: '{}' is listed twice", kList, name));
    }
  }
  return differences;
}

std::vector<std::string> compare_with_known(const Differences& found, const std::set<std::string>& checked) {
  if (std::getenv("UVMSIM_UPDATE_GROUND_TRUTH") != nullptr) update_list(found, checked);
  const Differences known = load_known_differences();
  std::vector<std::string> lines;
  for (const std::string& name : checked) {
    const std::set<std::string> now = checks_of(found, name), listed = checks_of(known, name);
    for (const std::string& check : now) {
      if (listed.count(check) == 0) {
        lines.push_back(fmt::format("{}: '{}' is outside its tolerance and not in known_differences.txt", name, check));
      }
    }
    for (const std::string& check : listed) {
      if (now.count(check) == 0) {
        lines.push_back(fmt::format("{}: '{}' holds; take it out of known_differences.txt", name, check));
      }
    }
  }
  return lines;
}

}  // namespace uvmsim::ground_truth
