// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/common/plain_text.h"
#include "sim/formats/decimal.h"
#include "sim/formats/printable.h"
#include "sim/formats/wrapped.h"

namespace uvmsim::cli {
namespace {

constexpr std::size_t kFewest = 40, kMost = 1000;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool shows_colours(int descriptor) {
  return is_terminal(descriptor) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::size_t columns_of_terminal(int descriptor) {
  if (!is_terminal(descriptor)) return kLineWidth;
  const std::string_view given = variable("COLUMNS");
  std::size_t columns = given.size() > 6 ? 0 : parse_digits(given).value_or(0);
  struct winsize size {};
  if (columns == 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? kLineWidth : std::clamp(columns, kFewest, kMost);
}

std::string styled(int descriptor, std::string_view style, std::string_view text) {
  return shows_colours(descriptor) ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

std::string with_headline(int descriptor, std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  return styled(descriptor, kBold, text.substr(0, end)) + std::string(text.substr(end));
}

std::string fitted(int descriptor, std::string text) {
  const std::size_t columns = columns_of_terminal(descriptor);
  text = plain_text(text);
  if (text.size() < columns) return text;
  text.resize(utf8_cut(text, columns - 1));
  return text;
}

}  // namespace uvmsim::cli
