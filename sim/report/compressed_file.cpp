// SPDX-License-Identifier: Apache-2.0
#include "sim/report/compressed_file.h"

#include <zlib.h>

#include <array>
#include <new>

#include "sim/common/check.h"

namespace uvmsim::report {

class CompressedFile::Gzip {
 public:
  explicit Gzip(AtomicFile& file) : file_(file) {
    constexpr int kGzip = 15 + 16;  // zlib's largest window, with a gzip header
    const int status = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    UVMSIM_CHECK(status == Z_OK, "zlib does not start: {}", status);
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void add(std::string_view bytes, int flush) {
    // zlib does not write to this pointer.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      file_.write({out_.data(), out_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

 private:
  static constexpr int kLevel = 4;  // speed matters more than the last percent of size

  AtomicFile& file_;
  z_stream stream_{};
  std::array<char, 1 << 16> out_{};
};

CompressedFile::CompressedFile(const std::string& path) : file_(path) {
  if (path.ends_with(".gz")) gzip_ = std::make_unique<Gzip>(file_);
}

CompressedFile::~CompressedFile() = default;

void CompressedFile::write(std::string_view bytes) {
  if (gzip_) {
    gzip_->add(bytes, Z_NO_FLUSH);
  } else {
    file_.write(bytes);
  }
}

void CompressedFile::commit() {
  if (gzip_) gzip_->add({}, Z_FINISH);
  file_.commit();
}

}  // namespace uvmsim::report
