// SPDX-License-Identifier: Apache-2.0
// Checks the timing pass's output for each kind of call and record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "expect_log.h"
#include "play.h"

namespace {

using nlohmann::json;
using testing::SizeIs;

TEST(Timing, HeaderNamesProgramAndGpu) {
  const Played played = play(kContext);
  expect_whole(played);
  EXPECT_FIELDS(played.events.front(),
                R"({"version":1,"pass":"timing","gpu":"Fake \"GPU\"","sm_count":132,"compute_capability":[9,0],
                    "cuda":"13.0"})");
  EXPECT_THAT(played.events.front().at("program"), SizeIs(3));
  EXPECT_EQ(played.events.back().at("events"), played.events.size() - 1);
}

TEST(Timing, HeaderComesFirstEvenWithoutContext) {
  expect_whole(play(R"({"do":"push","name":"early"}
{"do":"pop"})"));
}

TEST(Timing, AllocationsOfEveryKind) {
  const Played played = play(kContext + R"(
{"call":"cuMemAlloc_v2","va":4096,"bytes":100}
{"call":"cuMemAllocPitch_v2","va":8192,"pitch":512,"width":400,"height":3}
{"call":"cuMemAllocManaged","va":16384,"bytes":200}
{"call":"cuMemHostAlloc","va":32768,"bytes":300}
{"call":"cuMemAllocHost_v2","va":40960,"bytes":301}
{"call":"cuMemHostRegister_v2","va":65536,"bytes":400}
{"call":"cuMemAllocAsync","va":131072,"bytes":500,"stream":777}
{"call":"cuMemAllocFromPoolAsync_ptsz","va":139264,"bytes":501}
{"call":"cuMemMap","va":2097152,"bytes":2097152}
{"call":"cuMemMap","va":4194304,"bytes":2097152}
{"call":"cuMemAlloc_v2","va":1,"bytes":1,"result":2}
{"call":"cuMemFree_v2","va":4096}
{"call":"cuMemFree_v2","va":0}
{"call":"cuMemFree_v2","va":16384,"result":700}
{"call":"cuMemFree_v2","va":16384}
{"call":"cuMemFreeHost","va":32768}
{"call":"cuMemHostUnregister","va":65536}
{"call":"cuMemFreeAsync","va":131072,"stream":777}
{"call":"cuMemUnmap","va":2097152,"bytes":4194304}
)");
  expect_whole(played);
  const auto allocs = played.of("alloc");
  ASSERT_THAT(allocs, SizeIs(10));
  EXPECT_FIELDS(allocs[0], R"({"va":4096,"bytes":100,"kind":"device"})");
  EXPECT_FIELDS(allocs[1], R"({"va":8192,"bytes":1536,"kind":"device"})");
  EXPECT_FIELDS(allocs[2], R"({"va":16384,"bytes":200,"kind":"managed"})");
  EXPECT_FIELDS(allocs[3], R"({"va":32768,"bytes":300,"kind":"pinned"})");
  EXPECT_FIELDS(allocs[4], R"({"va":40960,"bytes":301,"kind":"pinned"})");
  EXPECT_FIELDS(allocs[5], R"({"va":65536,"bytes":400,"kind":"pinned"})");
  EXPECT_FIELDS(allocs[6], R"({"va":131072,"bytes":500,"kind":"pool","stream":1})");
  EXPECT_FIELDS(allocs[7], R"({"va":139264,"bytes":501,"kind":"pool","stream":0})");
  EXPECT_FIELDS(allocs[9], R"({"va":4194304,"bytes":2097152,"kind":"vmm"})");
  const auto frees = played.of("free");
  ASSERT_THAT(frees, SizeIs(7));
  EXPECT_FIELDS(frees[0], R"({"va":4096,"kind":"device"})");
  EXPECT_FIELDS(frees[1], R"({"va":16384,"kind":"managed"})");
  EXPECT_FIELDS(frees[2], R"({"va":32768,"kind":"pinned"})");
  EXPECT_FIELDS(frees[3], R"({"va":65536,"kind":"pinned"})");
  EXPECT_FIELDS(frees[4], R"({"va":131072,"kind":"pool","stream":1})");
  EXPECT_FIELDS(frees[5], R"({"va":2097152,"kind":"vmm"})");
  EXPECT_FIELDS(frees[6], R"({"va":4194304,"kind":"vmm"})");
}

TEST(Timing, LaunchesWithPointersInTheirParameters) {
  const Played played = play(kContext + R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":65536}
{"call":"cuMemAlloc_v2","va":2097152,"bytes":65536}
{"call":"cuLaunchKernel","corr":5,"name":"_Z1kPf","function":10,"grid":[2,3,4],"block":[32,2,1],"shared":48,"stream":9,"params":[[1048576],[7],[3,2101248,12]]}
{"call":"cuLaunchKernel_ptsz","name":"again","function":10,"params":[[2097152],[1048577],[1048577,1048575,2162688]]}
{"call":"cuLaunchKernel","name":"extra","function":11,"as_extra":true,"params":[[1114111],[2097160]]}
{"call":"cuLaunchKernelEx","name":"ex","function":12,"is_kernel":true,"grid":[5,1,1],"shared":16,"stream":2,"params":[[2097152]]}
{"call":"cuLaunchCooperativeKernel","name":"coop","function":13,"params":[]}
{"call":"cuLaunchKernel","name":"odd","function":14,"offset":4,"params":[[4503599627370496000,268435456]]}
{"call":"cuMemFree_v2","va":1048576}
{"call":"cuLaunchKernel","name":"late","function":10,"params":[[1048576],[1],[1,1,1]]}
{"call":"cuLaunchKernel","name":"refused","function":10,"params":[[1048576],[1],[1,1,1]],"result":1}
{"do":"record","kind":"kernel","corr":5,"start":1000,"end":1500,"registers":40,"static":100,"dynamic":48}
)");
  expect_whole(played);
  const auto launches = played.of("launch");
  ASSERT_THAT(launches, SizeIs(7));
  EXPECT_FIELDS(launches[0], R"({"corr":5,"name":"_Z1kPf","grid":[2,3,4],"block":[32,2,1],"shared_bytes":48,"stream":1,
                                 "params":[1048576,2101248],"node":"missing"})");
  EXPECT_FIELDS(launches[1], R"({"name":"again","stream":0,"params":[2097152,1048577]})");
  EXPECT_FIELDS(launches[2], R"({"params":[1114111,2097160]})");
  EXPECT_FIELDS(launches[3], R"({"name":"ex","grid":[5,1,1],"shared_bytes":16,"stream":0,"params":[2097152]})");
  EXPECT_FIELDS(launches[4], R"({"name":"coop","params":[]})");
  // The parameter begins at offset 4, so its aligned word lies across two words.
  EXPECT_FIELDS(launches[5], R"({"name":"odd","params":[]})");
  EXPECT_FIELDS(launches[6], R"({"name":"late","params":[]})");
  ASSERT_THAT(played.of("kernel"), SizeIs(1));
  EXPECT_FIELDS(played.of("kernel")[0],
                R"({"corr":5,"start_ns":1000,"end_ns":1500,"registers":40,"shared_bytes":148,"node":"missing"})");
}

