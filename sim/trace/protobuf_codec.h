// SPDX-License-Identifier: Apache-2.0
// Records as messages of uvmtrace.proto, the content of the frames of a `.uvmt` file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// The kind of one message of a frame.
enum class EntryKind : std::uint8_t { kHeader, kRecord, kEnd };

class ProtobufEncoder {
 public:
  ProtobufEncoder();
  ~ProtobufEncoder();

  void start_frame();  // restarts the string numbers
  // Appends one length-delimited message to `frame`. Throws InputError (without the place) for a string that is not
  // UTF-8 and for a record of more than kMaxRecordBytes.
  void append(const Header& header, std::string& frame);
  void append(const Record& record, std::string& frame);
  void append_end(std::uint64_t records, std::string& frame);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class ProtobufDecoder {
 public:
  ProtobufDecoder();
  ~ProtobufDecoder();
  ProtobufDecoder(ProtobufDecoder&&) noexcept;

  void start_frame();
  // Decodes the first message of `frame` and removes it. Sets `record` (reusing its storage), `header` or `records` as
  // the kind says. Throws InputError (without the place) for bytes that are not such a message, an unknown record type,
  // a number out of range, or a string number that the frame has not defined.
  EntryKind take(std::string_view& frame, Record& record, Header& header, std::uint64_t& records);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns true when the bytes begin like the content of a `.uvmt` file: a first message with a header and its magic.
bool starts_protobuf_trace(std::string_view content);

}  // namespace uvmsim::trace
