// A SQLite file that is written once, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/sweep/result_table.h"

namespace uvmsim::sweep {

class Database {
 public:
  // Writes beside the target; close() puts it in place. The same tables and rows give the same bytes. Throws InputError
  // "cannot write <path>: <reason>", as does everything below.
  explicit Database(std::string path);
  // Removes what close() did not put in place.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `key` stands after the columns, as "PRIMARY KEY (id)"; may be empty.
  void create_table(const std::string& name, const std::vector<Column>& columns, const std::string& key);
  // As many cells as the table has columns.
  void insert(const std::string& table, const Row& row);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::sweep