TEST(Timing, CopiesAndSets) {
  const Played played = play(kContext + R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":1048576}
{"call":"cuMemcpyHtoD_v2","corr":1,"dst":1048576,"src":99,"bytes":10}
{"call":"cuMemcpyDtoHAsync_v2","dst":99,"src":1048576,"bytes":11,"stream":50}
{"call":"cuMemcpyDtoDAsync_v2_ptsz","dst":1048576,"src":1048600,"bytes":12}
{"call":"cuMemcpyAsync","dst":1048576,"src":99,"bytes":13}
{"call":"cuMemcpyPeerAsync","dst":1,"src":2,"bytes":14}
{"call":"cuMemcpyAtoH_v2","dst":99,"bytes":15}
{"call":"cuMemcpy2D_v2","dst":1048576,"dst_pitch":512,"dst_x":16,"dst_y":2,"src":99,"from_host":true,"src_pitch":300,"width":200,"height":8}
{"call":"cuMemcpy3DAsync_v2","dst":1048576,"dst_pitch":512,"dst_height":4,"src":2000,"src_pitch":256,"src_height":4,"width":100,"height":4,"depth":3}
{"call":"cuMemcpy3DPeer_ptds","dst":1048576,"dst_pitch":512,"dst_height":8,"src":2000,"src_pitch":256,"src_height":4,"width":100,"height":4,"depth":2}
{"call":"cuMemcpyBatchAsync_v2","corr":40,"copies":[[1048576,99,5],[99,1048576,6]]}
{"call":"cuMemcpyBatchAsync","corr":41,"copies":[[1048576,99,7]]}
{"call":"cuMemcpy3DBatchAsync_v2","dst":1048576,"src":99,"width":10,"height":2,"depth":2}
{"call":"cuMemsetD8_v2","corr":60,"va":1048576,"count":7}
{"call":"cuMemsetD16Async","va":1048576,"count":7,"stream":50}
{"call":"cuMemsetD32Async_ptsz","va":1048576,"count":7}
{"call":"cuMemsetD2D32_v2","va":1048576,"pitch":512,"width":10,"height":4}
{"do":"record","kind":"memcpy","corr":1,"start":10,"end":20}
{"do":"record","kind":"peer","corr":2,"start":11,"end":21,"device":1}
{"do":"record","kind":"memset","corr":60,"start":12,"end":22,"node":3}
)");
  expect_whole(played);
  const auto copies = played.of("memcpy");
  ASSERT_THAT(copies, SizeIs(14));
  EXPECT_FIELDS(copies[0], R"({"corr":1,"dst":1048576,"src":99,"bytes":10,"kind":"htod","async":false,"stream":0})");
  EXPECT_FIELDS(copies[1], R"({"dst":99,"src":1048576,"bytes":11,"kind":"dtoh","async":true,"stream":1})");
  EXPECT_FIELDS(copies[2], R"({"dst":1048576,"src":1048600,"bytes":12,"kind":"dtod","async":true,"rows":"missing"})");
  EXPECT_FIELDS(copies[3], R"({"bytes":13,"kind":"htod"})");
  EXPECT_FIELDS(copies[4], R"({"dst":1,"src":2,"bytes":14,"kind":"dtod"})");
  EXPECT_FIELDS(copies[5], R"({"dst":99,"src":0,"bytes":15,"kind":"dtoh"})");
  EXPECT_FIELDS(copies[6], R"({"dst":1049616,"src":99,"bytes":1600,"kind":"htod","rows":8,"row_bytes":200,
                               "dst_pitch":512,"src_pitch":300,"async":false})");
  EXPECT_FIELDS(copies[7], R"({"dst":1048576,"src":2000,"bytes":1200,"rows":12,"row_bytes":100,"async":true})");
  EXPECT_FIELDS(copies[8], R"({"dst":1048576,"src":2000,"bytes":400,"rows":4})");  // one for each layer
  EXPECT_FIELDS(copies[9], R"({"dst":1052672,"src":3024,"bytes":400,"rows":4})");
  EXPECT_EQ(copies[8].at("corr"), copies[9].at("corr"));
  EXPECT_FIELDS(copies[10], R"({"corr":40,"dst":1048576,"src":99,"bytes":5,"kind":"htod"})");
  EXPECT_FIELDS(copies[11], R"({"corr":40,"dst":99,"src":1048576,"bytes":6,"kind":"dtoh"})");
  EXPECT_FIELDS(copies[12], R"({"corr":41,"bytes":7})");
  EXPECT_FIELDS(copies[13], R"({"bytes":40,"rows":4,"row_bytes":10,"dst_pitch":10,"kind":"htod"})");
  const auto sets = played.of("memset");
  ASSERT_THAT(sets, SizeIs(4));
  EXPECT_FIELDS(sets[0], R"({"corr":60,"va":1048576,"bytes":7,"stream":0,"async":false})");
  EXPECT_FIELDS(sets[1], R"({"bytes":14,"stream":1,"async":true})");
  EXPECT_FIELDS(sets[2], R"({"bytes":28,"stream":0,"async":true})");
  EXPECT_FIELDS(sets[3], R"({"bytes":160,"rows":4,"row_bytes":40,"pitch":512})");
  ASSERT_THAT(played.of("memcpy_time"), SizeIs(2));
  EXPECT_FIELDS(played.of("memcpy_time")[0], R"({"corr":1,"start_ns":10,"end_ns":20,"device":"missing"})");
  EXPECT_FIELDS(played.of("memcpy_time")[1], R"({"corr":2,"start_ns":11,"end_ns":21,"device":1})");
  EXPECT_FIELDS(played.of("memset_time")[0], R"({"corr":60,"start_ns":12,"end_ns":22,"node":3})");
}

