// SPDX-License-Identifier: Apache-2.0
// Compares the component with a second implementation, request by request, on random kernels.
#include <gtest/gtest.h>

#include "tests/gpu/reference_gpu.h"

namespace uvmsim::gpu {
namespace {

// Makes kernels of all kinds: few or many SMs and warps, loads and stores, pages shared or not, close together or far
// apart.
SmallKernel random_kernel(std::uint64_t seed) {
  Random random(seed);
  SmallKernel kernel;
  constexpr std::uint32_t kSms[] = {1, 2, 5, 16, 40, 132};
  const std::uint32_t sms = kSms[random.below(6)];
  kernel.path = random.below(4) == 0 ? volta() : hopper();
  kernel.gpc_of_sm = gpcs_in_order_of_dispatch(sms, kernel.path.gpcs, sms);
  kernel.sms.resize(sms);
  const std::uint64_t warps = 1 + random.below(sms > 20 ? 4 : 16);
  const std::uint64_t steps = 1 + random.below(12);
  const std::uint64_t pages = 1 + random.below(std::uint64_t{1} << random.below(15));
  constexpr std::uint64_t kPitches[] = {1, 1, 16, 128, 700};
  const std::uint64_t pitch = kPitches[random.below(5)];
  const bool walks = random.below(2) == 0;  // page after page, as loops do
  std::uint64_t next = 0;
  for (auto& sm : kernel.sms) {
    for (std::uint64_t w = 0; w < warps; ++w) {
      SmallWarp warp;
      for (std::uint64_t s = 0; s < steps; ++s) {
        const auto kind = static_cast<RequestKind>(random.below(4));
        const bool lanes = kind == RequestKind::kLoadLane || kind == RequestKind::kStoreLane;
        const std::uint64_t parts = lanes ? 1 + random.below(32) : 1;
        const bool awaited = random.below(3) != 0;
        const bool apart = random.below(3) == 0;
        for (std::uint64_t part = 0; part < parts; ++part) {
          Step step;
          step.page = pitch * (walks ? next++ * 7 % pages : random.below(pages));
          step.requests = lanes ? 1 : static_cast<std::uint16_t>(1 + random.below(8));
          step.kind = kind;
          step.ends = part + 1 == parts;
          step.awaited = awaited;
          step.apart = apart && !lanes;
          warp.steps.push_back(step);
        }
      }
      sm.push_back(std::move(warp));
    }
  }
  return kernel;
}

TEST(FrontEnd, AgreesWithEventsOfSingleRequestsOnRandomKernels) {
  std::size_t batches = 0, faults = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const SmallKernel kernel = random_kernel(seed);
    MappedPages first_pages, second_pages;
    ComponentGpu component(kernel, first_pages);
    ReferenceGpu reference(kernel, second_pages);
    const auto fast = drive(component, first_pages), slow = drive(reference, second_pages);
    ASSERT_EQ(fast.size(), slow.size()) << "seed " << seed;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      ASSERT_EQ(fast[i].faults.size(), slow[i].faults.size()) << "seed " << seed << ", batch " << i;
      for (std::size_t k = 0; k < fast[i].faults.size(); ++k) {
        const SmallFault &a = fast[i].faults[k], &b = slow[i].faults[k];
        ASSERT_EQ(a, b) << "seed " << seed << ", batch " << i << ", fault " << k << ": at " << a.arrival << " SM "
                        << a.sm << " page " << a.page << ", in the reference at " << b.arrival << " SM " << b.sm
                        << " page " << b.page;
      }
      faults += fast[i].faults.size();
    }
    batches += fast.size();
  }
  EXPECT_GT(batches, 1000u);
  EXPECT_GT(faults, 50000u);
}

}  // namespace
}  // namespace uvmsim::gpu
