// SPDX-License-Identifier: Apache-2.0
// A program without CUDA that the tests record. usage: access_player INJECTION_LIBRARY SCENARIO
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/tracer/access/player.h"

namespace uvmtrace::access {
namespace {

constexpr std::uint64_t kA = 0x7f0000000000;
constexpr std::uint64_t kB = 0x7f0000300000;
constexpr std::uint64_t kMegabyte = 1 << 20;

void mixed(Player& player) {
  player.create_context();
  player.load_module(1);
  player.allocate(kA, 3 * kMegabyte);
  player.allocate(kB, kMegabyte);
  player.allocate(0x7e0000000000, 5, CUDA_ERROR_OUT_OF_MEMORY);
  player.device_memory(0x7d0000000000, 4096, SANITIZER_MEMORY_FLAG_MODULE);
  player.device_memory(kA, 3 * kMegabyte, SANITIZER_MEMORY_FLAG_PEER);

  player.launch("reads_a", 1, 0x55, 8, [](Marks* marks) {
    Player::mark_range(marks, kA, 1024, kRead);
    Player::mark_range(marks, kA + 2 * kMegabyte - 512, 1024, kRead);
    Player::mark_range(marks, 0x7d0000000000, 4, kRead);
  });
  player.launch("writes_b", 1, 0, 8, [](Marks* marks) {
    Player::mark_range(marks, kB, kMegabyte, kWrite);
    Player::mark_range(marks, kB + 512, 512, kRead);
  });
  player.launch("nothing", 1, 0x66, 1, [](Marks*) {});
  player.launch("unknown", 1, 0x55, 1, [](Marks* marks) { Player::mark_range(marks, 0x1234567, 4, kRead); });
  player.launch("not_patched", 2, 0x55, 1, [](Marks* marks) { Player::mark_range(marks, kA, 4, kRead); });

  const params::Copy copy{kB, 0x5000, 700, reinterpret_cast<CUstream>(0x66)};
  player.call(277, &copy);
  const params::Set32 set{kA, 0, 100, nullptr};
  player.call(251, &set);
  const params::Prefetch2 prefetch{kA, 4096, {1, 0}, 0, reinterpret_cast<CUstream>(0x55)};
  player.call(716, &prefetch);
  const params::Advise2 advise{kA, 4096, 3, {2, 0}};
  player.call(715, &advise);
  player.call(17, nullptr);
  player.call(308, nullptr);
  CUdeviceptr variable = 0x7c0000001000;
  std::size_t variable_bytes = 400;
  const params::ModuleGlobal global{&variable, &variable_bytes};
  player.call(241, &global);
  player.call(241, &global);

  player.free(kA);
  player.allocate(kA + 64 * kMegabyte, kMegabyte);
  player.launch("after_free", 1, 0x55, 1,
                [](Marks* marks) { Player::mark_range(marks, kA + 64 * kMegabyte, 1, kWrite); });
  player.graph(
      1, [](Marks* marks) { Player::mark_range(marks, kB, 512, kRead); },
      [](Marks* marks) { Player::mark_range(marks, kB + 1024, 512, kWrite); });
}

// Opens a window for the second launch only.
void window(Player& player) {
  player.create_context();
  player.load_module(1);
  player.allocate(kA, kMegabyte);
  const Player::Kernel kernel = [](Marks* marks) { Player::mark_range(marks, kA, 512, kRead); };
  player.launch("before", 1, 0, 1, kernel);
  player.call(308, nullptr);
  player.load_module(5);
  player.launch("inside", 1, 0, 1, kernel);
  player.launch("inside_too", 5, 0, 1, kernel);
  player.call(309, nullptr);
  player.launch("after", 1, 0, 1, kernel);
}

// Touches 40 MB in 10 blocks of 4 MB.
void phases(Player& player) {
  player.create_context();
  player.load_module(1);
  player.allocate(kA, 64 * kMegabyte);
  player.launch("big", 1, 0, 10, [](Marks* marks) {
    for (std::uint64_t block = 0; block < 10; ++block) {
      Player::mark_range(marks, kA + block * 4 * kMegabyte, 4 * kMegabyte, kWrite, block);
    }
  });
  player.launch("small", 1, 0, 10, [](Marks* marks) { Player::mark_range(marks, kA, 4096, kRead, 3); });
}

// The amount of marks that is read back must depend on the touched memory, not on the allocated memory.
void readback(Player& player) {
  player.create_context();
  player.load_module(1);
  for (std::uint64_t i = 0; i < 4; ++i) player.allocate(kA + (i << 34), std::uint64_t{1} << 34);
  const Player::Kernel touch = [](Marks* marks) { Player::mark_range(marks, kA + kMegabyte, 4, kRead); };
  player.launch("first", 1, 0, 1, touch);
  const std::uint64_t before = player.fake().bytes_read_back;
  for (int i = 0; i < 10; ++i) player.launch("again", 1, 0, 1, touch);
  std::printf("%llu\n", static_cast<unsigned long long>((player.fake().bytes_read_back - before) / 10));
}

void threads(Player& player) {
  player.create_context();
  player.load_module(1);
  player.allocate(kA, 64 * kMegabyte);
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < 4; ++t) {
    workers.emplace_back([&player, t] {
      for (int i = 0; i < 50; ++i) {
        player.launch("thread" + std::to_string(t), 1, 0x100 + t, 1,
                      [t](Marks* marks) { Player::mark_range(marks, kA + t * 8 * kMegabyte, 1024 * (t + 1), kWrite); });
        player.allocate(kB + ((t + 4) << 32), kMegabyte);
        player.free(kB + ((t + 4) << 32));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

// Makes one of each driver call that mixed() does not make. Streams are 0x100 (number 1) and 0x200.
void calls(Player& player) {
  const auto stream = reinterpret_cast<CUstream>(0x100);
  const auto other = reinterpret_cast<CUstream>(0x200);
  const auto host = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  CUdeviceptr pointer = 0x10000000;
  std::size_t pitch = 512;
  const params::AllocPitch pitched{&pointer, &pitch, 400, 10, 4};
  player.call(244, &pitched);
  CUdeviceptr managed_pointer = 0x20000000;
  const params::Alloc managed{&managed_pointer, 1 << 20};
  player.call(371, &managed);
  CUdeviceptr pool_pointer = 0x30000000;
  const params::AllocAsync pool{&pool_pointer, 4096, stream};
  player.call(598, &pool);
  void* pinned_pointer = host(0x40000000);
  const params::AllocHost pinned{&pinned_pointer, 8192};
  player.call(271, &pinned);
  player.call(39, &pinned);  // the same call by its old number
  for (const std::uint64_t va : {0x50000000ULL, 0x50200000ULL}) {
    const params::Map map{va, 2 << 20, 0, 0, 0};
    player.call(551, &map);
  }

  CUDA_MEMCPY2D plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = host(0x40000000);
  plane.srcPitch = 100;
  plane.srcY = 2;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = 0x10000000;
  plane.dstPitch = 512;
  plane.dstXInBytes = 16;
  plane.WidthInBytes = 64;
  plane.Height = 5;
  const params::Copy2D copy2d{&plane, stream};
  player.call(289, &copy2d);
  const params::Copy any{0x20000000, 0x40000000, 256, other};
  player.call(306, &any);
  CUdeviceptr dsts[] = {0x10000000, 0x40000000};
  CUdeviceptr srcs[] = {0x20000000, 0x20000000};
  std::size_t sizes[] = {16, 32};
  const params::CopyBatch2 batch{dsts, srcs, sizes, 2, nullptr, nullptr, 0, stream};
  player.call(796, &batch);
  const params::Set2D set{0x10000000, 512, 7, 20, 3, other};
  player.call(224, &set);

  const MemoryLocation locations[] = {{1, 3}, {2, 0}};
  std::size_t starts[] = {0, 1};
  const params::PrefetchBatch ranges{dsts, sizes, 2, locations, starts, 2, 0, stream};
  player.call(784, &ranges);
  player.call(791, &ranges);
  const params::DiscardBatch discard{dsts, sizes, 1, 0, stream};
  player.call(789, &discard);
  const params::Prefetch old_prefetch{0x20000000, 4096, -1, stream};
  player.call(467, &old_prefetch);
  const params::Advise old_advice{0x20000000, 4096, 5, 0};
  player.call(457, &old_advice);

  const params::EventRecord record{reinterpret_cast<CUevent>(0x900), stream};
  player.call(119, &record);
  const params::StreamWait wait{other, reinterpret_cast<CUevent>(0x900), 0};
  player.call(295, &wait);
  const params::EventOnly event{reinterpret_cast<CUevent>(0x900)};
  player.call(121, &event);
  const params::StreamOnly synchronised{other};
  player.call(126, &synchronised);

  const params::Unmap unmap{0x50000000, 4 << 20};
  player.call(552, &unmap);
  const params::FreeAsync free_pool{0x30000000, other};
  player.call(600, &free_pool);
  const params::FreeHost free_host{host(0x40000000)};
  player.call(38, &free_host);
  player.free(0x20000000);
  player.free(0x66660000);  // never allocated
}

// Memory for marks runs out in the middle; the program must not notice.
void short_memory(Player& player) {
  player.create_context();
  player.load_module(1);
  player.allocate(kA, kMegabyte);
  const Player::Kernel kernel = [](Marks* marks) { Player::mark_range(marks, kA, 512, kRead); };
  player.launch("good", 1, 0, 1, kernel);
  player.fake().allocations_left = 0;
  player.allocate(kA + (std::uint64_t{1} << 40), std::uint64_t{16} << 30);
  player.launch("short", 1, 0, 1, kernel);
  player.launch("later", 1, 0, 1, kernel);
}

}  // namespace
}  // namespace uvmtrace::access

int main(int argc, char** argv) {
  using namespace uvmtrace::access;
  if (argc != 3) return 2;
  Player player(argv[1]);
  if (!player.recording()) return 0;
  const std::string_view scenario = argv[2];
  if (scenario == "mixed") mixed(player);
  if (scenario == "window") window(player);
  if (scenario == "phases") phases(player);
  if (scenario == "readback") readback(player);
  if (scenario == "threads") threads(player);
  if (scenario == "calls") calls(player);
  if (scenario == "short_memory") short_memory(player);
  return 0;
}
