// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/common/version.h"
#include "sim/formats/fields.h"

namespace uvmsim::cli {
namespace {

// Escapes a line for troff, so that nothing in it is a request or an escape.
std::string escaped(std::string_view line) {
  constexpr std::pair<char, std::string_view> kEscapes[] = {{'\\', "\\e"},   {'-', "\\-"},   {'`', "\\(ga"},
                                                            {'\'', "\\(aq"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  if (!line.empty() && (line.front() == '.' || line.front() == '\'')) out += "\\&";
  for (const char c : line) {
    const auto escape = std::ranges::find(kEscapes, c, [](const auto& e) { return e.first; });
    out += escape == std::end(kEscapes) ? std::string_view(&c, 1) : escape->second;
  }
  return out;
}

bool is_options_title(std::string_view line) { return line == "Options:" || line == "options:"; }

// Returns the help's lines without the list of options, which ends before the first line that is not indented.
std::vector<std::string> lines_without_options(const std::string& help) {
  std::vector<std::string> lines;
  bool in_options = false;
  for (const std::string& line : split(help, '\n')) {
    if (is_options_title(line)) {
      in_options = true;
      continue;
    }
    if (in_options && !line.empty() && line.front() == ' ') continue;
    in_options = false;
    lines.push_back(line);
  }
  return lines;
}

// Formats lines for troff: paragraphs are filled, indented lines keep their breaks.
std::string body(const std::vector<std::string>& lines, std::size_t from) {
  std::string out;
  bool as_is = false;
  for (std::size_t i = from; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const bool indented = !line.empty() && line.front() == ' ';
    if (indented != as_is && !line.empty()) {
      out += indented ? ".nf\n" : ".fi\n.PP\n";
      as_is = indented;
    }
    if (line.empty()) {
      out += as_is ? "\n" : ".PP\n";
    } else {
      out += escaped(line) + "\n";
    }
  }
  return out + (as_is ? ".fi\n" : "");
}

std::string title(const std::string& page) {
  std::string upper = page;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".TH {} 1 \"\" \"uvmsim {}\" \"User Commands\"\n", upper, version());
}

std::string options_text(const std::vector<Option>& options) {
  std::string out;
  for (const Option& option : options) {
    std::string head = escaped(option.dashed());
    if (!option.short_name().empty()) {
      head = fmt::format("{}, {}", escaped(fmt::format("-{}", option.short_name())), head);
    }
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", head,
                       option.value.empty() ? "" : " \\fI" + escaped(option.value) + "\\fR", escaped(option.meaning));
  }
  return out;
}

std::string page_name(const Program& program, std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return std::string(program.name) + "-" + name;
}

ManualPage command_page(const Program& program, const NamedLine& named) {
  const std::string name = page_name(program, named.name);
  const std::vector<std::string> lines = lines_without_options(help_of(named.line));
  std::size_t end = 0;
  while (end < lines.size() && !lines[end].empty()) ++end;  // the synopsis, up to the first empty line
  std::string text = title(name);
  const std::string summary =
      named.summary.empty() ? fmt::format("{} {}", program.name, named.name) : std::string(named.summary);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n", escaped(name), escaped(summary));
  for (std::size_t i = 0; i < end; ++i) text += escaped(lines[i]) + "\n";
  text += ".fi\n.SH DESCRIPTION\n" + body(lines, end + 1);
  text += ".SH OPTIONS\n" + options_text(named.line.options);
  text += fmt::format(".SH SEE ALSO\n.BR {} (1)\n", escaped(program.name));
  return {name + ".1", text};
}

}  // namespace

std::vector<ManualPage> manual_pages(const Program& program) {
  const std::vector<NamedLine> commands = command_lines(program);
  const std::string name(program.name);
  const std::vector<std::string> lines = split(help_text(program), '\n');
  std::string first = title(name) + fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n.I COMMAND\n[options]\n",
                                                name, escaped(program.purpose), name);
  first += ".SH DESCRIPTION\n" + body(lines, 0) + ".SH SEE ALSO\n";
  std::vector<ManualPage> pages(1);
  for (const NamedLine& named : commands) {
    pages.push_back(command_page(program, named));
    first += fmt::format("{}.BR {} (1)", pages.size() > 2 ? ",\n" : "", escaped(page_name(program, named.name)));
  }
  pages.front() = {name + ".1", first + "\n"};
  return pages;
}

}  // namespace uvmsim::cli
