// A table as a spreadsheet saves it: RFC 4180, with or without a byte-order mark, separated by
// commas, semicolons or tabs: as a first line such as "sep=;" says, else whichever the first line
// has most of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::grader {

// The cells, line by line; lines without any letter are left out.
struct SpreadsheetRow {
  int line = 0;  // where it begins, from 1
  std::vector<std::string> cells;
};

//   what     what messages call it: "the roster"
//   Throws   UsageError with the line: not UTF-8, a quote left open, too long
std::vector<SpreadsheetRow> read_spreadsheet(const std::string& bytes, const std::string& what);

// The place of a heading, in any case; cells.size() when there is none.
std::size_t column_called(const std::vector<std::string>& cells, const std::string& name);

// Throws UsageError: "the roster's line 3: …".
[[noreturn]] void refuse_line(const std::string& what, int line, const std::string& why);

// The names of a list with commas between them, as an option takes it. One that has a comma itself
// stands in quotes: "O'Neill, Siobhán",amy
std::vector<std::string> names_in_list(const std::string& list, const std::string& option);

}  // namespace lockstep::grader
