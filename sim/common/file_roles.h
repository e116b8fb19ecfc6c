// SPDX-License-Identifier: Apache-2.0
// The files that a command reads and those that it writes. No file may be both, under any of its names.
//
// Files are identified by device and inode. Nothing is recorded or refused unless a FileRoles exists: a process that
// runs longer than one command may well write what it read before.
#pragma once

#include <string>

struct stat;

namespace uvmsim {

// Makes the process record its inputs and outputs during the object's lifetime. At most one exists at a time.
class FileRoles {
 public:
  FileRoles();
  ~FileRoles();
  FileRoles(const FileRoles&) = delete;
  FileRoles& operator=(const FileRoles&) = delete;
};

// Throws InputError when the file is the target of an open output. Only regular files count.
void note_input(const std::string& path);
void note_input(const std::string& path, int descriptor);

// Throws InputError when the existing file was read.
void note_output(const std::string& path, const struct stat& file);
void forget_output(const struct stat& file);

}  // namespace uvmsim
