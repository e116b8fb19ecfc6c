// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "sim/common/error.h"

namespace uvmsim::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kOrdered =
    R"({"name":"two","mode":"ordered","bytes":8192,"va_offset_in_2m":4096,"advise":"preferred_host+accessed_by_gpu",)"
    R"("host_populated":[[0,4096],[4096,4096]],"gpu_resident":[],"touches":[[1,"w"],[0,"r"]],)"
    R"("events":[["kernel",100,900,-1,0,0],["htod",220,230,0,4096,2],["gpu_fault",110,300,0,1,1]]})";
const char* const kLibrary =
    R"({"name":"add","inputs_on":"host","note":"","tensors":[)"
    R"({"name":"a","role":"input","shape":[4,256],"dtype":"float32","bytes":4096,"va_offset_in_2m":0},)"
    R"({"name":"out","role":"output","shape":[4,256],"dtype":"float32","bytes":4096,"va_offset_in_2m":4096}],)"
    R"("events":[{"kernel":"add_kernel","start_ns":0,"end_ns":500,"grid":[8,1,1],"block":[128,1,1],"registers":32,)"
    R"("shared_bytes":0},["gpu_fault",3,400,0,0,2,1],["htod",10,20,1,0,4096,2]]})";
const char* const kCampaign =
    R"({"name":"scan","program":"slice_scans","array_bytes":16777216,"steps":3,"rounds":2,"growing":true,)"
    R"("prefetch_threshold":0,"published":[{"time_ns":5,"copies":7,"lost_records":true},{}],)"
    R"("published_total":{"cpu_faults":48},"steady":{"from":1,"cold_run":"scan"},"limits":{"bytes_blocks":1}})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    parse_experiments(text, "mine.jsonl");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Experiment, OutputsMayBeOnTheHost) {
  const std::string text = with(kLibrary, R"("note")", R"("outputs_on":"host","note")");
  EXPECT_FALSE(parse_experiments(kLibrary, "mine.jsonl").experiments.at(0).outputs_on_host);
  const Experiment experiment = parse_experiments(text, "mine.jsonl").experiments.at(0);
  EXPECT_TRUE(experiment.outputs_on_host);
  EXPECT_EQ(experiment.name, "add/host/outputs_host");
}

TEST(Experiment, ReadsKnownAccesses) {
  const ExperimentFile file = parse_experiments(kOrdered, "mine.jsonl");
  ASSERT_EQ(file.experiments.size(), 1u);
  const Experiment& experiment = file.experiments[0];
  EXPECT_EQ(experiment.name, "two");
  EXPECT_EQ(experiment.experiment_class(), ExperimentClass::kOrdered);
  EXPECT_EQ(experiment.allocations[0].offset_in_block, 4096u);
  EXPECT_EQ(experiment.advice, (std::vector<std::string>{"preferred_host", "accessed_by_gpu"}));
  EXPECT_EQ(experiment.host_populated.size(), 2u);
  ASSERT_EQ(experiment.touches.size(), 2u);
  EXPECT_EQ(experiment.touches[0].mode, trace::AccessMode::kWrite);
  ASSERT_EQ(experiment.kernels.size(), 1u);
  EXPECT_EQ(experiment.kernels[0].end_ns, 900);
  ASSERT_EQ(experiment.events.size(), 2u);
  EXPECT_EQ(experiment.events[0].kind, EventKind::kFaultBatch) << "events are sorted by start";
  EXPECT_TRUE(file.warnings.empty());
}

TEST(Experiment, ReadsTimesThatNobodyWatched) {
  const std::string times =
      R"("unobserved":{"kernel_ns":[700,500],"host_ns":[9],"host":{"cpu":"EPYC","step_ps":900}},"events")";
  const Experiment experiment = parse_experiments(with(kOrdered, R"("events")", times), "mine.jsonl").experiments.at(0);
  ASSERT_TRUE(experiment.unobserved);
  EXPECT_THAT(experiment.unobserved->kernel_ns, ::testing::ElementsAre(700, 500));
  EXPECT_THAT(experiment.unobserved->host_ns, ::testing::ElementsAre(9));
  EXPECT_EQ(experiment.unobserved->host->cpu, "EPYC");
  EXPECT_EQ(experiment.unobserved->host->step_ps, 900u);
  EXPECT_TRUE(experiment.has_contents);
  EXPECT_FALSE(parse_experiments(kOrdered, "mine.jsonl").experiments.at(0).unobserved);
}

