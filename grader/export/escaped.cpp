#include "grader/export/escaped.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace lockstep::grader {
namespace {

// A spreadsheet computes what begins with one of these. The last four are = + - @ in full width,
// which keyboards for East Asian scripts type.
bool begins_formula(std::string_view rest) {
  constexpr std::array<std::string_view, 8> signs{"=",      "+",      "-",      "@",
                                                  "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  return std::ranges::any_of(signs, [&](auto sign) { return rest.starts_with(sign); });
}

// Puts ' before what a spreadsheet would compute. Where the list separator is a semicolon, as in
// half of Europe, a spreadsheet divides our lines at semicolons and tabs, also inside quotes: so a
// cell may begin behind each of them, and behind a line's end. Blanks and quotes may stand before
// the sign, since spreadsheets drop them.
std::string without_formulas(const std::string& text) {
  std::string out;
  bool at_beginning = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (at_beginning && begins_formula(rest)) out += '\'';
    const auto is_one_of = [&](std::string_view all) { return all.find(text[i]) != all.npos; };
    at_beginning = is_one_of(";\t\n\r") || (at_beginning && is_one_of(" \"\u00a0"));
    out += text[i];
  }
  return out;
}

}  // namespace

std::string escaped_markup(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += byte < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string escaped_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      out += escaped_markup(std::string(1, c));
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else {
      if (std::string_view("\\`*_[]|~#").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string escaped_address(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += plain ? std::string(1, c) : std::string(escape);
  }
  return out;
}

std::string escaped_file_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || c == '_' || byte >= 0x80;
    const bool inner = !out.empty() && std::string_view("-.@+ ").find(c) != std::string_view::npos;
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned>(byte));
    out += letter || inner ? std::string(1, c) : std::string(escape);
  }
  return out;
}

std::string cell(const std::string& text) {
  const std::string safe = without_formulas(text);
  if (safe.find_first_of(",\"\n\r") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace lockstep::grader
