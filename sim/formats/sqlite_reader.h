// SPDX-License-Identifier: Apache-2.0
// An SQLite file whose tables and columns may be missing and whose values may be anything: reads integers and texts by
// column name, or refuses in one line. Only plain tables are read, never views or virtual tables, whose content is a
// program of the file's author.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/sqlite_file.h"

namespace uvmsim {

// A file that begins like one of SQLite.
bool is_database(const std::string& path);

class SqliteReader {
 public:
  // One row of a query; columns by their place in the list that asked for them.
  class Row {
   public:
    bool has(std::size_t column) const;  // the table has it and it is not NULL
    // Integers (or texts) from `least` to `most`; `fallback` where the table has none. Throws InputError naming table,
    // row and column.
    std::int64_t integer(std::size_t column, std::int64_t least, std::int64_t most, std::int64_t fallback) const;
    std::int64_t required(std::size_t column, std::int64_t least, std::int64_t most) const;
    std::string text(std::size_t column) const;        // empty where the table has none; at most 64 KB
    std::string whole_text(std::size_t column) const;  // the same, however long

   private:
    friend class SqliteReader;
    const std::string* file_ = nullptr;
    std::string_view table_;
    std::uint64_t number_ = 0;
    const std::vector<std::string>* names_ = nullptr;
    const std::vector<int>* places_ = nullptr;  // in the statement; -1 = the table has no such column
    sqlite3_stmt* statement_ = nullptr;
  };

  // Throws InputError when the file cannot be opened or is no SQLite database. A longer value is damage.
  explicit SqliteReader(const std::string& path, int longest_value_bytes = 1 << 20);
  ~SqliteReader();
  SqliteReader(const SqliteReader&) = delete;
  SqliteReader& operator=(const SqliteReader&) = delete;

  bool has_table(std::string_view table) const;
  bool has_column(std::string_view table, std::string_view column) const;

  // Calls `take` for every row, in the order of the file. Does nothing when there is no such table. Throws InputError
  // for damage, and for a `required` column that the table does not have (those before `first_optional`).
  void each(std::string_view table, const std::vector<std::string>& columns, std::size_t first_optional,
            const std::function<void(const Row&)>& take) const;

 private:
  [[noreturn]] void fail(std::string_view table) const;
  std::vector<std::string> columns_of(std::string_view table) const;

  std::string path_;
  Database database_;
  std::vector<std::string> tables_;
};

}  // namespace uvmsim
