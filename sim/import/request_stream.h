// SPDX-License-Identifier: Apache-2.0
// Streams of requests as libCacheSim reads them, one request at a time. The content determines the format:
//      lcs             a header of 1024 bytes (a magic number at both ends) that describes the fields of a record
//      vscsi           records of 32 or 40 bytes of a SCSI trace, with their version (1 or 2); ids are blocks of 512
//      bytes oracle-general  oracle_general.h: no header; times of records never decrease, and the next access of a
//      record
//                      comes after it
//      csv             lines with a comma, tab, bar or semicolon between fields; the first line may name them
//      txt             one id per line
// All of them may be compressed with zstd, gzip or xz.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct Request {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;  // 0: unknown
  AccessMode mode = AccessMode::kRead;
};

enum class RequestFormat : std::uint8_t { kLcs, kVscsi, kOracleGeneral, kCsv, kTxt };
inline constexpr std::array<std::string_view, 5> kRequestFormatNames = {"lcs", "vscsi", "oracle-general", "csv", "txt"};

class RequestReader {
 public:
  virtual ~RequestReader() = default;
  virtual bool next(Request& request) = 0;  // false at the end; throws InputError naming file and record
  RequestFormat format = RequestFormat::kTxt;
  std::uint32_t id_bytes = 0;  // bytes of one step of an id; 0: the format does not say
  bool has_sizes = true, has_modes = false;
  bool numbers = true;  // false: ids are names, numbered by appearance
  std::string name;     // of the file
};

// `columns` names the columns of csv ("time,id,size,op"; others are ignored); empty: the first line does. Throws
// InputError for other files, with what they are.
std::unique_ptr<RequestReader> open_requests(const std::string& path, const std::string& columns = "");
std::unique_ptr<RequestReader> open_requests(std::string_view bytes, const std::string& name,
                                             const std::string& columns = "");

}  // namespace uvmsim::trace
