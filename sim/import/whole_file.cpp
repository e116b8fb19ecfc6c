// SPDX-License-Identifier: Apache-2.0
#include "sim/import/whole_file.h"

#include <cstddef>
#include <span>

#include "sim/common/error.h"
#include "sim/trace/foreign.h"
#include "sim/trace/input.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kMostContent = std::size_t{4} << 30;

}  // namespace

std::string read_whole_file(const std::string& path) {
  Input input = Input::from_file(path);
  PlainBytes bytes(input);
  std::string content;
  for (;;) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    const std::size_t size = content.size();
    if (size > kMostContent) throw_input_error("{}: larger than {} bytes; record fewer steps", path, kMostContent);
    content.resize(size + kPiece);
    std::size_t taken = 0;
    try {
      taken = bytes.read(std::span(content).subspan(size));
    } catch (const InputError& error) {
      throw_input_error("{}: {}", path, error.what());
    }
    content.resize(size + taken);
    if (taken == 0) return content;
  }
}

std::string read_recording(const std::string& path, std::string_view what, std::string_view format) {
  const std::string hint = foreign_hint(path);
  if (!hint.empty() && hint.find(format) == std::string::npos) throw_input_error("{}: no {}{}", path, what, hint);
  return read_whole_file(path);
}

}  // namespace uvmsim::trace
