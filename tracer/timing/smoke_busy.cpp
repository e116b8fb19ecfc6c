// SPDX-License-Identifier: Apache-2.0
// Holds CUPTI under the name "smoke" before CUDA starts, like a program that profiles itself. gpu_smoke.sh checks that
// the timing pass then names it and lets the program run.
#include <cuda.h>
#include <cupti.h>

#include <cstdio>

namespace {
void on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
}  // namespace

int main() {
  CUpti_SubscriberHandle handle = nullptr;
#ifdef CUPTI_SUBSCRIBER_NAME_MAX_LEN
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "smoke";
  if (cuptiSubscribe_v2(&handle, &on_callback, nullptr, &parameters) != CUPTI_SUCCESS) return 2;
#else
  if (cuptiSubscribe(&handle, &on_callback, nullptr) != CUPTI_SUCCESS) return 2;
#endif
  if (cuInit(0) != CUDA_SUCCESS) return 3;
  std::puts("smoke_busy: done");
  return 0;
}
