// SPDX-License-Identifier: Apache-2.0
// A libcupti without a GPU: the player sends driver calls and records to the subscriber. Tests choose its answers by
// the environment:
//
//     FAKE_CUPTI_HOLDER     subscribing fails, because this tool holds CUPTI
//     FAKE_CUPTI_SUBSCRIBE  result of subscribing
//     FAKE_CUPTI_ENABLE     result of enabling activity kinds
//     FAKE_CUPTI_UVM        result of configuring counters
//     FAKE_CUPTI_DROPPED    number of lost records, reported once
//     FAKE_CUPTI_VERSION    the version that cuptiGetVersion returns
#pragma once

#include <cupti.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fake {

struct Cupti {
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::set<std::pair<int, std::uint32_t>> enabled;  // domain and id
  std::set<int> domains;                            // domains that are enabled as a whole
  std::set<int> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::mutex mutex;  // guards the following members
  std::vector<std::vector<std::uint8_t>> records;
  bool dropped_told = false;
  // Set if CUPTI was asked for counters before a context existed, which real CUPTI refuses.
  bool context_exists = false;

  // Calls the subscriber if it enabled this callback.
  void call(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) const;
  template <typename Record>
  void add_record(const Record& record) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&record);
    const std::lock_guard lock(mutex);
    if (kinds.count(record.kind) != 0) records.emplace_back(bytes, bytes + sizeof record);
  }
};

[[gnu::visibility("default")]] Cupti& cupti();

}  // namespace fake