TEST(Timing, HintsSingleAndInBatches) {
  const Played played = play(kContext + R"(
{"call":"cuMemPrefetchAsync","va":4096,"bytes":10,"to":-1,"stream":5}
{"call":"cuMemPrefetchAsync_v2","va":4096,"bytes":11,"to":2}
{"call":"cuMemPrefetchAsync_v2_ptsz","va":4096,"bytes":12,"to":-1}
{"call":"cuMemPrefetchBatchAsync","ranges":[[4096,13,0],[8192,14],[12288,15,-1]]}
{"call":"cuMemAdvise","va":4096,"bytes":16,"advice":3,"to":-1}
{"call":"cuMemAdvise_v2","va":4096,"bytes":17,"advice":5,"to":1}
{"call":"cuMemAdvise_v2","va":4096,"bytes":18,"advice":2}
{"call":"cuMemDiscardBatchAsync","ranges":[[4096,19],[8192,20]]}
{"call":"cuMemDiscardAndPrefetchBatchAsync","ranges":[[4096,21,1]]}
)");
  expect_whole(played);
  const auto prefetches = played.of("prefetch");
  ASSERT_THAT(prefetches, SizeIs(6));
  EXPECT_FIELDS(prefetches[0], R"({"va":4096,"bytes":10,"to":-1,"stream":1})");
  EXPECT_FIELDS(prefetches[1], R"({"va":4096,"bytes":11,"to":2,"stream":0})");
  EXPECT_FIELDS(prefetches[2], R"({"bytes":12,"to":-1})");
  EXPECT_FIELDS(prefetches[3], R"({"va":4096,"bytes":13,"to":0})");
  EXPECT_FIELDS(prefetches[4], R"({"va":8192,"bytes":14,"to":0})");
  EXPECT_FIELDS(prefetches[5], R"({"va":12288,"bytes":15,"to":-1})");
  const auto advice = played.of("advise");
  ASSERT_THAT(advice, SizeIs(3));
  EXPECT_FIELDS(advice[0], R"({"va":4096,"bytes":16,"advice":"set_preferred_location","to":-1})");
  EXPECT_FIELDS(advice[1], R"({"bytes":17,"advice":"set_accessed_by","to":1})");
  EXPECT_FIELDS(advice[2], R"({"bytes":18,"advice":"unset_read_mostly"})");
  const auto discards = played.of("discard");
  ASSERT_THAT(discards, SizeIs(3));
  EXPECT_FIELDS(discards[0], R"({"va":4096,"bytes":19,"prefetch":false,"stream":0})");
  EXPECT_FIELDS(discards[1], R"({"va":8192,"bytes":20,"prefetch":false})");
  EXPECT_FIELDS(discards[2], R"({"va":4096,"bytes":21,"prefetch":true,"to":1})");
}