TEST(Experiment, ReadsWhatItsBatchesHeld) {
  const std::string raw =
      R"("raw":{"raw_faults":9,"raw_faults_per_batch":5,"pages_per_batch":4,"sms_per_batch":2},"events")";
  const Experiment experiment = parse_experiments(with(kOrdered, R"("events")", raw), "mine.jsonl").experiments.at(0);
  ASSERT_TRUE(experiment.raw);
  EXPECT_EQ(experiment.raw->raw_faults, 9u);
  EXPECT_EQ(experiment.raw->raw_faults_per_batch, 5u);
  EXPECT_EQ(experiment.raw->pages_per_batch, 4u);
  EXPECT_EQ(experiment.raw->sms_per_batch, 2u);
  EXPECT_FALSE(experiment.raw->raising_ns_per_batch);
  EXPECT_TRUE(experiment.raw->page_order.empty());
  EXPECT_FALSE(parse_experiments(kOrdered, "mine.jsonl").experiments.at(0).raw);
}

TEST(Experiment, ReadsTheOrderOfItsRawFaults) {
  const std::string raw = R"("raw":{"raw_faults":9,"raw_faults_per_batch":5,"pages_per_batch":4,"sms_per_batch":2,)"
                          R"("raising_ns_per_batch":640,"page_order":[[7,0],[],[3]]},"events")";
  const ExperimentFile file = parse_experiments(with(kOrdered, R"("events")", raw), "mine.jsonl");
  EXPECT_TRUE(file.warnings.empty());
  EXPECT_EQ(file.experiments.at(0).raw->raising_ns_per_batch, 640u);
  EXPECT_EQ(file.experiments.at(0).raw->page_order, (PagesByBatch{{7, 0}, {}, {3}}));
}

TEST(Experiment, WithoutEventsItsTimesAreAllThatIsKnown) {
  const std::string text = std::string(kOrdered).substr(0, std::string(kOrdered).find(R"(,"events")"));
  const Experiment experiment =
      parse_experiments(text + R"(,"unobserved":{"kernel_ns":[700,500,900]}})", "mine.jsonl").experiments.at(0);
  EXPECT_FALSE(experiment.has_contents);
  EXPECT_EQ(experiment.kernels.at(0).end_ns, 700);
  EXPECT_THAT(error_of(text + "}"), HasSubstr("'events' is missing, and so is 'unobserved'"));
  EXPECT_THAT(error_of(with(text, R"("ordered")", R"("cpu")") + R"(,"unobserved":{"kernel_ns":[700]}})"),
              HasSubstr("nobody knows what a 'cpu' experiment did"));
}

TEST(Experiment, RefusesTimesThatAreNone) {
  const auto unobserved = [](const std::string& value) {
    return error_of(with(kOrdered, R"("events")", R"("unobserved":)" + value + R"(,"events")"));
  };
  EXPECT_THAT(unobserved("{}"), HasSubstr("has no times; allowed: kernel_ns, host_ns, call_ns"));
  EXPECT_THAT(unobserved(R"({"kernel_ns":[]})"), HasSubstr("has 0 runs; allowed: 1 to 100000"));
  EXPECT_THAT(unobserved(R"({"kernel_ns":[-1]})"), HasSubstr("kernel_ns"));
  EXPECT_THAT(unobserved(R"({"kernel_ns":[1],"call_ns":[1]})"), HasSubstr("which includes"));
  EXPECT_THAT(unobserved(R"({"kernel_ns":[1],"host":{"step_ps":-5}})"), HasSubstr("step_ps"));
}

TEST(Experiment, ReadsLibraryCalls) {
  const ExperimentFile file = parse_experiments(kLibrary, "mine.jsonl");
  const Experiment& experiment = file.experiments.at(0);
  EXPECT_EQ(experiment.name, "add/host") << "the same call exists with its inputs on either side";
  EXPECT_EQ(experiment.experiment_class(), ExperimentClass::kLibrary);
  EXPECT_TRUE(experiment.inputs_on_host);
  ASSERT_EQ(experiment.allocations.size(), 2u);
  EXPECT_TRUE(experiment.allocations[1].output);
  EXPECT_EQ(experiment.kernels.at(0).grid.x, 8u);
  ASSERT_EQ(experiment.events.size(), 2u);
  EXPECT_EQ(experiment.events[0].allocation, 0u);
}

