// SPDX-License-Identifier: Apache-2.0
#include "sim/common/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"

namespace uvmsim {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr int kNameAttempts = 100;

[[noreturn]] void cannot_write(const std::string& path, const std::string& reason) {
  throw_input_error("cannot write {}: {}", path.empty() ? "''" : path, reason);
}

// Follows symbolic links, including one that points to a file that does not exist yet.
std::string follow_links(const std::string& path) {
  std::filesystem::path current = path;
  for (int depth = 0; depth < 40; ++depth) {
    std::error_code error;
    const auto next = std::filesystem::read_symlink(current, error);
    if (error) return current.string();
    current = next.is_absolute() ? next : current.parent_path() / next;
  }
  cannot_write(path, std::strerror(ELOOP));
}

// A file that a signal handler may have to remove. A forked process knows those of its parent and leaves them alone. If
// the table is full, only the destructor removes the file.
struct KnownTemporary {
  std::atomic<char*> name = nullptr;
  pid_t owner = 0;
};
std::array<KnownTemporary, 64> known_temporaries;

void know(const std::string& temporary) {
  char* name = ::strdup(temporary.c_str());
  for (KnownTemporary& place : known_temporaries) {
    char* nobody = nullptr;
    if (!place.name.compare_exchange_strong(nobody, name)) continue;
    place.owner = ::getpid();
    return;
  }
  std::free(name);
}

// Returns whether the existing temporary file belongs to this process: then two of its outputs have the same target,
// possibly under different names.
bool is_ours(const std::string& temporary) {
  struct stat there {};
  if (::stat(temporary.c_str(), &there) != 0) return false;
  for (const KnownTemporary& place : known_temporaries) {
    const char* name = place.name.load();
    struct stat own {};
    if (name == nullptr || place.owner != ::getpid() || ::stat(name, &own) != 0) continue;
    if (own.st_dev == there.st_dev && own.st_ino == there.st_ino) return true;
  }
  return false;
}

void forget(const std::string& temporary) {
  for (KnownTemporary& place : known_temporaries) {
    char* name = place.name.load();
    if (name != nullptr && temporary == name && place.name.compare_exchange_strong(name, nullptr)) std::free(name);
  }
}

}  // namespace

void remove_temporary_files() {
  for (const KnownTemporary& place : known_temporaries) {
    const char* name = place.name.load();
    if (name != nullptr && place.owner == ::getpid()) ::unlink(name);
  }
}

AtomicFile::AtomicFile(std::string path, OutputRules rules) : path_(std::move(path)) {
  if (path_.empty()) cannot_write(path_, "the name is empty");
  target_ = rules.through_links ? follow_links(path_) : path_;

  if (::lstat(target_.c_str(), &replaced_) == 0) {
    if (S_ISDIR(replaced_.st_mode)) cannot_write(path_, "it is a folder");
    if (rules.through_links && !S_ISREG(replaced_.st_mode)) {
      descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) cannot_write(path_, std::strerror(errno));
      return;
    }
    if (S_ISREG(replaced_.st_mode) && ::access(target_.c_str(), W_OK) != 0) cannot_write(path_, std::strerror(errno));
    if (S_ISREG(replaced_.st_mode) && !rules.over_input) {
      note_output(path_, replaced_);
      noted_ = true;
    }
  }

  for (int attempt = 0; attempt < kNameAttempts && descriptor_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), attempt);
    // 0666: the user's umask applies, as for any other file.
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) break;
    if (errno != EEXIST) break;
    if (is_ours(temporary_)) {
      temporary_.clear();
      cannot_write(path_, "another output of this command is the same file");
    }
  }
  if (descriptor_ < 0) cannot_write(path_, std::strerror(errno));
  know(temporary_);
  if (S_ISREG(replaced_.st_mode)) static_cast<void>(::fchmod(descriptor_, replaced_.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (noted_) forget_output(replaced_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget(temporary_);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::move(other.buffer_)),
      replaced_(other.replaced_),
      noted_(std::exchange(other.noted_, false)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

void AtomicFile::write(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::commit() {
  flush();
  if (temporary_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, std::strerror(errno));
    return;
  }
  // Without the sync a crash soon after the rename could leave an empty file under the final name.
  if (::fsync(descriptor_) != 0 || ::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    cannot_write(path_, std::strerror(errno));
  }
  forget(temporary_);
  temporary_.clear();
}

void AtomicFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      cannot_write(path_, std::strerror(errno));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void write_file(const std::string& path, std::string_view content, OutputRules rules) {
  AtomicFile file(path, rules);
  file.write(content);
  file.commit();
}

}  // namespace uvmsim