TEST(Timing, OrderAndWindow) {
  const Played played = play(kContext + R"(
{"call":"cuProfilerStart"}
{"call":"cuEventRecord","event":70,"stream":6}
{"call":"cuEventRecordWithFlags_ptsz","event":71,"stream":0}
{"call":"cuStreamWaitEvent","event":70,"stream":8}
{"call":"cuEventSynchronize","event":70}
{"call":"cuStreamSynchronize","stream":8}
{"call":"cuCtxSynchronize"}
{"call":"cuProfilerStop"}
)");
  expect_whole(played);
  const auto syncs = played.of("sync");
  ASSERT_THAT(syncs, SizeIs(6));
  EXPECT_FIELDS(syncs[0], R"({"kind":"event_record","event":70,"stream":1})");
  EXPECT_FIELDS(syncs[1], R"({"kind":"event_record","event":71,"stream":0})");
  EXPECT_FIELDS(syncs[2], R"({"kind":"event_wait","event":70,"stream":2})");
  EXPECT_FIELDS(syncs[3], R"({"kind":"event_synchronize","event":70})");
  EXPECT_FIELDS(syncs[4], R"({"kind":"stream","stream":2})");
  EXPECT_FIELDS(syncs[5], R"({"kind":"device"})");
  ASSERT_THAT(played.of("window"), SizeIs(2));
  EXPECT_EQ(played.of("window")[0].at("open"), true);
  EXPECT_EQ(played.of("window")[1].at("open"), false);
}

