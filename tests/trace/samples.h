// SPDX-License-Identifier: Apache-2.0
// Records for tests of sim/trace: one of every type with no value left at its default, and random ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/common/random.h"
#include "sim/trace/record.h"
#include "sim/trace/writer.h"

namespace uvmsim::trace {

// Compares field by field; the comparison uses neither of the two file forms.
bool same(const Header& a, const Header& b);
bool same(const Record& a, const Record& b);

Header sample_header();
// Returns every type in turn, with every enum value and every list filled. The records form no sensible program.
std::vector<Record> sample_records();
// Returns a record that satisfies shape.h and is otherwise arbitrary.
Record random_record(Random& random);

struct Trace {
  Header header;
  std::vector<Record> records;
};
std::string encode(const Trace& trace, TraceFormat format);
// Throws the reader's exceptions.
Trace decode(std::string_view bytes, bool partial = false);

// Returns the raw content of all zstd frames.
std::string decompress(std::string_view bytes);
// Returns one frame with this raw content.
std::string compress(std::string_view content);

}  // namespace uvmsim::trace
