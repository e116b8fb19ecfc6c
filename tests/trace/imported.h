// SPDX-License-Identifier: Apache-2.0
// Runs an importer on a file and checks its records one by one.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "sim/trace/record.h"
#include "sim/trace/validate.h"

namespace uvmsim::trace {

template <class Summary>
struct Imported {
  Header header;
  Summary summary;
  std::vector<Record> records;
  // Returns the records of one type, in order.
  template <class T>
  std::vector<T> all() const {
    std::vector<T> out;
    for (const Record& record : records) {
      if (const auto* one = std::get_if<T>(&record)) out.push_back(*one);
    }
    return out;
  }
};

// Takes all records from the importer. Throws InputError if they contradict each other.
template <class Importer>
auto import_all(Importer importer) {
  Imported<std::remove_cvref_t<decltype(importer.summary())>> out;
  out.header = importer.header();
  Validator validator("imported", importer.header());
  for (Record record; importer.next(record);) {
    validator.check(record);
    out.records.push_back(record);
  }
  validator.finish();
  out.summary = importer.summary();
  return out;
}

}  // namespace uvmsim::trace