const std::string kGraph = R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":65536}
{"do":"node","graph":500,"node":1,"type":"kernel","function":20,"name":"first","grid":7,"params":[1048576,3]}
{"do":"node","graph":500,"node":2,"type":"memcpy","dst":1048576,"src":1050000,"bytes":64}
{"do":"node","graph":500,"node":3,"type":"graph","child":501}
{"do":"node","graph":501,"node":4,"type":"kernel","function":21,"name":"second","is_kernel":true,"params":[1048580]}
{"do":"node","graph":500,"node":5,"type":"memset","va":1048576,"count":4}
{"do":"node","graph":500,"node":6,"type":"alloc","va":9437184,"bytes":4096}
{"do":"node","graph":500,"node":7,"type":"free","va":9437184}
{"call":"cuGraphInstantiateWithFlags","graph":500,"executable":900}
)";

TEST(Timing, GraphsGiveAnEventForEveryNode) {
  const Played played = play(kContext + kGraph + R"(
{"call":"cuGraphLaunch","corr":30,"executable":900,"stream":6}
{"call":"cuGraphLaunch_ptsz","corr":31,"executable":900}
{"do":"record","kind":"kernel","corr":30,"node":1001,"start":1000,"end":1500}
{"call":"cuGraphExecDestroy","executable":900}
{"call":"cuGraphLaunch","corr":32,"executable":900}
)");
  expect_whole(played);
  const auto launches = played.of("launch");
  ASSERT_THAT(launches, SizeIs(4));
  EXPECT_FIELDS(launches[0], R"({"corr":30,"node":1001,"name":"first","grid":[7,1,1],"block":[64,1,1],"stream":1,
                                 "params":[1048576]})");
  EXPECT_FIELDS(launches[1], R"({"corr":30,"node":1004,"name":"second","params":[1048580]})");
  EXPECT_FIELDS(launches[2], R"({"corr":31,"node":1001,"stream":0})");
  EXPECT_FIELDS(played.of("memcpy")[0], R"({"corr":30,"node":1002,"dst":1048576,"src":1050000,"bytes":64,"stream":1})");
  EXPECT_FIELDS(played.of("memset")[0], R"({"corr":30,"node":1005,"va":1048576,"bytes":16})");
  EXPECT_FIELDS(played.of("alloc")[1], R"({"va":9437184,"bytes":4096,"kind":"pool","stream":1})");
  EXPECT_FIELDS(played.of("free")[0], R"({"va":9437184,"kind":"pool","stream":1})");
  EXPECT_FIELDS(played.of("kernel")[0], R"({"corr":30,"node":1001})");
}

TEST(Timing, ChangedGraphs) {
  const Played played = play(kContext + kGraph + R"(
{"call":"cuGraphExecKernelNodeSetParams_v2","executable":900,"node":1,"function":22,"name":"changed","params":[[1048600]]}
{"call":"cuGraphLaunch","executable":900}
{"do":"node","graph":600,"node":51,"type":"kernel","function":23,"name":"updated","params":[1048700]}
{"do":"node","graph":600,"node":52,"type":"memcpy","dst":1048577,"src":1050000,"bytes":65}
{"do":"node","graph":600,"node":54,"type":"kernel","function":23,"name":"updated","params":[1048700]}
{"do":"node","graph":600,"node":55,"type":"memset","va":1048576,"count":5}
{"do":"node","graph":600,"node":56,"type":"alloc","va":9437184,"bytes":4096}
{"do":"node","graph":600,"node":57,"type":"free","va":9437184}
{"call":"cuGraphExecUpdate_v2","executable":900,"graph":600}
{"call":"cuGraphLaunch","executable":900}
)");
  expect_whole(played);
  const auto launches = played.of("launch");
  ASSERT_THAT(launches, SizeIs(4));
  EXPECT_FIELDS(launches[0], R"({"node":1001,"name":"changed","params":[1048600]})");
  EXPECT_FIELDS(launches[2], R"({"node":1001,"name":"updated","params":[1048700]})");
  EXPECT_FIELDS(launches[3], R"({"node":1004,"name":"updated"})");
  EXPECT_FIELDS(played.of("memcpy")[1], R"({"node":1002,"bytes":65})");
}

