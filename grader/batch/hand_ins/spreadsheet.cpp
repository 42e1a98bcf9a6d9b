#include "grader/batch/hand_ins/spreadsheet.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t spreadsheet_bytes_max = 8 << 20;

std::string without_mark(const std::string& bytes, const std::string& what) {
  if (bytes.size() > spreadsheet_bytes_max) {
    throw UsageError(
        text(what, " has more than ", spreadsheet_bytes_max, " bytes: is it a CSV file?"));
  }
  const bool wide = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff") ||
                    bytes.substr(0, 4).find('\0') != std::string::npos;
  if (wide) throw UsageError(what + " is UTF-16: save it again as \"CSV UTF-8\"");
  return bytes.starts_with("\xef\xbb\xbf") ? bytes.substr(3) : bytes;
}

// The separator that Excel names in a first line of its own: "sep=;". A program that saved the
// table again may have put quotes around the line, and filled it up to the width of the table.
std::optional<char> named_separator(const std::string& text, const std::string& what) {
  std::string line = text.substr(0, std::min(text.find_first_of("\r\n"), text.size()));
  std::erase(line, '"');
  const std::string mark = "sep=", known = ",;\t";
  if (lower_case(line.substr(0, mark.size())) != mark) return std::nullopt;
  if (line.size() == mark.size() || line.find_first_not_of(known, mark.size()) != line.npos) {
    refuse_line(what, 1, "sep= names the separator, which can be a comma, a semicolon or a tab");
  }
  return line[mark.size()];
}

// The separator that the first line has most of, outside quotes.
char separator_of(const std::string& text) {
  std::array<std::pair<char, std::size_t>, 3> seen{{{',', 0}, {';', 0}, {'\t', 0}}};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) break;
    for (auto& [separator, count] : seen) count += !quoted && c == separator ? 1 : 0;
  }
  return std::max_element(seen.begin(), seen.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string trimmed(const std::string& cell_text) {
  const char* const blank = " \t\r\n";
  const std::size_t first = cell_text.find_first_not_of(blank);
  if (first == std::string::npos) return "";
  return cell_text.substr(first, cell_text.find_last_not_of(blank) - first + 1);
}

// Cell by cell, as RFC 4180 says; a quote inside a cell that does not begin with one is a letter.
class SheetReader {
 public:
  SheetReader(const std::string& text, const std::string& what)
      : text_(text), what_(what), named_(named_separator(text, what)) {
    separator_ = named_ ? *named_ : separator_of(text);
  }
  SheetReader(const std::string& text, const std::string& what, char separator)
      : text_(text), what_(what), separator_(separator) {}

  std::vector<SpreadsheetRow> rows() {
    std::vector<SpreadsheetRow> all;
    if (named_) {
      at_ = std::min(text_.find_first_of("\r\n"), text_.size());
      end_line();
    }
    while (at_ < text_.size()) {
      SpreadsheetRow row{line_, {}};
      do row.cells.push_back(trimmed(cell_text()));
      while (take(separator_));
      end_line();
      const bool blank = std::all_of(row.cells.begin(), row.cells.end(),
                                     [](const std::string& one) { return one.empty(); });
      if (!blank) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void end_line() {
    const bool returned = take('\r');
    if (!take('\n') && !returned && at_ < text_.size()) {
      refuse_line(what_, line_,
                  "after a closing quote comes neither a separator nor the line's end");
    }
    ++line_;
  }
  std::string cell_text() {
    if (take('"')) return quoted_cell();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  std::string quoted_cell() {
    const int opened = line_;
    std::string inside;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return inside;
      line_ += c == '\n' ? 1 : 0;
      inside += c;
    }
    refuse_line(what_, opened, "a quote is opened and never closed");
  }

  const std::string& text_;
  const std::string& what_;
  const std::optional<char> named_;
  char separator_ = ',';
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

void refuse_line(const std::string& what, int line, const std::string& why) {
  throw UsageError(text(what, "'s line ", line, ": ", why));
}

std::vector<SpreadsheetRow> read_spreadsheet(const std::string& bytes, const std::string& what) {
  const std::string content = without_mark(bytes, what);
  std::vector<SpreadsheetRow> rows = SheetReader(content, what).rows();
  for (const SpreadsheetRow& row : rows) {
    for (const std::string& one : row.cells) {
      if (one == sim::printable(one, one.size())) continue;
      refuse_line(what, row.line,
                  "it is not UTF-8, or holds control characters: save it again as "
                  "\"CSV UTF-8\"");
    }
  }
  return rows;
}

std::vector<std::string> names_in_list(const std::string& list, const std::string& option) {
  std::vector<std::string> names;
  for (const SpreadsheetRow& row : SheetReader(list, option, ',').rows()) {
    for (const std::string& name : row.cells) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

std::size_t column_called(const std::vector<std::string>& cells, const std::string& name) {
  const auto at = std::find_if(cells.begin(), cells.end(), [&](const std::string& one) {
    return lower_case(composed(one)) == lower_case(composed(name));
  });
  return static_cast<std::size_t>(at - cells.begin());
}

}  // namespace lockstep::grader
