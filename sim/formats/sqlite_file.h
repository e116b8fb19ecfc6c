// SPDX-License-Identifier: Apache-2.0
// An SQLite database that appears under its name either complete or not at all: it is built in memory and written
// through AtomicFile. The same statements give the same bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace uvmsim {

struct CloseDatabase {
  void operator()(sqlite3* database) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// A row whose key is already in the table. If keys come from a file, the file is wrong.
class SameKeyTwice : public InputError {
 public:
  using InputError::InputError;
};

class SqliteFile {
 public:
  // Throws InputError when the file cannot be written. Nothing appears at `path` before commit().
  explicit SqliteFile(const std::string& path, OutputRules rules = {});
  ~SqliteFile();

  // Executes statements without results, one or several.
  void execute(const std::string& sql);
  // Writes and renames the file. Must be the last call.
  void commit();

  // Executes `INSERT INTO <table> VALUES (?, ...)` with a value for each column, in order: row(), or one add() per
  // column, then end().
  class Rows {
   public:
    Rows(SqliteFile& file, const std::string& table, int columns);
    void add(std::optional<std::int64_t> value);  // nothing: NULL
    void add(std::integral auto value) { add(std::optional(static_cast<std::int64_t>(value))); }
    // Bytes that are not UTF-8 become U+FFFD.
    void add(std::string_view text);
    void end();

    template <class... Values>
    void row(const Values&... values) {
      (add(values), ...);
      end();
    }

   private:
    sqlite3* database_;
    Statement statement_;
    int columns_;
    int next_ = 1;
  };

 private:
  AtomicFile file_;
  Database database_;
};

}  // namespace uvmsim
