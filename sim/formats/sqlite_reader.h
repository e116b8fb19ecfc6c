// SPDX-License-Identifier: Apache-2.0
// Reads integers and texts by column name from an SQLite file whose tables and columns may be missing and whose values
// may be anything, and refuses bad ones in one line. Only plain tables are read, never views or virtual tables, whose
// content is a program of the file's author.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/sqlite_file.h"

namespace uvmsim {

// Returns whether a file begins like an SQLite database.
bool is_database(const std::string& path);

class SqliteReader {
 public:
  // One row of a query; columns are indexed by their position in the list passed to each().
  class Row {
   public:
    bool has(std::size_t column) const;  // the table has it and it is not NULL
    // Return integers (or texts) from `least` to `most`; `fallback` if the table has no such column. Throw InputError
    // naming table, row and column.
    std::int64_t integer(std::size_t column, std::int64_t least, std::int64_t most, std::int64_t fallback) const;
    std::int64_t required(std::size_t column, std::int64_t least, std::int64_t most) const;
    std::string text(std::size_t column) const;        // empty where the table has none; at most 64 KB
    std::string whole_text(std::size_t column) const;  // the same with any length

   private:
    friend class SqliteReader;
    const std::string* file_ = nullptr;
    std::string_view table_;
    std::uint64_t number_ = 0;
    const std::vector<std::string>* names_ = nullptr;
    const std::vector<int>* places_ = nullptr;  // in the statement; -1 = the table has no such column
    sqlite3_stmt* statement_ = nullptr;
  };

  // Throws InputError when the file cannot be opened or is not an SQLite database. A longer value counts as damage.
  explicit SqliteReader(const std::string& path, int longest_value_bytes = 1 << 20);
  ~SqliteReader();
  SqliteReader(const SqliteReader&) = delete;
  SqliteReader& operator=(const SqliteReader&) = delete;

  bool has_table(std::string_view table) const;
  bool has_column(std::string_view table, std::string_view column) const;
  const std::vector<std::string>& tables() const { return tables_; }
  std::uint64_t rows(std::string_view table) const;  // 0 without such a table

  // Calls `take` for every row, in the order of the file, if the table exists. Throws InputError for damage, and for a
  // required column (one before `first_optional`) that the table does not have.
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
