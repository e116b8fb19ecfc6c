// SPDX-License-Identifier: Apache-2.0
// Tests of running a recorded program for more or fewer iterations: its records, their ids, and refusals.
#include "sim/edit/repeat_iterations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/common/error.h"
#include "sim/edit/repeatable.h"
#include "sim/trace/reader.h"
#include "sim/trace/validate.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace::repeat_iterations_test {
namespace {

using ::testing::HasSubstr;

using Records = std::vector<Record>;

Record object(ObjectId id, std::uint64_t bytes = 2 << 20) {
  ObjectAlloc record;
  record.id = id;
  record.bytes = bytes;
  return record;
}
Record tensor(ObjectId id, std::uint64_t bytes, ObjectId in = kNoObject) {
  TensorAlloc record;
  record.id = id;
  record.bytes = bytes;
  record.object = in;
  return record;
}
Record kernel(const std::string& name, const std::vector<ObjectId>& touched) {
  Kernel record;
  record.name = name;
  record.duration_ns = 1000;
  for (const ObjectId id : touched) record.accesses.push_back({id, {{0, 1, AccessMode::kReadWrite}}});
  return record;
}
Record begin(std::uint64_t index) { return Range{RangeKind::kIterationBegin, "", index}; }
Record end(std::uint64_t index) { return Range{RangeKind::kIterationEnd, "", index}; }

IterationRepeater::Source source_of(const Records& records) {
  return [&records, at = std::size_t{0}](Record& record) mutable {
    if (at == records.size()) return false;
    record = records[at++];
    return true;
  };
}

struct Program {
  Records records;
  IterationRepeater::Passes passes;
};

// Returns the program of `n` iterations, checked as a trace.
Program repeated(const Records& records, std::uint64_t n) {
  const IterationRepeater::Source source = source_of(records);
  IterationRepeater repeater(source, n);
  Validator validator("program", Header{});
  Program out;
  for (Record record; repeater.next(record);) {
    validator.check(record);
    out.records.push_back(record);
  }
  validator.finish();
  out.passes = repeater.passes();
  return out;
}

std::string error_of(const Records& records, std::uint64_t n) {
  try {
    const IterationRepeater::Source source = source_of(records);
    IterationRepeater repeater(source, n);
    for (Record record; repeater.next(record);) {
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool same_records(const Records& a, const Records& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

// Returns the ids that the kernels called `name` touch at `slot`, in program order.
std::vector<ObjectId> touched(const Records& records, const std::string& name, std::size_t slot) {
  std::vector<ObjectId> ids;
  for (const Record& record : records) {
    const auto* k = std::get_if<Kernel>(&record);
    if (k != nullptr && k->name == name) ids.push_back(k->accesses.at(slot).object);
  }
  return ids;
}
std::vector<ObjectId> frees(const Records& records) {
  std::vector<ObjectId> ids;
  for (const Record& record : records) {
    if (const auto* f = std::get_if<ObjectFree>(&record)) ids.push_back(f->id);
    if (const auto* f = std::get_if<TensorFree>(&record)) ids.push_back(f->id);
  }
  return ids;
}
std::vector<std::uint64_t> begun(const Records& records) {
  std::vector<std::uint64_t> indices;
  for (const Record& record : records) {
    const auto* range = std::get_if<Range>(&record);
    if (range != nullptr && range->kind == RangeKind::kIterationBegin) indices.push_back(range->index);
  }
  return indices;
}

// Object 1 holds parameters; activations live within an iteration; a gradient lives until the next one has begun.
Records training() {
  return {object(1), begin(0), object(2), kernel("forward", {1, 2}), object(3), kernel("backward", {2, 3}),
          ObjectFree{2}, end(0),
          // Records between the iterations belong to the second.
          kernel("load", {1}), begin(1), ObjectFree{3}, object(4), kernel("forward", {1, 4}), object(5),
          kernel("backward", {4, 5}), ObjectFree{4}, end(1),
          // These records follow the iterations.
          kernel("save", {1, 5}), ObjectFree{5}, ObjectFree{1}};
}

TEST(RepeatIterations, AsRecorded) {
  EXPECT_TRUE(same_records(repeated(training(), 0).records, training()));
  const Program two = repeated(training(), 2);
  EXPECT_TRUE(same_records(two.records, training()));
  EXPECT_EQ(two.passes.first, 1u);
  EXPECT_EQ(two.passes.count, 1u);
}

// Returns repeated(), but without `left_out` in the later passes.
Program repeated_without(const Records& records, std::uint64_t n, std::uint64_t left_out) {
  const IterationRepeater::Source source = source_of(records);
  IterationRepeater repeater(source, n);
  Validator validator("program", Header{});
  Program out;
  for (Record record; true;) {
    if (left_out != 0 && repeater.at_repetition()) {
      EXPECT_GE(repeater.repetitions_left(), left_out);
      repeater.leave_out(left_out);
      left_out = 0;
    }
    if (!repeater.next(record)) break;
    validator.check(record);
    out.records.push_back(record);
  }
  validator.finish();
  out.passes = repeater.passes();
  return out;
}

TEST(RepeatIterations, PassesAreLeftOut) {
  const Program last_stays = repeated_without(training(), 5, 2);
  EXPECT_THAT(begun(last_stays.records), ::testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(touched(last_stays.records, "forward", 1), ::testing::ElementsAre(2, 6, 4));
  EXPECT_THAT(frees(last_stays.records), ::testing::ElementsAre(2, 3, 6, 7, 4, 5, 1));
  EXPECT_EQ(last_stays.passes.count, 2u);
  // The following work uses memory that the only pass kept.
  const Program none_stays = repeated_without(training(), 5, 3);
  EXPECT_THAT(begun(none_stays.records), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(touched(none_stays.records, "forward", 1), ::testing::ElementsAre(2, 6));
  EXPECT_THAT(touched(none_stays.records, "save", 1), ::testing::ElementsAre(7));
  EXPECT_THAT(frees(none_stays.records), ::testing::ElementsAre(2, 3, 6, 7, 1));
  EXPECT_EQ(none_stays.passes.count, 1u);
}

TEST(RepeatIterations, EachPassFreesWhatTheOneBeforeKept) {
  const Program five = repeated(training(), 5);
  // The recorded ids are 1 to 5. Three repetitions take 6 to 11, and the recorded second iteration is last.
  EXPECT_THAT(begun(five.records), ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(touched(five.records, "forward", 0), ::testing::Each(1));
  EXPECT_THAT(touched(five.records, "forward", 1), ::testing::ElementsAre(2, 6, 8, 10, 4));
  EXPECT_THAT(touched(five.records, "backward", 1), ::testing::ElementsAre(3, 7, 9, 11, 5));
  EXPECT_THAT(frees(five.records), ::testing::ElementsAre(2, 3, 6, 7, 8, 9, 10, 11, 4, 5, 1));
  EXPECT_EQ(touched(five.records, "load", 0).size(), 4u);
  EXPECT_THAT(touched(five.records, "save", 1), ::testing::ElementsAre(5));
  EXPECT_EQ(five.passes.first, 1u);
  EXPECT_EQ(five.passes.count, 4u);
}

TEST(RepeatIterations, FewerThanRecorded) {
  const Records one = {object(1),     begin(0),     object(2), kernel("forward", {1, 2}), ObjectFree{2},
                       end(0),        begin(1),     object(3), kernel("forward", {1, 3}), end(1),
                       ObjectFree{3}, ObjectFree{1}};
  const Program first = repeated(one, 1);
  EXPECT_EQ(touched(first.records, "forward", 0).size(), 1u);
  EXPECT_THAT(frees(first.records), ::testing::ElementsAre(2, 1));  // object 3 is left out
  EXPECT_EQ(first.passes.first, 0u);
  EXPECT_THAT(error_of(training(), 1), HasSubstr("uses object 5"));  // it is saved at the end
}

TEST(RepeatIterations, TheOneBeforeTheEndOfTheProgram) {
  // The last iteration frees the parameters as well, so that the one before it is repeated.
  Records records = training();
  records.resize(records.size() - 3);
  const Records last = {begin(2),      ObjectFree{5},
                        object(6),     kernel("forward", {1, 6}),
                        object(7),     kernel("backward", {6, 7}),
                        ObjectFree{6}, ObjectFree{7},
                        ObjectFree{1}, end(2)};
  records.insert(records.end(), last.begin(), last.end());
  const Program five = repeated(records, 5);
  EXPECT_THAT(begun(five.records), ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(touched(five.records, "backward", 1), ::testing::ElementsAre(3, 9, 11, 5, 7));
  EXPECT_THAT(frees(five.records), ::testing::ElementsAre(2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 1));
  EXPECT_EQ(five.passes.first, 1u);
  EXPECT_EQ(five.passes.count, 3u);  // not the last one
}

Record sync(std::int64_t host_gap_ns) {
  Sync record;
  record.host_gap_ns = host_gap_ns;
  return record;
}
// Returns the host's time before every synchronisation.
std::vector<std::int64_t> gaps(const Records& records) {
  std::vector<std::int64_t> times;
  for (const Record& record : records) {
    if (const auto* s = std::get_if<Sync>(&record)) times.push_back(s->host_gap_ns);
  }
  return times;
}

TEST(RepeatIterations, TheEndOfTheProgramIsLeftToTheLastPass) {
  // Of two iterations the first warms up and the second ends the program, which takes the host 20 ms.
  Records records = training();
  records.resize(records.size() - 4);
  const Records rest = {sync(70), ObjectFree{5}, ObjectFree{1}, sync(20'000'000), end(1)};
  records.insert(records.end(), rest.begin(), rest.end());
  const Program four = repeated(records, 4);
  EXPECT_THAT(frees(four.records), ::testing::ElementsAre(2, 3, 6, 7, 8, 9, 4, 5, 1));
  EXPECT_THAT(gaps(four.records), ::testing::ElementsAre(70, 0, 70, 0, 70, 20'000'000));
  EXPECT_EQ(four.passes.first, 1u);
  EXPECT_EQ(four.passes.count, 2u);
}

TEST(RepeatIterations, TheLastButOneBeforeTheLast) {
  // All iterations leave memory as they found it, but a program also ends in the last one.
  Records records{object(1)};
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    const Records within = {begin(index), kernel("k", {1}), sync(index == 2 ? 9'000'000 : 70), end(index)};
    records.insert(records.end(), within.begin(), within.end());
  }
  records.push_back(ObjectFree{1});
  const Program six = repeated(records, 6);
  EXPECT_THAT(gaps(six.records), ::testing::ElementsAre(70, 70, 70, 70, 70, 9'000'000));
  EXPECT_EQ(six.passes.first, 1u);
  EXPECT_EQ(six.passes.count, 4u);
}

TEST(RepeatIterations, WhetherOneCanBeIsKnownBeforehand) {
  const auto found_of = [](const Records& records) { return find_repeatable(source_of(records)); };
  const Repeatable two = found_of(training());
  EXPECT_EQ(two.marked, 2u);
  EXPECT_EQ(two.repeated, 1u);
  EXPECT_EQ(two.obstacle, "");
  const Repeatable none = found_of({object(1), kernel("k", {1}), ObjectFree{1}});
  EXPECT_EQ(none.marked, 0u);
  EXPECT_THAT(none.obstacle, HasSubstr("marks no iterations"));
  const Repeatable unbalanced = found_of({object(1), begin(0), object(2), end(0)});
  EXPECT_THAT(unbalanced.obstacle, HasSubstr("never frees it"));
}

TEST(RepeatIterations, ASegmentIsOpenedOnce) {
  const Records records = {object(1), tensor(2, 512, 1),  begin(0),         kernel("k", {2}), end(0), begin(1),
                           object(3), tensor(4, 1024, 3), kernel("k", {4}), TensorFree{4},    end(1)};
  const Program four = repeated(records, 4);
  std::size_t opened = 0;
  for (const Record& record : four.records) {
    const auto* o = std::get_if<ObjectAlloc>(&record);
    opened += o != nullptr && o->id == 3;
    const auto* t = std::get_if<TensorAlloc>(&record);
    if (t != nullptr && t->bytes == 1024) {
      EXPECT_EQ(t->object, 3u);
    }
  }
  EXPECT_EQ(opened, 1u);
  EXPECT_THAT(touched(four.records, "k", 0), ::testing::ElementsAre(2, 5, 6, 4));
}

TEST(RepeatIterations, ACacheThatGrows) {
  const Records records = {tensor(1, 1000), begin(0), tensor(2, 1100), kernel("append", {1, 2}), TensorFree{1},
                           end(0),          begin(1), tensor(3, 1200), kernel("append", {2, 3}), TensorFree{2},
                           end(1)};
  const Program four = repeated(records, 4);
  EXPECT_THAT(touched(four.records, "append", 0), ::testing::ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(touched(four.records, "append", 1), ::testing::ElementsAre(2, 4, 5, 3));
}

TEST(RepeatIterations, WhatCannotBeRepeated) {
  const auto one = [](Records within) {
    Records records = {object(1), begin(0), end(0), begin(1)};
    records.insert(records.end(), within.begin(), within.end());
    records.push_back(end(1));
    return records;
  };
  EXPECT_THAT(error_of(one({object(2, 4096), kernel("k", {2})}), 3),
              HasSubstr("iteration 1 cannot be repeated: it allocates object 2 (4096 bytes) and never frees it"));
  EXPECT_THAT(error_of(one({ObjectFree{1}, kernel("k", {})}), 3), HasSubstr("it frees object 1 (2097152 bytes)"));
  // A replacement must have the same size, and a tensor cannot replace an object.
  EXPECT_THAT(error_of(one({ObjectFree{1}, object(2, 4096), kernel("k", {2})}), 3), HasSubstr("it frees object 1"));
  EXPECT_THAT(error_of(one({ObjectFree{1}, tensor(2, 2 << 20), kernel("k", {2})}), 3), HasSubstr("it frees object 1"));
  // All iterations run as recorded.
  EXPECT_EQ(error_of(one({object(2, 4096), kernel("k", {2})}), 2), "no error");
}

TEST(RepeatIterations, MarksThatAreNone) {
  EXPECT_THAT(error_of({object(1), kernel("k", {1})}, 2), HasSubstr("marks no iterations"));
  EXPECT_THAT(error_of({begin(0), kernel("k", {})}, 2), HasSubstr("ends within iteration 0"));
  EXPECT_THAT(error_of({begin(0), begin(1)}, 2), HasSubstr("begins within another"));
}

TEST(RepeatIterations, BeyondWhatNumbersHold) {
  Kernel slow;
  slow.duration_ns = std::int64_t{1} << 61;
  EXPECT_THAT(error_of({begin(0), slow, end(0)}, 5), HasSubstr("too long"));
  constexpr ObjectId kLast = ~ObjectId{0};
  EXPECT_THAT(error_of({begin(0), object(kLast), ObjectFree{kLast}, end(0)}, 5), HasSubstr("more ids"));
}

// The plan's pairs must agree with the recordings: if an iteration frees memory of the one before, the next iteration
// frees, at the same place, what the plan puts in its place.
class Recorded : public ::testing::TestWithParam<const char*> {
 protected:
  static Records read(const std::string& name) {
    TraceReader reader(std::string(UVMSIM_SOURCE_DIR) + "/workloads/" + name + ".uvmt");
    Records records;
    for (Record record; reader.next(record);) records.push_back(record);
    return records;
  }
  static std::uint64_t kernels_of(const Records& records) {
    std::uint64_t kernels = 0;
    for (const Record& record : records) kernels += std::holds_alternative<Kernel>(record);
    return kernels;
  }
};

TEST_P(Recorded, SevenMoreIterations) {
  const Records records = read(GetParam());
  const std::size_t recorded = begun(records).size();
  const Program more = repeated(records, recorded + 7);  // and the program is valid
  EXPECT_EQ(begun(more.records).size(), recorded + 7);
  const Program one_more = repeated(records, recorded + 1);
  const std::uint64_t per_iteration = kernels_of(one_more.records) - kernels_of(records);
  EXPECT_GT(per_iteration, 0u);
  EXPECT_EQ(kernels_of(more.records), kernels_of(records) + 7 * per_iteration);
}

TEST_P(Recorded, PairsAreThoseOfTheRecording) {
  const Records records = read(GetParam());
  std::vector<IterationRecords> iterations;
  std::unordered_map<ObjectId, Allocation> live;
  std::uint64_t order = 0;
  for (const Record& record : records) {
    if (iterations.empty() || std::holds_alternative<Range>(record)) {
      const auto* range = std::get_if<Range>(&record);
      if (range != nullptr && range->kind == RangeKind::kIterationBegin) iterations.emplace_back();
    }
    if (!iterations.empty()) iterations.back().records.push_back(record);
    if (const auto* o = std::get_if<ObjectAlloc>(&record)) live[o->id] = {o->id, o->bytes, false, order++};
    if (const auto* t = std::get_if<TensorAlloc>(&record)) live[t->id] = {t->id, t->bytes, true, order++};
    ObjectId freed = kNoObject;
    if (const auto* o = std::get_if<ObjectFree>(&record)) freed = o->id;
    if (const auto* t = std::get_if<TensorFree>(&record)) freed = t->id;
    if (freed != kNoObject && !iterations.empty()) iterations.back().freed_from_before.push_back(live.at(freed));
  }
  if (iterations.size() < 3) GTEST_SKIP() << "needs an iteration behind the repeated one";
  IterationRecords& repeated_one = iterations[iterations.size() - 2];
  std::unordered_set<ObjectId> own;
  for (const Record& record : repeated_one.records) {
    if (const auto* o = std::get_if<ObjectAlloc>(&record)) own.insert(o->id);
    if (const auto* t = std::get_if<TensorAlloc>(&record)) own.insert(t->id);
  }
  std::erase_if(repeated_one.freed_from_before, [&](const Allocation& a) { return own.contains(a.id); });
  const IterationPlan plan = plan_repetition(repeated_one, false);
  ASSERT_EQ(plan.obstacle, "");
  const std::map<ObjectId, ObjectId> kept(plan.kept.begin(), plan.kept.end());

  const auto without_segments = [](const Records& from) {
    Records out;
    for (const Record& record : from) {
      if (!std::holds_alternative<ObjectAlloc>(record)) out.push_back(record);
    }
    return out;
  };
  const Records a = without_segments(repeated_one.records), b = without_segments(iterations.back().records);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ASSERT_EQ(a[i].index(), b[i].index()) << i;
    const auto* free_a = std::get_if<TensorFree>(&a[i]);
    if (free_a == nullptr || !kept.contains(free_a->id)) continue;
    EXPECT_EQ(std::get<TensorFree>(b[i]).id, kept.at(free_a->id));
    if (++seen == kept.size()) break;
  }
  EXPECT_EQ(seen, kept.size());
}

INSTANTIATE_TEST_SUITE_P(Workloads, Recorded,
                         ::testing::Values("alexnet", "resnet50", "gpt2", "bert", "whisper", "dlrm", "llm_train"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Recorded, OlderRecordingsSayWhatIsInTheWay) {
  for (const char* name : {"gpt2_h200", "resnet50_h200"}) {
    EXPECT_THAT(error_of(read(name), 3), HasSubstr("iteration 1 cannot be repeated: it frees object")) << name;
  }
}

}  // namespace
}  // namespace uvmsim::trace::repeat_iterations_test
