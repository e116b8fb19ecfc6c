// SPDX-License-Identifier: Apache-2.0
// Compares the model of PyTorch's caching allocator with the allocator itself (data/README.md).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>

#include "sim/layout/caching_allocator.h"

namespace uvmsim::layout::recorded_allocator_test {
namespace {

struct Outcome {
  std::uint64_t tensors = 0, equal = 0, segments = 0;
  std::string first_difference;
};

// With `addresses`, a segment that the recording allocated at the same point has the recorded order among the others.
Outcome replay(const std::string& name, CachingAllocator& model, bool addresses) {
  struct Segment {
    std::uint64_t bytes = 0, rank = 0;
    std::uint64_t in_model = ~std::uint64_t{0};
    bool used = false;
  };
  std::ifstream file(UVMSIM_SOURCE_DIR "/tests/layout/data/" + name + ".txt");
  EXPECT_TRUE(file.is_open());
  std::unordered_map<std::uint64_t, Segment> segments;
  std::unordered_map<std::uint64_t, std::uint64_t> ids;
  Outcome outcome;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    char kind = 0;
    std::uint64_t number = 0, bytes = 0, segment = 0, offset = 0, rank = 0;
    std::uint32_t stream = 0;
    fields >> kind >> number;
    if (kind == 's') {
      fields >> bytes >> stream >> rank;
      segments[number] = {bytes, rank};
      ++outcome.segments;
    } else if (kind == 'a') {
      fields >> bytes >> stream >> segment >> offset;
      Segment& recorded = segments.at(segment);
      const std::uint64_t address = addresses && !recorded.used ? recorded.rank << 40 : 0;
      const auto placed = model.allocate(bytes, stream, address);
      if (placed.new_segment && !recorded.used) recorded.in_model = placed.segment;
      recorded.used = true;
      ids[number] = placed.id;
      ++outcome.tensors;
      if (recorded.in_model == placed.segment && recorded.bytes == placed.segment_bytes && offset == placed.offset) {
        ++outcome.equal;
      } else if (outcome.first_difference.empty()) {
        outcome.first_difference = name + ": " + line;
      }
    } else {
      model.free(ids.at(number));
    }
    EXPECT_TRUE(fields) << name << ": " << line;
  }
  return outcome;
}

TEST(RecordedAllocator, EveryTensorLiesWhereItWas) {
  for (const char* name : {"alexnet", "dlrm", "resnet50"}) {
    CachingAllocator model;
    const Outcome outcome = replay(name, model, true);
    EXPECT_GT(outcome.tensors, 200u);
    EXPECT_EQ(outcome.equal, outcome.tensors) << outcome.first_difference;
    EXPECT_EQ(model.segment_count(), outcome.segments);
  }
}

// Among equally large blocks another one is then chosen, but the reserved memory is the same.
TEST(RecordedAllocator, TheSameSegmentsWithoutTheirAddresses) {
  for (const char* name : {"alexnet", "dlrm", "resnet50"}) {
    CachingAllocator with, without;
    replay(name, with, true);
    const Outcome outcome = replay(name, without, false);
    EXPECT_LT(outcome.equal, outcome.tensors);
    EXPECT_EQ(without.segment_count(), with.segment_count());
    EXPECT_EQ(without.reserved_bytes(), with.reserved_bytes());
  }
}

}  // namespace
}  // namespace uvmsim::layout::recorded_allocator_test