TEST(Timing, CapturedCallsAreNoEvents) {
  const Played played = play(kContext + R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":65536}
{"call":"cuStreamBeginCapture_v2","stream":77}
{"call":"cuLaunchKernel","name":"captured","function":10,"stream":77,"params":[[1048576]]}
{"call":"cuMemsetD32Async","va":1048576,"count":7,"stream":77}
{"call":"cuMemcpyAsync","dst":1048576,"src":99,"bytes":13,"stream":77}
{"call":"cuEventRecord","event":70,"stream":77}
{"call":"cuMemAllocAsync","va":9437184,"bytes":4096,"stream":77}
{"call":"cuMemFreeAsync","va":9437184,"stream":77}
{"call":"cuLaunchKernel","name":"beside","function":10,"stream":78,"params":[[1048576]]}
{"call":"cuStreamEndCapture","stream":77}
{"call":"cuLaunchKernel","name":"after","function":10,"stream":77,"params":[[1048576]]}
)");
  expect_whole(played);
  ASSERT_THAT(played.of("launch"), SizeIs(2));
  EXPECT_EQ(played.of("launch")[0].at("name"), "beside");
  EXPECT_EQ(played.of("launch")[1].at("name"), "after");
  EXPECT_THAT(played.of("memset"), SizeIs(0));
  EXPECT_THAT(played.of("memcpy"), SizeIs(0));
  EXPECT_THAT(played.of("sync"), SizeIs(0));
  EXPECT_THAT(played.of("alloc"), SizeIs(1));
  EXPECT_THAT(played.of("free"), SizeIs(0));
}

TEST(Timing, NvtxRanges) {
  const Played played = play(kContext + R"(
{"do":"push","name":"outer \"x\""}
{"do":"domain_push","name":"registered"}
{"do":"wide_push"}
{"do":"pop"}
{"do":"pop"}
)");
  expect_whole(played);
  ASSERT_THAT(played.of("push"), SizeIs(3));
  EXPECT_EQ(played.of("push")[0].at("name"), "outer \"x\"");
  EXPECT_EQ(played.of("push")[1].at("name"), "registered");
  EXPECT_EQ(played.of("push")[2].at("name"), "gr\u00f6\u00dfe");
  EXPECT_THAT(played.of("pop"), SizeIs(3));
}

TEST(Timing, UvmCounters) {
  const Played played = play(kContext + R"(
{"do":"record","kind":"uvm","counter":4,"va":65536,"value":3,"start":5,"end":6,"flags":2,"source":0,"destination":0}
{"do":"record","kind":"uvm","counter":1,"va":65536,"value":4096,"start":5,"end":6,"flags":4,"source":4294967295,"destination":1}
)");
  expect_whole(played);
  ASSERT_THAT(played.of("uvm"), SizeIs(2));
  EXPECT_FIELDS(played.of("uvm")[0], R"({"counter":"gpu_fault","va":65536,"value":3,"start_ns":5,"end_ns":6,"flags":2,
                                         "source":0,"destination":0})");
  EXPECT_FIELDS(played.of("uvm")[1], R"({"counter":"htod","value":4096,"flags":4,"source":-1,"destination":1})");
}

TEST(Timing, SecondGpuIsNamed) {
  const Played played = play(kContext + R"(
{"do":"context","id":2,"device":1}
{"call":"cuMemAlloc_v2","va":4096,"bytes":100,"context":2}
{"call":"cuMemAlloc_v2","va":8192,"bytes":100,"context":1}
)");
  expect_whole(played);
  EXPECT_FIELDS(played.of("alloc")[0], R"({"device":1})");
  EXPECT_FIELDS(played.of("alloc")[1], R"({"device":"missing"})");
}

TEST(Timing, ThreadsKeepTheirPlaces) {
  const Played played = play(kContext + R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":65536}
{"call":"cuLaunchKernel","name":"k","function":10,"params":[[1048576]]}
{"do":"threads","count":4,"times":500,"lines":[{"call":"cuCtxSynchronize"},{"call":"cuLaunchKernel","name":"k","function":10,"params":[[1048576]]}]}
)");
  expect_whole(played);
  const auto launches = played.of("launch");
  ASSERT_THAT(launches, SizeIs(2001));
  std::set<int> threads;
  for (const json& launch : launches) threads.insert(launch.at("tid").get<int>());
  EXPECT_THAT(threads, SizeIs(5));
}

}  // namespace
