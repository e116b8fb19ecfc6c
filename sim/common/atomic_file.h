// SPDX-License-Identifier: Apache-2.0
// An output file that appears under its name either complete or not at all.
//
// Bytes go to a temporary file beside the target; commit() makes them durable and renames it over the target in one
// step. Without commit() nothing changes and the temporary file is removed. The file should be opened before long work
// starts, so that an unwritable target is an error then, not after an hour.
//
// Targets that are neither files nor missing (/dev/stdout, /dev/null, a named pipe) are written directly; a symbolic
// link is kept and the file it names is replaced, unless the rules say otherwise. A file that the command reads is
// refused (file_roles.h). Every failure is an InputError of one line: "cannot write <path>: <reason>".
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

namespace uvmsim {

struct OutputRules {
  bool through_links = true;  // false: replaces a link itself, for folders that another user may have made
  bool over_input = false;    // allows replacing a file that the command has read
};

class AtomicFile {
 public:
  // Throws when the folder is missing or not writable, or when the target is a folder or a file without write
  // permission.
  explicit AtomicFile(std::string path, OutputRules rules = {});
  // Removes the temporary file unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  // Buffers the bytes; throws when the disk is full.
  void write(std::string_view bytes);
  // Flushes, syncs and renames the file. Must be the last call.
  void commit();

  // The path given to the constructor.
  const std::string& path() const { return path_; }

 private:
  void flush();

  std::string path_;
  std::string target_;     // path_ with symbolic links followed
  std::string temporary_;  // empty when the target is written directly, or after commit
  std::string buffer_;
  struct stat replaced_ {};  // the file at the target; 0: there was none
  bool noted_ = false;       // noted as an output
  int descriptor_ = -1;
};

// Rules for files in a folder that may come from another user, where links must not be followed.
inline constexpr OutputRules kInFolder{.through_links = false};

// Removes the temporary files of this process. For a signal handler that ends the process.
void remove_temporary_files();

// Writes the whole content at once.
void write_file(const std::string& path, std::string_view content, OutputRules rules = {});

}  // namespace uvmsim
