// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/input.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"

namespace uvmsim::trace {

namespace {
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
}

void Input::FileCloser::operator()(std::FILE* file) const {
  if (file != stdin) std::fclose(file);
}

Input Input::from_file(const std::string& path) {
  Input input;
  input.path_ = path == "-" ? "standard input" : path;
  input.file_.reset(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!input.file_) throw_input_error("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat status {};
  if (fstat(fileno(input.file_.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw_input_error("{}: is a folder, not a trace", path);
  }
  note_input(input.path_, fileno(input.file_.get()));
  input.buffer_.resize(kBufferBytes);
  return input;
}

Input Input::from_memory(std::string_view bytes) {
  Input input;
  input.rest_ = bytes;
  return input;
}

std::string_view Input::peek(std::size_t bytes) {
  while (rest_.size() < bytes && file_) {
    // The unread rest moves to the front; it is short, because peeks are.
    if (!rest_.empty()) std::memmove(buffer_.data(), rest_.data(), rest_.size());
    const std::size_t got = std::fread(buffer_.data() + rest_.size(), 1, buffer_.size() - rest_.size(), file_.get());
    rest_ = std::string_view(buffer_.data(), rest_.size() + got);
    if (got == 0) {
      if (std::ferror(file_.get())) throw_input_error("{}: cannot be read: {}", path_, std::strerror(errno));
      file_.reset();
    }
  }
  return rest_;
}

void Input::consume(std::size_t bytes) {
  bytes = std::min(bytes, rest_.size());
  rest_.remove_prefix(bytes);
  position_ += bytes;
}

}  // namespace uvmsim::trace
