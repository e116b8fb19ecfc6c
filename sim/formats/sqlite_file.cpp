// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <new>

#include "sim/common/check.h"
#include "sim/formats/json.h"

namespace uvmsim {
namespace {

// A database in memory fails only through a bug or for lack of memory.
void check(sqlite3* database, int code, int wanted = SQLITE_OK) {
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code == SQLITE_CONSTRAINT) throw SameKeyTwice(sqlite3_errmsg(database));
  if (code != wanted) throw ModelError(fmt::format("SQLite: {}", sqlite3_errmsg(database)));
}

}  // namespace

void CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteFile::SqliteFile(const std::string& path, OutputRules rules) : file_(path, rules) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open(":memory:", &database);
  database_.reset(database);
  check(database, code);
}

SqliteFile::~SqliteFile() = default;

void SqliteFile::execute(const std::string& sql) {
  check(database_.get(), sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void SqliteFile::commit() {
  sqlite3_int64 bytes = 0;
  struct Free {
    void operator()(unsigned char* memory) const { sqlite3_free(memory); }
  };
  const std::unique_ptr<unsigned char, Free> image(sqlite3_serialize(database_.get(), "main", &bytes, 0));
  if (!image) throw std::bad_alloc();
  file_.write({reinterpret_cast<const char*>(image.get()), static_cast<std::size_t>(bytes)});
  file_.commit();
}

SqliteFile::Rows::Rows(SqliteFile& file, const std::string& table, int columns)
    : database_(file.database_.get()), columns_(columns) {
  std::string sql = "INSERT INTO " + table + " VALUES (?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_, (sql + ")").c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  check(database_, code);
}

void SqliteFile::Rows::add(std::optional<std::int64_t> value) {
  const int place = next_++;
  check(database_,
        value ? sqlite3_bind_int64(statement_.get(), place, *value) : sqlite3_bind_null(statement_.get(), place));
}

void SqliteFile::Rows::add(std::string_view text) {
  const std::string clean = as_utf8(text);
  check(database_,
        sqlite3_bind_text(statement_.get(), next_++, clean.data(), static_cast<int>(clean.size()), SQLITE_TRANSIENT));
}

void SqliteFile::Rows::end() {
  if (next_ != columns_ + 1) throw ModelError(fmt::format("SQLite: {} values for {} columns", next_ - 1, columns_));
  next_ = 1;
  const int code = sqlite3_step(statement_.get());
  sqlite3_reset(statement_.get());
  check(database_, code, SQLITE_DONE);
}

}  // namespace uvmsim
