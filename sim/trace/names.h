// The words of the JSON-lines form: record types and the values of every enum, in the order of their C++ constants.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// In the order of the alternatives of Record.
inline constexpr std::array<std::string_view, std::variant_size_v<Record>> kRecordTypeNames = {
    "object_alloc", "object_free", "tensor_alloc", "tensor_free", "kernel",      "memcpy", "memset",
    "prefetch",     "advise",      "discard",      "sync",        "host_access", "range",  "uvm_counter"};

inline constexpr std::array<std::string_view, 4> kObjectKindNames = {"managed", "device", "pinned", "host"};
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

inline std::string_view record_type_name(const Record& record) { return kRecordTypeNames[record.index()]; }

// "a, b, c"
std::string join_names(std::span<const std::string_view> names);

// The allowed name most like `word` (smallest edit distance), or empty when none is near enough to be meant.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> allowed);

// "; did you mean 'x'? allowed: a, b, c" for messages about a word that is none of the allowed ones.
std::string allowed_hint(std::string_view word, std::span<const std::string_view> allowed);

// A word of a file as it may stand in a one-line message: control characters replaced, long text cut.
std::string printable(std::string_view text);

// True for well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

}  // namespace uvmsim::trace