TEST(Experiment, AddressesOfNoTensorAreAnUnlistedOutput) {
  const std::string text = with(kLibrary, R"(["htod",10,20,1,0)",
                                R"(["gpu_fault",8,9,-1,139650123431936,1,2],["gpu_fault",9,10,-1,139650129000000,1,2],)"
                                R"(["htod",10,20,-1,900000000000)");
  const Experiment experiment = parse_experiments(text, "").experiments.at(0);
  ASSERT_EQ(experiment.allocations.size(), 4u);
  EXPECT_TRUE(experiment.allocations[2].output);
  EXPECT_EQ(experiment.allocations[2].bytes, 2u << 20) << "far away from the others";
  EXPECT_EQ(experiment.allocations[3].bytes, 6u << 20);
  EXPECT_EQ(experiment.events.at(2).allocation, 3u);
  EXPECT_EQ(experiment.events.at(2).offset, 139650129000000 - 139650123431936);
}

TEST(Experiment, ReadsCampaigns) {
  const ExperimentFile file = parse_experiments(kCampaign, "mine.jsonl");
  EXPECT_TRUE(file.warnings.empty());
  const Experiment& experiment = file.experiments.at(0);
  EXPECT_EQ(experiment.experiment_class(), ExperimentClass::kCampaign);
  ASSERT_TRUE(experiment.campaign);
  const Campaign& campaign = *experiment.campaign;
  EXPECT_EQ(campaign.program, CampaignProgramKind::kSliceScans);
  EXPECT_TRUE(campaign.growing);
  EXPECT_EQ(campaign.rounds, 2u);
  EXPECT_EQ(campaign.prefetch_threshold, 0u);
  ASSERT_EQ(campaign.published.size(), 2u);
  EXPECT_EQ(campaign.published[0].figures[figure::kCopies], 7u);
  EXPECT_TRUE(campaign.published[0].lost_records);
  EXPECT_FALSE(campaign.published[1].figures[figure::kTime]);
  EXPECT_EQ(campaign.published_total[figure::kCpuFaults], 48u);
  ASSERT_TRUE(campaign.steady);
  EXPECT_EQ(campaign.steady->from, 1u);
  EXPECT_EQ(campaign.limits.bytes_blocks, 1u);
  EXPECT_FALSE(campaign.limits.time_permille) << "what has no limit is not judged";
}

TEST(Experiment, FormatsMayMixAndBlankLinesDoNotCount) {
  const ExperimentFile file = parse_experiments(std::string(kOrdered) + "\n\n" + kLibrary + "\n", "mine.jsonl");
  ASSERT_EQ(file.experiments.size(), 2u);
  EXPECT_EQ(file.experiments[1].line, 3u);
}

TEST(Experiment, ReadsModesAndGrids) {
  const auto mode_of = [](const std::string& name, const std::string& mode) {
    const std::string text = with(with(kOrdered, R"("two")", '"' + name + '"'), R"("ordered")", '"' + mode + '"');
    return parse_experiments(text, "").experiments.at(0);
  };
  EXPECT_EQ(mode_of("x", "parallel256").threads_per_block, 256u);
  EXPECT_EQ(mode_of("stream_rd_8m_g132", "stream_rd").grid_blocks, 132u);
  EXPECT_EQ(mode_of("wr_g8_again", "stream_wr").grid_blocks, 8u);
  EXPECT_EQ(mode_of("gpu_write_cpu_read_16m", "cpu").grid_blocks, 0u) << "_gpu is no grid";
  EXPECT_EQ(mode_of("x", "prefetch").experiment_class(), ExperimentClass::kPrefetch);
}

