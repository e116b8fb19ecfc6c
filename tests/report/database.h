// SPDX-License-Identifier: Apache-2.0
// Reads a SQLite file that a test has written.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim {

class TestDatabase {
 public:
  explicit TestDatabase(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK) << path;
  }
  ~TestDatabase() { sqlite3_close_v2(database_); }
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  // Returns the rows of a query, every value as text, NULL as "NULL".
  std::vector<std::vector<std::string>> rows(const std::string& sql) const {
    std::vector<std::vector<std::string>> found;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(database_);
    while (statement != nullptr && sqlite3_step(statement) == SQLITE_ROW) {
      auto& row = found.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.push_back(
            text == nullptr ? "NULL" : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
      }
    }
    sqlite3_finalize(statement);
    return found;
  }
  // Returns the first value of the first row.
  std::string text(const std::string& sql) const {
    const auto found = rows(sql);
    EXPECT_FALSE(found.empty()) << sql;
    return found.empty() ? "" : found.front().front();
  }
  std::int64_t number(const std::string& sql) const {
    const std::string value = text(sql);
    return value.empty() || value == "NULL" ? 0 : std::stoll(value);
  }

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace uvmsim
