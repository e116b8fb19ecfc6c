// SPDX-License-Identifier: Apache-2.0
// Whole frames of a `.uvmt` file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

class FrameReader {
 public:
  explicit FrameReader(Input& input) : decoder_(input) {}

  // The content of the next frame that is not empty, its checksum compared; false at the end of the file. Holds until
  // the next call. Throws DamageError for a damaged or cut-off frame, InputError for one beyond kMaxFrameBytes.
  bool next(std::string_view& content);

  std::uint64_t frame() const { return frame_; }  // number of the frame last returned, from 1

 private:
  ZstdDecoder decoder_;
  std::vector<char> buffer_;
  std::uint64_t frame_ = 0;
};

}  // namespace uvmsim::trace
