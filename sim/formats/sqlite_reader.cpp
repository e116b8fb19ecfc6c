// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/sqlite_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/formats/printable.h"

namespace uvmsim {

namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 16;

// SQL allows identifiers in double quotes; these contain none.
std::string sql_name(std::string_view name) { return '"' + std::string(name) + '"'; }

Statement prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  return code == SQLITE_OK ? Statement(statement) : Statement();
}

// Reads the texts of one column of all rows; returns false when they cannot be read.
bool append_names(sqlite3_stmt* statement, int column, std::vector<std::string>& names) {
  int step = SQLITE_ERROR;
  while (statement != nullptr && (step = sqlite3_step(statement)) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    if (name != nullptr) names.emplace_back(name);
  }
  return step == SQLITE_DONE;
}

// With an immutable URI SQLite writes and locks nothing, not even beside the file.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri + "?immutable=1";
}

bool begins_with(const std::string& path, std::string_view magic) {
  std::string start(magic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == magic;
}

// Refuses a file with unapplied changes in a journal beside it, because they would be ignored. A journal without
// changes begins with zeros.
void refuse_unfinished(const std::string& path) {
  constexpr std::string_view kJournal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  std::error_code ignored;
  const std::uintmax_t log = std::filesystem::file_size(path + "-wal", ignored);
  if ((!ignored && log != 0) || begins_with(path + "-journal", kJournal)) {
    throw_input_error("{}: another program is writing it, or was stopped while it did; allowed: a closed database",
                      path);
  }
}

}  // namespace

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return begins_with(path, kMagic);
}

SqliteReader::SqliteReader(const std::string& path, int longest_value_bytes) : path_(path) {
  note_input(path);
  if (!is_database(path)) {
    throw_input_error("{}: cannot be read as an SQLite database; make one with `nsys export --type sqlite`", path);
  }
  refuse_unfinished(path);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(immutable_uri(path).c_str(), &database,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw_input_error("{}: cannot be opened: {}", path, sqlite3_errstr(code));
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, longest_value_bytes);
  sqlite3_limit(database, SQLITE_LIMIT_COLUMN, 200);
  // Plain tables have a root page, virtual ones have none.
  const Statement statement = prepare(database, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
  if (!append_names(statement.get(), 0, tables_)) fail("sqlite_master");
}

SqliteReader::~SqliteReader() = default;

void SqliteReader::fail(std::string_view table) const {
  throw_input_error("{}: table {} cannot be read: {}", path_, table, printable(sqlite3_errmsg(database_.get())));
}

bool SqliteReader::has_table(std::string_view table) const {
  return std::ranges::find(tables_, table) != tables_.end();
}

bool SqliteReader::has_column(std::string_view table, std::string_view column) const {
  const std::vector<std::string> columns = columns_of(table);
  return std::ranges::find(columns, column) != columns.end();
}

std::uint64_t SqliteReader::rows(std::string_view table) const {
  if (!has_table(table)) return 0;
  const Statement statement = prepare(database_.get(), "SELECT COUNT(*) FROM " + sql_name(table));
  if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) fail(table);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sqlite3_column_int64(statement.get(), 0), 0));
}

std::vector<std::string> SqliteReader::columns_of(std::string_view table) const {
  std::vector<std::string> columns;
  if (!has_table(table)) return columns;
  // table_info lists only stored columns, not generated ones.
  const Statement statement = prepare(database_.get(), "PRAGMA table_info(" + sql_name(table) + ")");
  if (!append_names(statement.get(), 1, columns)) fail(table);
  return columns;
}

void SqliteReader::each(std::string_view table, const std::vector<std::string>& columns, std::size_t first_optional,
                        const std::function<void(const Row&)>& take) const {
  if (!has_table(table)) return;
  const std::vector<std::string> present = columns_of(table);
  std::vector<int> places;
  std::string list;
  int next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool found = std::ranges::find(present, columns[i]) != present.end();
    if (!found && i < first_optional) throw_input_error("{}: table {} has no column {}", path_, table, columns[i]);
    places.push_back(found ? next++ : -1);
    if (found) list += (list.empty() ? "" : ", ") + sql_name(columns[i]);
  }
  if (list.empty()) throw_input_error("{}: table {} has none of the columns that it should", path_, table);
  const Statement statement = prepare(database_.get(), "SELECT " + list + " FROM " + sql_name(table));
  if (!statement) fail(table);
  Row row;
  row.file_ = &path_;
  row.table_ = table;
  row.names_ = &columns;
  row.places_ = &places;
  row.statement_ = statement.get();
  for (;;) {
    const int step = sqlite3_step(statement.get());
    if (step == SQLITE_DONE) return;
    if (step != SQLITE_ROW) fail(table);
    ++row.number_;
    take(row);
  }
}

bool SqliteReader::Row::has(std::size_t column) const {
  const int place = (*places_)[column];
  return place >= 0 && sqlite3_column_type(statement_, place) != SQLITE_NULL;
}

std::int64_t SqliteReader::Row::integer(std::size_t column, std::int64_t least, std::int64_t most,
                                        std::int64_t fallback) const {
  return has(column) ? required(column, least, most) : fallback;
}

std::int64_t SqliteReader::Row::required(std::size_t column, std::int64_t least, std::int64_t most) const {
  const std::string& name = (*names_)[column];
  if (!has(column)) throw_input_error("{}: table {}, row {}: {} is missing", *file_, table_, number_, name);
  const int place = (*places_)[column];
  if (sqlite3_column_type(statement_, place) != SQLITE_INTEGER) {
    throw_input_error("{}: table {}, row {}: {} is no integer", *file_, table_, number_, name);
  }
  const std::int64_t value = sqlite3_column_int64(statement_, place);
  if (value < least || value > most) {
    throw_input_error("{}: table {}, row {}: {} is {}; allowed: {} to {}", *file_, table_, number_, name, value, least,
                      most);
  }
  return value;
}

std::string SqliteReader::Row::text(std::size_t column) const {
  std::string text = whole_text(column);
  if (text.size() > kLongestText) text.resize(kLongestText);
  return text;
}

std::string SqliteReader::Row::whole_text(std::size_t column) const {
  if (!has(column)) return {};
  const int place = (*places_)[column];
  if (sqlite3_column_type(statement_, place) != SQLITE_TEXT) {
    throw_input_error("{}: table {}, row {}: {} is no text", *file_, table_, number_, (*names_)[column]);
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, place));
  const auto bytes = static_cast<std::size_t>(std::max(sqlite3_column_bytes(statement_, place), 0));
  return text == nullptr ? std::string() : std::string(text, bytes);
}

}  // namespace uvmsim
