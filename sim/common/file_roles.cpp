// SPDX-License-Identifier: Apache-2.0
#include "sim/common/file_roles.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "sim/common/error.h"

namespace uvmsim {
namespace {

using Identity = std::pair<dev_t, ino_t>;
using Files = std::map<Identity, std::string>;  // by the name under which it was opened

struct Roles {
  Files read, written;
};

// Threads open traces too.
std::mutex mutex;
std::optional<Roles> roles;

Identity identity(const struct stat& file) { return {file.st_dev, file.st_ino}; }

void note(const std::string& path, const struct stat& file) {
  const std::lock_guard lock(mutex);
  if (!roles || !S_ISREG(file.st_mode)) return;
  if (const auto output = roles->written.find(identity(file)); output != roles->written.end()) {
    throw_input_error("{}: is an input and an output ({}) of this command; write to another file", path,
                      output->second);
  }
  roles->read.emplace(identity(file), path);
}

}  // namespace

FileRoles::FileRoles() {
  const std::lock_guard lock(mutex);
  roles.emplace();
}

FileRoles::~FileRoles() {
  const std::lock_guard lock(mutex);
  roles.reset();
}

void note_input(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) note(path, file);
}

void note_input(const std::string& path, int descriptor) {
  struct stat file {};
  if (::fstat(descriptor, &file) == 0) note(path, file);
}

void note_output(const std::string& path, const struct stat& file) {
  const std::lock_guard lock(mutex);
  if (!roles || !S_ISREG(file.st_mode)) return;
  if (const auto input = roles->read.find(identity(file)); input != roles->read.end()) {
    throw_input_error("cannot write {}: it is an input ({}) of this command; write to another file", path,
                      input->second);
  }
  roles->written.emplace(identity(file), path);
}

void forget_output(const struct stat& file) {
  const std::lock_guard lock(mutex);
  if (roles) roles->written.erase(identity(file));
}

}  // namespace uvmsim
