// SPDX-License-Identifier: Apache-2.0
// No bound is ever beaten: random programs, generated patterns.
#include "tests/bounds/never_beaten.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "sim/common/error.h"
#include "sim/generate/generate.h"
#include "tests/bounds/random_program.h"

namespace uvmsim {
namespace {

// UVMSIM_BOUNDS_TRACES=10000 for a long run, =501-1000 for a part of it.
struct Seeds {
  std::uint64_t first = 1, last = 0;
};
Seeds seeds_to_try(std::uint64_t usual) {
  const char* given = std::getenv("UVMSIM_BOUNDS_TRACES");
  if (given == nullptr) return {1, usual};
  const std::string text = given;
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return {1, std::stoull(text)};
  return {std::stoull(text.substr(0, dash)), std::stoull(text.substr(dash + 1))};
}

TEST(NeverBeaten, RandomPrograms) {
  Closest closest;
  std::uint64_t refused = 0;
  const Seeds seeds = seeds_to_try(20);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    RandomProgramOptions program_options;
    program_options.streams = seed % 3 == 0;
    program_options.host = seed % 4 != 1;
    program_options.advice = seed % 5 == 0;
    program_options.largest_object_pages = 256u << random.below(4);
    program_options.records = static_cast<unsigned>(10 + random.below(50));
    RunOptions options = options_with(1 + random.below(12));
    options.system = random_system(random);
    program_options.gpus = static_cast<unsigned>(options.system.gpus.size());
    if (program_options.gpus > 1) program_options.streams = false;  // they could take pages from each other for ever
    const Program program = random_program(random, program_options);
    options.seed = seed;
    options.layout = random.below(2) == 0 ? "none" : "recorded";
    options.include_host_gaps = random.below(4) != 0;
    try {
      expect_never_beaten(
          Program::header(), [&] { return program.source(); }, options, closest, Policies::kSome);
    } catch (const InputError&) {
      ++refused;  // a stream that waits for an event that it records later itself
    }
  }
  RecordProperty("largest_time_ratio", std::to_string(closest.time));
  std::printf("%llu traces, %llu refused; largest bound / simulated: time %.4f, HtoD %.4f, DtoH %.4f\n",
              static_cast<unsigned long long>(seeds.last + 1 - seeds.first), static_cast<unsigned long long>(refused),
              closest.time, closest.htod, closest.dtoh);
}

// A planner knows what the framework freed and need not move it.
TEST(NeverBeaten, RandomTensors) {
  Closest closest;
  const Seeds seeds = seeds_to_try(15);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    RandomProgramOptions program_options;
    program_options.tensors = true;
    program_options.streams = seed % 4 == 0;
    program_options.host = seed % 3 == 0;
    program_options.advice = false;
    program_options.objects = 4;
    program_options.records = 60;
    RunOptions options = options_with(4 + random.below(12));
    options.system = random_system(random);
    options.system.gpus.resize(1);
    options.system.host_links.resize(1);
    options.layout.name = seed % 2 == 0 ? "pytorch_caching" : "expandable_segments";
    options.seed = seed;
    const Program program = random_program(random, program_options);
    try {
      expect_never_beaten(
          Program::header(), [&] { return program.source(); }, options, closest, Policies::kSome);
    } catch (const InputError&) {
    }
  }
  std::printf("largest bound / simulated: time %.4f, HtoD %.4f, DtoH %.4f\n", closest.time, closest.htod, closest.dtoh);
}

// All patterns of the generator, at several sizes of memory.
TEST(NeverBeaten, GeneratedPatterns) {
  Closest closest;
  for (const trace::GeneratorPattern& pattern : trace::generator_patterns()) {
    if (pattern.name == "pipeline") continue;  // of several GPUs
    SCOPED_TRACE(pattern.name);
    trace::GeneratorOptions generator;
    generator.pattern = pattern.name;
    generator.bytes = 24 * kMiB;
    generator.repeats = 3;
    generator.kernels = 4;
    generator.write_percent = 30;
    generator.touches = 500;
    generator.tile = 256;
    if (pattern.name == "row_per_thread") {  // returns to each page 512 times
      generator.bytes = 8 * kMiB;
      generator.element_bytes = 8;
      generator.repeats = generator.kernels = 1;
    } else if (pattern.name.starts_with("product")) {  // moves a matrix for every row of thread blocks
      generator.block = 1024;
      generator.repeats = generator.kernels = 1;
    }
    for (const std::uint64_t chunks : {3u, 8u}) {
      SCOPED_TRACE(chunks);
      RunOptions options = options_with(chunks);
      options.seed = chunks;
      expect_never_beaten(
          trace::make_program(generator)->header(),
          [&] {
            return [program = std::shared_ptr(trace::make_program(generator))](trace::Record& record) {
              return program->next(record);
            };
          },
          options, closest, Policies::kSome);
    }
  }
  std::printf("largest bound / simulated: time %.4f, HtoD %.4f, DtoH %.4f\n", closest.time, closest.htod, closest.dtoh);
}

}  // namespace
}  // namespace uvmsim
