// SPDX-License-Identifier: Apache-2.0
// The words of the JSON-lines form: record types and the values of every enum, in the order of their C++ constants.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

// In the order of the alternatives of Record.
inline constexpr std::array<std::string_view, std::variant_size_v<Record>> kRecordTypeNames = {
    "object_alloc", "object_free", "tensor_alloc", "tensor_free", "kernel",      "memcpy", "memset",
    "prefetch",     "advise",      "discard",      "sync",        "host_access", "range",  "uvm_counter"};

inline constexpr std::array<std::string_view, 5> kObjectKindNames = {"managed", "device", "pinned", "host", "system"};
inline constexpr std::array<std::string_view, 4> kDistributionNames = {"block_linear", "grid_stride", "thread_chunk",
                                                                       "tiled"};
inline constexpr std::array<std::string_view, 6> kCoverageNames = {
    "instrumented", "operator_schema", "parameters", "declared", "none", "tensor_maps"};
inline constexpr std::array<std::string_view, 5> kCopyKindNames = {"host_to_device", "device_to_host",
                                                                   "device_to_device", "host_to_host", "default"};
inline constexpr std::array<std::string_view, 8> kAdviceNames = {
    "set_preferred_location", "unset_preferred_location", "set_accessed_by", "unset_accessed_by",
    "set_read_mostly",        "unset_read_mostly",        "set_pinned",      "unset_pinned"};
inline constexpr std::array<std::string_view, 5> kSyncKindNames = {"device", "stream", "event_record", "event_wait",
                                                                   "event_synchronize"};
inline constexpr std::array<std::string_view, 4> kRangeKindNames = {"push", "pop", "iteration_begin", "iteration_end"};
// Indexed by AccessMode; entry 0 is no mode.
inline constexpr std::array<std::string_view, 4> kAccessModeNames = {"", "r", "w", "rw"};

constexpr const auto& names_of(ObjectKind) { return kObjectKindNames; }
constexpr const auto& names_of(Distribution) { return kDistributionNames; }
constexpr const auto& names_of(Coverage) { return kCoverageNames; }
constexpr const auto& names_of(CopyKind) { return kCopyKindNames; }
constexpr const auto& names_of(Advice) { return kAdviceNames; }
constexpr const auto& names_of(SyncKind) { return kSyncKindNames; }
constexpr const auto& names_of(RangeKind) { return kRangeKindNames; }

// The noun of each enum, for messages.
constexpr std::string_view word_of(ObjectKind) { return "object kind"; }
constexpr std::string_view word_of(Distribution) { return "distribution"; }
constexpr std::string_view word_of(Coverage) { return "coverage"; }
constexpr std::string_view word_of(CopyKind) { return "copy kind"; }
constexpr std::string_view word_of(Advice) { return "advice"; }
constexpr std::string_view word_of(SyncKind) { return "sync kind"; }
constexpr std::string_view word_of(RangeKind) { return "range kind"; }

// Readers of traces in other rooms use these too.
using uvmsim::allowed_hint;
using uvmsim::is_utf8;
using uvmsim::printable;

inline std::string_view record_type_name(const Record& record) { return kRecordTypeNames[record.index()]; }

}  // namespace uvmsim::trace
