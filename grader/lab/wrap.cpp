#include "grader/lab/wrap.hpp"

#include <algorithm>
#include <sstream>

namespace lockstep::grader {
namespace {

constexpr std::size_t label_columns_max = 32;

// Behind the escape sequence that begins at `at`; `at` itself where none begins.
std::size_t behind_escape(const std::string& line, std::size_t at) {
  if (line[at] != '\x1b') return at;
  const std::size_t end = line.find_first_of("mKHJhl", at);
  return end == std::string::npos ? line.size() : end + 1;
}

bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool quotes_source(const std::string& line) {
  const std::size_t at = line.find_first_not_of(" 0123456789");
  return at != std::string::npos && line[at] == '|' && at >= 4;
}

// The column below which the rest of a broken line stands.
std::size_t hanging_indent(const std::string& line) {
  std::size_t column = 0, spaces = 0, indent = 0;
  bool words = false;
  for (std::size_t at = 0; at < line.size() && column <= label_columns_max;) {
    if (const std::size_t next = behind_escape(line, at); next != at) {
      at = next;
      continue;
    }
    if (line[at] == ' ') {
      ++spaces;
    } else if (!continues_letter(line[at])) {
      if (!words || spaces >= 2) indent = column;
      words = true;
      spaces = 0;
    }
    column += !continues_letter(line[at++]);
  }
  return indent;
}

void wrap_line(std::string& out, const std::string& line, std::size_t columns) {
  std::size_t indent = hanging_indent(line);
  if (2 * indent > columns) indent = 2;
  std::size_t begin = 0;  // of the line that is being filled
  std::size_t column = 0, space = std::string::npos;
  for (std::size_t at = 0; at < line.size();) {
    if (const std::size_t next = behind_escape(line, at); next != at) {
      at = next;
      continue;
    }
    const bool is_label = begin == 0 && column < indent;
    if (line[at] == ' ' && !is_label && at > begin) space = at;
    column += !continues_letter(line[at++]);
    if (column <= columns || space == std::string::npos) continue;
    out += line.substr(begin, space - begin) + "\n" + std::string(indent, ' ');
    begin = line.find_first_not_of(' ', space);
    if (begin == std::string::npos) begin = line.size();
    at = begin;
    column = indent;
    space = std::string::npos;
  }
  out += line.substr(begin) + "\n";
}

bool is_plain(const std::string& line) {
  const bool numbered = line.size() > 1 && line[0] >= '0' && line[0] <= '9' &&
                        line.find_first_not_of("0123456789") == line.find(". ");
  return !line.empty() && std::string("#|-*>`").find(line[0]) == std::string::npos &&
         line.rfind("    ", 0) != 0 && !numbered;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& words) {
  std::istringstream in(words);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t columns_of(const std::string& line) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (const std::size_t next = behind_escape(line, at); next != at) {
      at = next;
    } else {
      columns += !continues_letter(line[at++]);
    }
  }
  return columns;
}

std::string wrapped(const std::string& words, std::size_t columns) {
  if (columns == 0) return words;
  std::string out;
  for (const std::string& line : lines_of(words)) {
    if (columns_of(line) <= columns || quotes_source(line)) {
      out += line + "\n";
    } else {
      wrap_line(out, line, columns);
    }
  }
  if (!words.empty() && words.back() != '\n' && !out.empty()) out.pop_back();
  return out;
}

std::string reflowed(const std::string& markdown, std::size_t columns) {
  if (columns == 0) return markdown;
  std::string out;
  bool paragraph = false;  // `out` ends within one
  bool fenced = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.rfind("```", 0) == 0) fenced = !fenced;
    const bool plain = !fenced && is_plain(line);
    const bool joins = paragraph && plain;
    if (joins) out.back() = ' ';
    const std::size_t first = joins ? line.find_first_not_of(' ') : 0;
    out += line.substr(first) + "\n";
    const bool item = !fenced && line.size() > 1 && (line[0] == '-' || line[0] == '*');
    paragraph = plain || item;
  }
  return wrapped(out, columns);
}

std::string padded(std::string words, std::size_t columns) {
  const std::size_t taken = columns_of(words);
  if (taken < columns) words.append(columns - taken, ' ');
  return words;
}

}  // namespace lockstep::grader
