// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/packed_bytes.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include "sim/common/error.h"
#include "sim/trace/zstd_stream.h"

namespace uvmsim::trace {

namespace {

constexpr std::string_view kGzip("\x1f\x8b", 2), kXz("\xfd\x37zXZ\0", 6);
// A window of xz may be as large as the file's author likes: those of `xz -9` take 65 MiB.
constexpr std::uint64_t kLargestXzMemory = std::uint64_t{128} << 20;

// Both libraries take and return bytes through a struct; the two structs differ only in their types.
template <class Stream>
void point_at(Stream& stream, std::string_view in, std::span<char> out) {
  constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<decltype(stream.avail_in)>(std::min(in.size(), kMost));
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_out = static_cast<decltype(stream.avail_out)>(std::min(out.size(), kMost));
}

class GzipUnpacker final : public Unpacker {
 public:
  explicit GzipUnpacker(Input& input) : input_(input) {
    constexpr int kLargestWindow = 15, kOfGzip = 16;
    if (inflateInit2(&stream_, kLargestWindow + kOfGzip) != Z_OK) throw std::bad_alloc();
  }
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  std::size_t read(std::span<char> out) override {
    while (true) {
      const std::string_view in = input_.peek();
      // Members may follow one another, as in the output of `cat`.
      if (ended_ && in.empty()) return 0;
      if (ended_ && inflateReset(&stream_) != Z_OK) throw DamageError("damaged data of gzip");
      ended_ = false;
      point_at(stream_, in, out);
      const std::size_t given = stream_.avail_in, room = stream_.avail_out;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      input_.consume(given - stream_.avail_in);
      const std::size_t made = room - stream_.avail_out;
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) throw DamageError("damaged data of gzip");
      ended_ = code == Z_STREAM_END;
      if (made != 0) return made;
      if (!ended_ && in.empty()) throw DamageError("the data of gzip are cut off");
    }
  }

 private:
  Input& input_;
  z_stream stream_{};
  bool ended_ = false;  // a member, its checksum compared
};

class XzUnpacker final : public Unpacker {
 public:
  explicit XzUnpacker(Input& input) : input_(input) {
    if (lzma_stream_decoder(&stream_, kLargestXzMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }
  ~XzUnpacker() override { lzma_end(&stream_); }
  XzUnpacker(const XzUnpacker&) = delete;
  XzUnpacker& operator=(const XzUnpacker&) = delete;

  std::size_t read(std::span<char> out) override {
    while (!ended_) {
      const std::string_view in = input_.peek();
      point_at(stream_, in, out);
      const std::size_t given = stream_.avail_in, room = stream_.avail_out;
      const lzma_ret code = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
      input_.consume(given - stream_.avail_in);
      const std::size_t made = room - stream_.avail_out;
      if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
      if (code == LZMA_MEMLIMIT_ERROR) {
        throw_input_error("data of xz that take more than {} bytes of memory to unpack; unpack it first with `unxz -k`",
                          kLargestXzMemory);
      }
      if (code == LZMA_BUF_ERROR) throw DamageError("the data of xz are cut off");
      if (code != LZMA_OK && code != LZMA_STREAM_END) throw DamageError("damaged data of xz");
      ended_ = code == LZMA_STREAM_END;
      if (made != 0) return made;
    }
    return 0;
  }

 private:
  Input& input_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

}  // namespace

bool starts_packed(std::string_view bytes) { return bytes.starts_with(kGzip) || bytes.starts_with(kXz); }

std::unique_ptr<Unpacker> make_unpacker(Input& input) {
  const std::string_view start = input.peek(kXz.size());
  if (start.starts_with(kGzip)) return std::make_unique<GzipUnpacker>(input);
  if (start.starts_with(kXz)) return std::make_unique<XzUnpacker>(input);
  return nullptr;
}

std::string unpacked_preview(std::string_view packed, std::size_t bytes) {
  Input input = Input::from_memory(packed);
  std::string plain(bytes, '\0');
  std::size_t length = 0;
  try {
    const std::unique_ptr<Unpacker> unpacker = make_unpacker(input);
    for (std::size_t taken = 1; unpacker && taken != 0 && length < bytes; length += taken) {
      taken = unpacker->read(std::span(plain).subspan(length));
    }
  } catch (const InputError&) {  // expected, because the input is cut off
  }
  plain.resize(length);
  return plain;
}

}  // namespace uvmsim::trace
