#include "sim/cli/trace_source.h"

#include <iostream>
#include <iterator>

#include "sim/common/sha256.h"

namespace uvmsim::cli {

TraceSource::TraceSource(const std::string& path, bool partial)
    : path_(path), name_(path), in_memory_(path == "-"), options_{partial} {
  if (!in_memory_) {
    description_ = report::describe_input(path);
    return;
  }
  name_ = "standard input";
  content_.assign(std::istreambuf_iterator<char>(std::cin), {});
  description_ = {name_, content_.size(), sha256(content_)};
}

trace::TraceReader TraceSource::open() const {
  if (in_memory_) return trace::TraceReader(std::string_view(content_), name_, options_);
  return trace::TraceReader(path_, options_);
}

}  // namespace uvmsim::cli
