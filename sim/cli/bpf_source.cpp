// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bpf_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "sim/common/error.h"

namespace uvmsim::cli {
namespace {

// SEC of bpf/include/bpf/bpf_helpers.h, as the preprocessor expands it.
constexpr std::string_view kSectionBegin = "__attribute__((section(\"";
constexpr std::string_view kSectionEnd = "\"), used))";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kProbes{
    {{"uvm_perf_prefetch_get_hint_va_block", "get_hint"},
     {"uvm_bpf_call_before_compute_prefetch", "before_compute"},
     {"uvm_bpf_call_pmm_chunk_activate", "activate"},
     {"uvm_bpf_call_pmm_chunk_used", "used"},
     {"uvm_bpf_call_pmm_eviction_prepare", "prepare"}}};

constexpr std::array<std::string_view, 7> kMapTypes{
    "BPF_MAP_TYPE_HASH",     "BPF_MAP_TYPE_ARRAY",           "BPF_MAP_TYPE_PERCPU_HASH", "BPF_MAP_TYPE_PERCPU_ARRAY",
    "BPF_MAP_TYPE_LRU_HASH", "BPF_MAP_TYPE_LRU_PERCPU_HASH", "BPF_MAP_TYPE_RINGBUF"};

bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

class BpfText {
 public:
  BpfText(std::string path, std::string_view text) : path_(std::move(path)), text_(text) {}

  BpfSource read() {
    for (std::size_t at = text_.find(kSectionBegin); at != std::string_view::npos;
         at = text_.find(kSectionBegin, at + 1)) {
      const std::size_t name = at + kSectionBegin.size();
      const std::size_t end = text_.find('"', name);
      if (end == std::string_view::npos || !text_.substr(end).starts_with(kSectionEnd)) continue;
      section(at, text_.substr(name, end - name), end + kSectionEnd.size());
    }
    source_.has_driver_types = text_.find("uvm_gpu_chunk_t") != std::string_view::npos;
    if (source_.operations.empty() && source_.probes.empty()) {
      throw_input_error(
          "{}: has no operations in SEC(\".struct_ops\"); a policy of gpu_ext fills in a struct "
          "uvm_gpu_ext or gpu_mem_ops",
          path_);
    }
    return std::move(source_);
  }

 private:
  // Returns the source position by the preprocessor's line markers: "eviction_mru.bpf.c:12".
  std::string place(std::size_t at) const {
    std::size_t line_begin = 0, number = 1;
    std::string file = path_;
    while (true) {
      const std::size_t line_end = text_.find('\n', line_begin);
      if (line_end == std::string_view::npos || line_end >= at) break;
      const std::string_view line = text_.substr(line_begin, line_end - line_begin);
      if (line.starts_with("# ")) {
        std::from_chars(line.data() + 2, line.data() + line.size(), number);
        const std::size_t quote = line.find('"');
        const std::size_t close = line.rfind('"');
        if (quote < close) file = line.substr(quote + 1, close - quote - 1);
      } else {
        ++number;
      }
      line_begin = line_end + 1;
    }
    return fmt::format("{}:{}", file, number);
  }

  // Returns the identifier at `at`, after spaces.
  std::string_view word_after(std::size_t at) const {
    while (at < text_.size() && is_space(text_[at])) ++at;
    std::size_t end = at;
    while (end < text_.size() && in_identifier(text_[end])) ++end;
    return text_.substr(at, end - at);
  }
  std::string_view word_before(std::size_t at) const {
    while (at > 0 && is_space(text_[at - 1])) --at;
    std::size_t begin = at;
    while (begin > 0 && in_identifier(text_[begin - 1])) --begin;
    return text_.substr(begin, at - begin);
  }
  std::size_t offset_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }

