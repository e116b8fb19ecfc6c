// SPDX-License-Identifier: Apache-2.0
// The files that a command reads and those that it writes: none is both, whatever its names.
//
// Files are told apart by device and inode. Nothing is kept, and nothing refused, unless a FileRoles lives: a process
// that runs longer than one command may well write what it read before.
#pragma once

#include <string>

struct stat;

namespace uvmsim {

// While it lives, the process keeps what it reads and writes. One at a time.
class FileRoles {
 public:
  FileRoles();
  ~FileRoles();
  FileRoles(const FileRoles&) = delete;
  FileRoles& operator=(const FileRoles&) = delete;
};

// Throws InputError when the file is the target of an output that is open. Only regular files count.
void note_input(const std::string& path);
void note_input(const std::string& path, int descriptor);

// Throws InputError when the file, which is there already, was read.
void note_output(const std::string& path, const struct stat& file);
void forget_output(const struct stat& file);

}  // namespace uvmsim
