// SPDX-License-Identifier: Apache-2.0
// Zstandard frames: decompression of a sequence of frames, compression of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/common/error.h"
#include "sim/trace/input.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace uvmsim::trace {

class Unpacker;

// Thrown if bytes are missing or do not match their checksum, in contrast to bytes with a wrong meaning. The data
// before the damage are complete.
class DamageError : public InputError {
 public:
  using InputError::InputError;
};

// Returns whether the bytes start like a zstd frame (or a skippable frame).
bool starts_zstd_frame(std::string_view bytes);

class ZstdDecoder {
 public:
  explicit ZstdDecoder(Input& input);  // the input must outlive the decoder

  struct Piece {
    std::size_t bytes = 0;     // written to the front of `out`; may be 0 before the end of the input
    bool frame_ended = false;  // these bytes complete a frame, whose checksum has been verified
    bool input_ended = false;  // nothing follows
  };
  // Returns the next bytes, never of two frames at once. Throws DamageError (naming the frame, not the file) when the
  // data are corrupt or end within a frame.
  Piece read(std::span<char> out);

  std::uint64_t frame() const { return frame_; }  // number of the frame being read, from 1

  // Returns the first bytes of the decompressed content of `compressed`, padded with zeros. Damage is not reported
  // here.
  static std::string preview(std::string_view compressed, std::size_t bytes);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  Input& input_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::uint64_t frame_ = 1;
  bool inside_frame_ = false;
};

// The bytes of an input, unpacked if its first bytes are those of zstd, gzip or xz.
class PlainBytes {
 public:
  explicit PlainBytes(Input& input);  // the input must outlive it
  ~PlainBytes();
  PlainBytes(PlainBytes&&) noexcept;

  // Writes the next bytes to the front of `out` and returns their number: 0 only at the end. Throws as
  // ZstdDecoder::read() does.
  std::size_t read(std::span<char> out);

 private:
  Input& input_;
  std::optional<ZstdDecoder> decoder_;
  std::unique_ptr<Unpacker> unpacker_;
};

class ZstdEncoder {
 public:
  explicit ZstdEncoder(int level);
  // Compresses one frame with content size and checksum into `out`.
  void compress(std::string_view content, std::string& out);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

}  // namespace uvmsim::trace
