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

// Only the second launch's window is open.
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

// 40 MB in 10 blocks of 4 MB.
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

// What is read back must follow what was touched, not what is allocated.
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

// Memory runs short in the middle; the program must not notice.
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
  if (scenario == "short_memory") short_memory(player);
  return 0;
}
