// SPDX-License-Identifier: Apache-2.0
// Records for tests of the trace room: one of every type with no value left at its default, and random ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/common/random.h"
#include "sim/trace/record.h"
#include "sim/trace/writer.h"

namespace uvmsim::trace {

// Field by field; neither of the two file forms takes part in the comparison.
bool same(const Header& a, const Header& b);
bool same(const Record& a, const Record& b);

Header sample_header();
// Every type in turn, every enum value, every list filled. Not a program that makes sense.
std::vector<Record> sample_records();
// Satisfies shape.h, otherwise arbitrary.
Record random_record(Random& random);

struct Trace {
  Header header;
  std::vector<Record> records;
};
std::string encode(const Trace& trace, TraceFormat format);
// Throws what the reader throws.
Trace decode(std::string_view bytes, bool partial = false);

// The raw content of all zstd frames.
std::string decompress(std::string_view bytes);
// One frame around raw content.
std::string compress(std::string_view content);

}  // namespace uvmsim::trace
