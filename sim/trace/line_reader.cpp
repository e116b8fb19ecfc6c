// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/line_reader.h"

#include <cstring>

#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

LineReader::LineReader(Input& input) : text_(input), buffer_(std::size_t{128} << 10) {}

bool LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxLineBytes) {
      throw_input_error("line {} is longer than {} bytes", line_number_ + 1, kMaxLineBytes);
    }
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t taken = text_.read(std::span(buffer_).subspan(end_));
  end_ += taken;
  return taken > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const std::string_view text(buffer_.data() + begin_, end_ - begin_);
    const std::size_t newline = text.find('\n', searched);
    if (newline != std::string_view::npos) {
      line = text.substr(0, newline);
      begin_ += newline + 1;
      break;
    }
    searched = text.size();
    if (!fill()) {
      if (begin_ == end_) return false;
      ended_by_newline_ = false;
      line = std::string_view(buffer_.data() + begin_, end_ - begin_);
      begin_ = end_;
      break;
    }
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_number_;
  return true;
}

}  // namespace uvmsim::trace