TEST(Experiment, UnknownKeysAndEventsAreSkippedWithAWarning) {
  const std::string text =
      with(with(kOrdered, R"("advise")", R"("colour":"red","advise")"), R"(["htod")", R"(["nap",1,2,3,4,5],["htod")");
  const ExperimentFile file = parse_experiments(text + "\n" + text, "mine.jsonl");
  EXPECT_EQ(file.experiments.at(0).events.size(), 2u);
  EXPECT_THAT(file.warnings,
              ::testing::ElementsAre("mine.jsonl: events of kind 'nap' are not part of the format and were ignored",
                                     "mine.jsonl: key 'colour' is not part of the format and was ignored"));
}

struct BadInput {
  const char* name;
  std::string text;
  const char* expected;
};
void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

class HostileExperiment : public ::testing::TestWithParam<BadInput> {};

TEST_P(HostileExperiment, IsOneLineWithFileAndLine) {
  const std::string error = error_of(std::string(kLibrary) + "\n" + GetParam().text + "\n");
  EXPECT_THAT(error, AllOf(HasSubstr("mine.jsonl: line 2: "), HasSubstr(GetParam().expected), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, HostileExperiment,
    ::testing::Values(
        BadInput{"garbage", "uvm", "not valid JSON"}, BadInput{"cut_off", std::string(kOrdered).substr(0, 120), "JSON"},
        BadInput{"list", "[1,2]", "must be an object"},
        BadInput{"no_name", R"({"mode":"ordered"})", "'name' is missing"},
        BadInput{"empty_name", with(kOrdered, R"("two")", R"("")"), "allowed: 1 to 200"},
        BadInput{"mode", with(kOrdered, R"("ordered")", R"("orderd")"), "allowed: ordered"},
        BadInput{"threads", with(kOrdered, R"("ordered")", R"("parallel4096")"), "1 to 1024"},
        BadInput{"no_bytes", with(kOrdered, R"("bytes":8192)", R"("bytes":0)"), "'bytes' is 0"},
        BadInput{"huge", with(kOrdered, R"("bytes":8192)", R"("bytes":1e30)"), "must be an integer"},
        BadInput{"large", with(kOrdered, R"("bytes":8192)", R"("bytes":9223372036854775807)"), "allowed: 0 to"},
        BadInput{"negative", with(kOrdered, R"("bytes":8192)", R"("bytes":-8192)"), "is -8192"},
        BadInput{"offset", with(kOrdered, R"(2m":4096)", R"(2m":2097152)"), "allowed: 0 to 2097151"},
        BadInput{"advice", with(kOrdered, "preferred_host", "preferred_moon"), "preferred_moon"},
        BadInput{"range_beyond", with(kOrdered, "[4096,4096]", "[4096,8192]"), "ends beyond"},
        BadInput{"range_back", with(kOrdered, "[4096,4096]", "[0,4096]"), "not ascending"},
        BadInput{"touch_beyond", with(kOrdered, R"([1,"w"])", R"([2,"w"])"), "allowed: 0 to 1"},
        BadInput{"touch_mode", with(kOrdered, R"([1,"w"])", R"([1,"x"])"), "allowed: r, w"},
        BadInput{"no_touches", with(kOrdered, R"([[1,"w"],[0,"r"]])", "[]"), "'touches' is empty"},
        BadInput{"no_kernel", with(kOrdered, R"("kernel",100,900)", R"("htod",100,900)"), "has no kernel"},
        BadInput{"kernel_backwards", with(kOrdered, "100,900", "900,100"), "allowed: 0 to 3600000000000 ns"},
        BadInput{"event_length", with(kOrdered, R"(["htod",220,)", R"(["htod",)"), "list of 6 items"},
        BadInput{"event_bytes", with(kOrdered, "0,4096,2]", "0,18446744073709551615,2]"), "moves"},
        BadInput{"no_loop_threads", with(kOrdered, R"("touches")", R"("loop_threads":0,"touches")"), "loop_threads"},
        BadInput{"wide_access", with(kOrdered, R"("touches")", R"("access_bytes":17,"touches")"), "access_bytes"},
        BadInput{"raw_list", with(kOrdered, R"("events")", R"("raw":[1],"events")"), "must be an object"},
        BadInput{"raw_part", with(kOrdered, R"("events")", R"("raw":{"raw_faults":9},"events")"),
                 "raw_faults_per_batch"},
        BadInput{"raw_order",
                 with(kOrdered, R"("events")",
                      R"("raw":{"raw_faults":9,"raw_faults_per_batch":5,"pages_per_batch":4,"sms_per_batch":2,)"
                      R"("page_order":[[7],[8,7]]},"events")"),
                 "'page_order' has page 7 twice"},
        BadInput{"raw_negative", with(kOrdered, R"("events")", R"("raw":{"raw_faults":-9},"events")"), "is -9"},
        BadInput{"no_grid", with(kOrdered, R"("ordered")", R"("stream_rd")"), "_g<blocks>"},
        BadInput{"no_thirds", with(with(kOrdered, R"("ordered")", R"("vadd")"), "two", "vadd_g8"), "three equal parts"},
        BadInput{"key_twice", with(kOrdered, R"("bytes":8192)", R"("bytes":8192,"bytes":4096)"), "given twice"},
        BadInput{"inputs", with(kLibrary, R"("host")", R"("moon")"), "allowed: host, gpu"},
        BadInput{"outputs", with(kLibrary, R"("note")", R"("outputs_on":"gpu","note")"), "allowed: host, nowhere"},
        BadInput{"role", with(kLibrary, R"("input")", R"("both")"), "allowed: input, output"},
        BadInput{"tensor_index", with(kLibrary, "3,400,0,", "3,400,2,"), "allowed: -1 to 1"},
        BadInput{"grid", with(kLibrary, "[8,1,1]", "[8,0,1]"), "1 or more"},
        BadInput{"grid_overflow", with(kLibrary, "[8,1,1]", "[65536,65536,65536]"), "at most"},
        BadInput{"block", with(kLibrary, "[128,1,1]", "[128,128,1]"), "1 to 1024"},
        BadInput{"program", with(kCampaign, "slice_scans", "slices"), "allowed: sparse_blocks, slice_scans"},
        BadInput{"no_array", with(kCampaign, R"("array_bytes":16777216,)", ""), "'array_bytes' is missing"},
        BadInput{"tiny_array", with(kCampaign, "16777216", "4096"), "for each of 3 steps"},
        BadInput{"no_steps", with(kCampaign, R"("steps":3)", R"("steps":0)"), "'steps' is 0"},
        BadInput{"many_steps", with(kCampaign, R"("rounds":2)", R"("rounds":1000)"), "3000 steps in all"},
        BadInput{"too_many_published", with(kCampaign, "{}]", "{},{},{},{},{},{}]"), "'published' has 7 steps"},
        BadInput{"threshold", with(kCampaign, R"(old":0)", R"(old":101)"), "allowed: 0 to 100"},
        BadInput{"steady_from", with(kCampaign, R"("from":1)", R"("from":6)"), "allowed: 0 to 5"},
        BadInput{"cold_run", with(kCampaign, R"("cold_run":"scan")", R"("cold_run":"x")"), "no campaign of this file"},
        BadInput{"limit", with(kCampaign, "bytes_blocks", "bites_blocks"), "bites_blocks"},
        BadInput{"no_pages", with(kCampaign, "slice_scans", "sparse_blocks"), "'pages_per_block' is missing"},
        BadInput{"no_arrays", with(kCampaign, "slice_scans", "accumulate"), "'arrays' is missing"},
        BadInput{"walk_order",
                 with(with(kCampaign, "slice_scans", "page_walk"), R"("rounds")", R"("order":"up","rounds")"),
                 "allowed: sequential, random"}),
    [](const auto& info) { return info.param.name; });

TEST(Experiment, AnEmptyFileIsAnError) { EXPECT_THAT(error_of("\n \n"), HasSubstr("mine.jsonl: no experiments")); }

TEST(Experiment, AMissingFileIsAnError) {
  try {
    read_experiments("/nonexistent/experiments.jsonl");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/experiments.jsonl"));
  }
}

TEST(Experiment, ReadsCompressedFiles) {
  const std::string folder = std::string(UVMSIM_SOURCE_DIR) + "/tests/ground_truth/data/";
  EXPECT_EQ(read_experiments(folder + "uvm_h200_dev.jsonl.zst").experiments.size(), 77u);
  const ExperimentFile library = read_experiments(folder + "library_kernels_h200_dev.jsonl.zst");
  EXPECT_EQ(library.experiments.size(), 20u);
  EXPECT_TRUE(library.warnings.empty());
}

}  // namespace
}  // namespace uvmsim::validate
