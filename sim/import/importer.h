// SPDX-License-Identifier: Apache-2.0
// The interface of every importer: it yields records one by one, and has a header and a summary.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// The conversion itself, which the importer's source file implements.
template <class Summary>
class Conversion {
 public:
  virtual ~Conversion() = default;

  bool next(Record& record) {
    while (ready.empty()) {
      if (!go_on()) return false;
    }
    record = std::move(ready.front());
    ready.pop_front();
    return true;
  }

  Header header;
  Summary summary;

 protected:
  // Reads more of the recording and puts its records, if any, into `ready`; returns false at the end.
  virtual bool go_on() = 0;

  std::deque<Record> ready;
};

template <class Summary>
class Importer {
 public:
  const Header& header() const { return conversion_->header; }
  bool next(Record& record) { return conversion_->next(record); }  // false at the end; throws like the constructor
  const Summary& summary() const { return conversion_->summary; }  // of the records so far; complete at the end

 protected:
  explicit Importer(std::unique_ptr<Conversion<Summary>> conversion) : conversion_(std::move(conversion)) {}

 private:
  std::unique_ptr<Conversion<Summary>> conversion_;
};

}  // namespace uvmsim::trace
