#include "sim/sweep/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "sim/common/error.h"

namespace uvmsim::sweep {

struct Database::State {
  std::string path, temporary;
  sqlite3* connection = nullptr;
  std::map<std::string, sqlite3_stmt*> inserts;  // by table

  [[noreturn]] void fail(const std::string& reason) const { throw_input_error("cannot write {}: {}", path, reason); }
  void check(int status) const {
    if (status != SQLITE_OK && status != SQLITE_DONE) fail(sqlite3_errmsg(connection));
  }
  void execute(const std::string& statement) const {
    check(sqlite3_exec(connection, statement.c_str(), nullptr, nullptr, nullptr));
  }
  void close_connection() {
    for (const auto& [table, statement] : inserts) sqlite3_finalize(statement);
    inserts.clear();
    sqlite3_close(std::exchange(connection, nullptr));
  }
};

Database::Database(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->temporary = fmt::format("{}.tmp-{}", state_->path, ::getpid());
  std::remove(state_->temporary.c_str());  // of a process with this number that was killed
  const int status = sqlite3_open(state_->temporary.c_str(), &state_->connection);
  if (status != SQLITE_OK) {
    const std::string reason = sqlite3_errmsg(state_->connection);
    state_->close_connection();
    state_->fail(reason);
  }
  // The file gets its name when it is whole: no journal. Page size and encoding fixed: they are part of the bytes.
  state_->execute("PRAGMA page_size=4096; PRAGMA encoding='UTF-8'; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;");
  state_->execute("BEGIN");
}

Database::~Database() {
  if (state_->connection != nullptr) state_->close_connection();
  if (!state_->temporary.empty()) std::remove(state_->temporary.c_str());
}

void Database::create_table(const std::string& name, const std::vector<Column>& columns, const std::string& key) {
  std::vector<std::string> definitions, marks;
  for (const Column& column : columns) {
    definitions.push_back(fmt::format("{} {}", column.name, column.is_text ? "TEXT" : "INTEGER"));
    marks.emplace_back("?");
  }
  if (!key.empty()) definitions.push_back(key);
  state_->execute(fmt::format("CREATE TABLE {} (\n  {}\n)", name, fmt::join(definitions, ",\n  ")));
  const std::string insert = fmt::format("INSERT INTO {} VALUES ({})", name, fmt::join(marks, ","));
  state_->check(sqlite3_prepare_v2(state_->connection, insert.c_str(), -1, &state_->inserts[name], nullptr));
}

void Database::insert(const std::string& table, const Row& row) {
  sqlite3_stmt* statement = state_->inserts.at(table);
  for (int i = 0; i < static_cast<int>(row.size()); ++i) {
    const Cell& cell = row[static_cast<std::size_t>(i)];
    if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      state_->check(sqlite3_bind_int64(statement, i + 1, *number));
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      state_->check(
          sqlite3_bind_text(statement, i + 1, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT));
    } else {
      state_->check(sqlite3_bind_null(statement, i + 1));
    }
  }
  state_->check(sqlite3_step(statement));
  state_->check(sqlite3_reset(statement));
}

void Database::close() {
  state_->execute("COMMIT");
  state_->close_connection();
  const int descriptor = ::open(state_->temporary.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) state_->fail(std::strerror(reason));
  if (std::rename(state_->temporary.c_str(), state_->path.c_str()) != 0) state_->fail(std::strerror(errno));
  state_->temporary.clear();
}

}  // namespace uvmsim::sweep