  void section(std::size_t at, std::string_view name, std::size_t after) {
    if (name == ".maps") {
      map(at);
    } else if (name == ".struct_ops" || name == ".struct_ops.link") {
      operations(at, after);
    } else if (name == "license" || name == "version" || name.starts_with("struct_ops") || name.starts_with(".")) {
      return;
    } else {
      program(at, name, after);
    }
  }

  void map(std::size_t at) {
    BpfMapDeclaration map;
    const std::string_view name = word_before(at);
    map.name = name;
    std::string_view body;
    std::size_t close = offset_of(name);
    while (close > 0 && is_space(text_[close - 1])) --close;
    if (close > 0 && text_[close - 1] == '}') {
      int depth = 0;
      for (std::size_t open = close; open-- > 0;) {
        depth += text_[open] == '}' ? 1 : text_[open] == '{' ? -1 : 0;
        if (depth != 0) continue;
        body = text_.substr(open, close - open);
        break;
      }
    }
    if (const std::size_t type = body.find("BPF_MAP_TYPE_"); type != std::string_view::npos) {
      const std::string_view named = word_after(offset_of(body) + type);
      if (std::find(kMapTypes.begin(), kMapTypes.end(), named) == kMapTypes.end()) {
        throw_input_error("{}: map '{}' is a {}; allowed: {}", place(at), map.name, named, fmt::join(kMapTypes, ", "));
      }
      if (named == "BPF_MAP_TYPE_RINGBUF") map.kind = BpfMapDeclaration::Kind::kRing;
    }
    if (map.kind != BpfMapDeclaration::Kind::kRing && body.find("(*key_size)") != std::string_view::npos) {
      map.kind = BpfMapDeclaration::Kind::kSized;
    }
    source_.maps.push_back(std::move(map));
  }

  // Reads SEC(".struct_ops") struct TYPE NAME = {...}, with the section before the type or behind the name.
  void operations(std::size_t at, std::size_t after) {
    std::string_view type, name;
    if (word_after(after) == "struct") {
      type = word_after(offset_of(word_after(after)) + 6);
      name = word_after(offset_of(type) + type.size());
    } else {
      name = word_before(at);
      type = word_before(offset_of(name));
    }
    if (!source_.operations.empty()) {
      throw_input_error("{}: a second object of operations, '{}'; allowed: one", place(at), name);
    }
    source_.operations = name;
    if (type == "uvm_gpu_ext") {
      source_.interface_version = 1;
    } else if (type == "gpu_mem_ops") {
      // Only version 3 has the type with which policies request decisions.
      source_.interface_version = text_.find("uvm_bpf_pmm_decision_ctx_t") == std::string_view::npos ? 2 : 3;
    } else {
      throw_input_error("{}: operations of type struct {}; allowed: struct uvm_gpu_ext, struct gpu_mem_ops", place(at),
                        type);
    }
  }

  void program(std::size_t at, std::string_view name, std::size_t after) {
    const std::size_t slash = name.find('/');
    const std::string_view kind = name.substr(0, slash);
    const std::string_view function = slash == std::string_view::npos ? "" : name.substr(slash + 1);
    if (kind == "kprobe") {
      for (const auto& [probed, member] : kProbes) {
        if (function != probed) continue;
        const std::size_t open = text_.find('(', after);
        source_.probes.emplace_back(member, word_before(open));
        return;
      }
    }
    if (word_before(text_.find_first_of("(;={", after)).empty()) return;
    std::string known;
    for (const auto& [probed, member] : kProbes) known += fmt::format("{}{}", known.empty() ? "" : ", ", probed);
    throw_input_error(
        "{}: needs {} '{}', which the simulated driver does not have; allowed: struct_ops, and kprobe on {}", place(at),
        kind == "uprobe" ? "a uprobe" : fmt::format("a {}", kind), name, known);
  }

  std::string path_;
  std::string_view text_;
  BpfSource source_;
};

}  // namespace

BpfSource read_bpf_source(const std::string& path, std::string_view preprocessed) {
  return BpfText(path, preprocessed).read();
}

}  // namespace uvmsim::cli
