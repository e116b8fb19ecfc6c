// SPDX-License-Identifier: Apache-2.0
// The smallest file of a module: one kernel's code for compute capability 9.0, as cubin.h reads it.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace uvmtrace::maps_test {

inline std::string file_of(const std::vector<unsigned char>& code, const std::string& kernel) {
  const std::string names = std::string("\0.text.", 7) + kernel + std::string("\0.shstrtab\0", 11);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = 190;
  header.e_flags = 90U << 8;
  header.e_shoff = sizeof header;
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  Elf64_Shdr sections[3] = {};
  const std::uint64_t code_at = sizeof header + sizeof sections;
  sections[1] = {1, SHT_PROGBITS, 0, 0, code_at, code.size(), 0, 0, 0, 0};
  sections[2] = {0, SHT_STRTAB, 0, 0, code_at + code.size(), names.size(), 0, 0, 0, 0};
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(sections), sizeof sections);
  out.append(reinterpret_cast<const char*>(code.data()), code.size());
  return out + names;
}

}  // namespace uvmtrace::maps_test
