// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/frame_reader.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

bool FrameReader::next(std::string_view& content) {
  std::size_t size = 0;
  for (;;) {
    if (size == buffer_.size()) {
      if (size >= kMaxFrameBytes) {
        throw_input_error("frame {} holds more than {} bytes", decoder_.frame(), kMaxFrameBytes);
      }
      buffer_.resize(std::max(std::size_t{64} << 10, size * 2));
    }
    const std::uint64_t number = decoder_.frame();
    const ZstdDecoder::Piece piece = decoder_.read(std::span(buffer_).subspan(size));
    size += piece.bytes;
    if (piece.frame_ended && size > 0) {
      content = std::string_view(buffer_.data(), size);
      frame_ = number;
      return true;
    }
    if (piece.input_ended) return false;
  }
}

}  // namespace uvmsim::trace
