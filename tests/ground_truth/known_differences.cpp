#include "tests/ground_truth/known_differences.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

namespace uvmsim::ground_truth {

namespace {

const char* const kList = UVMSIM_SOURCE_DIR "/tests/ground_truth/known_differences.txt";

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::set<std::string> checks_of(const Differences& differences, const std::string& name) {
  const auto found = differences.find(name);
  return found == differences.end() ? std::set<std::string>{} : found->second;
}

}  // namespace

Differences load_known_differences() {
  std::ifstream file(kList);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", kList));
  Differences differences;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error(fmt::format("{}:{}: no 'name: check'", kList, number));
    std::set<std::string>& checks = differences[trimmed(line.substr(0, colon))];
    for (std::size_t begin = colon + 1; begin <= line.size();) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      if (!checks.insert(trimmed(line.substr(begin, end - begin))).second) {
        throw std::runtime_error(fmt::format("{}:{}: listed twice", kList, number));
      }
      begin = end + 1;
    }
  }
  return differences;
}

std::vector<std::string> compare_with_known(const Differences& found, const std::set<std::string>& checked) {
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
