// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/zstd_stream.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

#include "sim/trace/packed_bytes.h"

namespace uvmsim::trace {
namespace {

// Returns libzstd's error message, empty if there is none. Lack of memory does not count as damage.
std::string error_of(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return ZSTD_isError(result) ? ZSTD_getErrorName(result) : "";
}

}  // namespace

bool starts_zstd_frame(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  std::uint32_t magic = 0;
  for (unsigned i = 0; i < 4; ++i) magic |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

void ZstdDecoder::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }
void ZstdEncoder::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ZstdDecoder::ZstdDecoder(Input& input) : input_(input), context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

ZstdDecoder::Piece ZstdDecoder::read(std::span<char> out) {
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  Piece piece;
  while (output.pos < output.size) {
    const std::string_view available = input_.peek();
    // At the end the decoder may still hold output of the input it has taken.
    if (available.empty() && !inside_frame_) {
      piece.input_ended = true;
      break;
    }
    ZSTD_inBuffer in{available.data(), available.size(), 0};
    const std::size_t before = output.pos;
    const std::size_t result = ZSTD_decompressStream(context_.get(), &output, &in);
    if (const std::string error = error_of(result); !error.empty()) {
      throw DamageError(fmt::format("frame {} is damaged: {}", frame_, error));
    }
    input_.consume(in.pos);
    inside_frame_ = result != 0;
    if (!inside_frame_) {
      piece.frame_ended = true;
      ++frame_;
      break;
    }
    if (available.empty() && output.pos == before) {
      throw DamageError(fmt::format("frame {} is cut off after {} bytes of the file", frame_, input_.position()));
    }
  }
  piece.bytes = output.pos;
  return piece;
}

std::string ZstdDecoder::preview(std::string_view compressed, std::size_t bytes) {
  Input input = Input::from_memory(compressed);
  std::string out(bytes, '\0');
  std::size_t filled = 0;
  try {
    ZstdDecoder decoder(input);
    while (filled < bytes) {
      const Piece piece = decoder.read(std::span(out).subspan(filled));
      filled += piece.bytes;
      if (piece.input_ended) break;
    }
  } catch (const DamageError&) {
    // This damage is not reported here, because the reader meets it too.
  }
  return out;
}

PlainBytes::PlainBytes(Input& input) : input_(input), unpacker_(make_unpacker(input)) {
  if (starts_zstd_frame(input.peek(4))) decoder_.emplace(input);
}
PlainBytes::~PlainBytes() = default;
PlainBytes::PlainBytes(PlainBytes&&) noexcept = default;

std::size_t PlainBytes::read(std::span<char> out) {
  if (decoder_) {
    ZstdDecoder::Piece piece;
    do {
      piece = decoder_->read(out);
    } while (piece.bytes == 0 && !piece.input_ended);
    return piece.bytes;
  }
  if (unpacker_) return unpacker_->read(out);
  const std::string_view available = input_.peek();
  const std::size_t taken = std::min(available.size(), out.size());
  std::copy_n(available.begin(), taken, out.begin());
  input_.consume(taken);
  return taken;
}

ZstdEncoder::ZstdEncoder(int level) : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1);
}

void ZstdEncoder::compress(std::string_view content, std::string& out) {
  out.resize(ZSTD_compressBound(content.size()));
  const std::size_t size = ZSTD_compress2(context_.get(), out.data(), out.size(), content.data(), content.size());
  if (const std::string error = error_of(size); !error.empty()) throw std::runtime_error("zstd: " + error);
  out.resize(size);
}

}  // namespace uvmsim::trace
