// SPDX-License-Identifier: Apache-2.0
#include "tracer/maps/cubin.h"

#include <elf.h>

#include <cstring>
#include <optional>

namespace uvmtrace {

namespace {

constexpr std::string_view kText = ".text.";
constexpr std::uint16_t kCuda = 190;  // EM_CUDA
constexpr unsigned char kOldAbi = 7;  // of the header; determines which flags hold the architecture
constexpr std::uint32_t kMostSections = 1U << 22;

template <class T>
std::optional<T> at(Code bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

std::string_view text_at(Code bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const char* const begin = reinterpret_cast<const char*>(bytes.data() + offset);
  return {begin, ::strnlen(begin, bytes.size() - offset)};
}

Code section(Code bytes, const Elf64_Shdr& header) {
  if (header.sh_offset > bytes.size() || bytes.size() - header.sh_offset < header.sh_size) return {};
  return bytes.subspan(header.sh_offset, header.sh_size);
}

}  // namespace

int for_each_function(Code cubin, const std::function<void(std::string_view, Code)>& take) {
  const auto file = at<Elf64_Ehdr>(cubin, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 || file->e_ident[EI_CLASS] != ELFCLASS64 ||
      file->e_machine != kCuda) {
    return 0;
  }
  const int architecture =
      static_cast<int>(file->e_ident[EI_ABIVERSION] <= kOldAbi ? file->e_flags & 0xff : file->e_flags >> 8 & 0xff);
  // Files with many sections store these numbers in the first section header.
  const auto first = at<Elf64_Shdr>(cubin, file->e_shoff);
  if (!first) return architecture;
  const std::uint64_t count = file->e_shnum != 0 ? file->e_shnum : first->sh_size;
  const std::uint64_t names_at = file->e_shstrndx != SHN_XINDEX ? file->e_shstrndx : first->sh_link;
  const auto header = [&](std::uint64_t index) {
    return at<Elf64_Shdr>(cubin, file->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names_header = names_at < kMostSections ? header(names_at) : std::nullopt;
  if (!names_header) return architecture;
  const Code names = section(cubin, *names_header);
  for (std::uint64_t i = 0; i < count && i < kMostSections; ++i) {
    const auto found = header(i);
    if (!found) break;
    const std::string_view name = text_at(names, found->sh_name);
    if (found->sh_type == SHT_PROGBITS && name.substr(0, kText.size()) == kText) {
      take(name.substr(kText.size()), section(cubin, *found));
    }
  }
  return architecture;
}

}  // namespace uvmtrace
