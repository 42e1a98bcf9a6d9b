#include "grader/course/machine_code.hpp"

#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_name(char c) { return begins_name(c) || is_decimal(c); }

// "__section__" → "section".
std::string_view without_underscores(std::string_view name) {
  if (name.starts_with("__")) name.remove_prefix(2);
  if (name.ends_with("__")) name.remove_suffix(2);
  return name;
}

bool is_one_of(std::string_view name, const auto& all) {
  for (const std::string_view one : all) {
    if (name == one) return true;
  }
  return false;
}

constexpr std::array<std::string_view, 5> attributes{"section", "alias", "weakref", "ifunc",
                                                     "symver"};
constexpr std::array<std::string_view, 5> raw_prefixes{"R", "LR", "uR", "UR", "u8R"};

// A marker of the preprocessor: # 12 "work/x.cpp" 3 4.
struct Marker {
  int line = 0;
  std::string file;
};

std::optional<Marker> marker_in(std::string_view line) {
  if (!line.starts_with("# ") || line.size() < 3 || !is_decimal(line[2])) return std::nullopt;
  Marker marker;
  std::size_t at = 2;
  while (at < line.size() && is_decimal(line[at]) && at < 11) {
    marker.line = marker.line * 10 + (line[at++] - '0');
  }
  const std::size_t open = line.find('"', at), close = line.rfind('"');
  if (open == std::string_view::npos || close <= open) return std::nullopt;
  marker.file = line.substr(open + 1, close - open - 1);
  return marker;
}

// Goes through the preprocessed text once. Tokens of headers are not looked at.
class Search {
 public:
  Search(const std::string& text, const std::string& file)
      : text_(text), file_(file), name_(std::filesystem::path(file).filename()) {}

  std::optional<std::string> found() {
    while (at_ < text_.size() && !found_) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = std::string_view(text_).substr(at_, end - at_);
      if (const auto marker = marker_in(line)) {
        // However it is spelled, the file may include itself.
        own_ = std::filesystem::path(marker->file).filename() == name_;
        line_ = marker->line;
        at_ = end + 1;
      } else if (!own_ || line.starts_with("#")) {
        next_line(end);
      } else {
        tokens();
      }
    }
    return found_;
  }

 private:
  void next_line(std::size_t end) {
    at_ = end + 1;
    ++line_;
  }

  void tokens() {
    while (at_ < text_.size() && !found_) {
      const char c = text_[at_];
      if (c == '\n') return next_line(at_);
      if (begins_name(c)) {
        name();
      } else if (is_decimal(c)) {
        number();
      } else if (c == '"' || c == '\'') {
        quoted(c);
      } else {
        mark();
      }
    }
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string_view word = std::string_view(text_).substr(begin, at_ - begin);
    last_ = 'a';
    if (at_ < text_.size() && text_[at_] == '"' && is_one_of(word, raw_prefixes)) return raw();
    const std::string_view plain = without_underscores(word);
    if (word == "asm" || word == "__asm" || word == "__asm__") {
      found_ = text(file_, ":", line_, ": ", word,
                    " is refused: a part is written in C++, and nobody can read what an assembler "
                    "is told");
    } else if (in_attribute() && is_one_of(plain, attributes)) {
      found_ = text(file_, ":", line_, ": the attribute ", plain,
                    " is refused: its text goes to the assembler; a part needs none");
    }
    if (word == "__attribute__" || word == "__attribute") attribute_depth_ = 0;
  }

  // With the quotes between its digits, which begin no character.
  void number() {
    while (at_ < text_.size() &&
           (in_name(text_[at_]) || text_[at_] == '.' ||
            (text_[at_] == '\'' && at_ + 1 < text_.size() && in_name(text_[at_ + 1])))) {
      ++at_;
    }
    last_ = '0';
  }

  void quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2u : 1u;
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
    last_ = quote;
  }

  // R"delimiter(…)delimiter", which may hold whatever looks like a line of its own.
  void raw() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string::npos) return end();
    const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
    const std::size_t behind = text_.find(close, open);
    if (behind == std::string::npos) return end();
    for (; at_ < behind + close.size(); ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
    last_ = '"';
  }
  void end() { at_ = text_.size(); }

  void mark() {
    char c = text_[at_++];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return;
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if ((c == '<' && next == ':') || (c == ':' && next == '>')) {  // other spellings of [ and ]
      c = c == '<' ? '[' : ']';
      ++at_;
    }
    if (c == '[' && last_ == '[') in_brackets_ = true;
    if (c == ']' && last_ == ']') in_brackets_ = false;
    if (attribute_depth_ >= 0 && c == '(') ++attribute_depth_;
    if (attribute_depth_ > 0 && c == ')' && --attribute_depth_ == 0) attribute_depth_ = -1;
    last_ = c;
  }
  bool in_attribute() const { return in_brackets_ || attribute_depth_ > 0; }

  const std::string& text_;
  const std::string& file_;
  const std::filesystem::path name_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool own_ = false;  // the line is the student's
  char last_ = '\0';  // the last token's first letter, or what stands for its kind
  bool in_brackets_ = false;
  int attribute_depth_ = -1;  // of parentheses behind __attribute__; -1: not in one
  std::optional<std::string> found_;
};

std::string without_splices(const std::string& source) {
  std::string out;
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\\') {
      std::size_t end = at + 1;
      while (end < source.size() &&
             (source[end] == ' ' || source[end] == '\t' || source[end] == '\r' ||
              source[end] == '\v' || source[end] == '\f')) {
        ++end;
      }
      if (end < source.size() && source[end] == '\n') {
        at = end;
        continue;
      }
    }
    out += source[at];
  }
  return out;
}

// Behind blanks and comments.
std::size_t behind_blanks(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text.substr(at).starts_with("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos) return at;
      at = end + 2;
    } else if (text[at] != '\n' && std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else {
      return at;
    }
  }
  return at;
}

// The length of the # of a line directive that begins at `at`, behind blanks; 0 if there is none.
std::size_t line_directive_at(std::string_view text, std::size_t at) {
  const std::size_t sign = text.substr(at).starts_with("#")    ? 1
                           : text.substr(at).starts_with("%:") ? 2
                                                               : 0;
  if (sign == 0) return 0;
  const std::string_view rest = text.substr(behind_blanks(text, at + sign));
  const bool word = rest.starts_with("line") && (rest.size() == 4 || !in_name(rest[4]));
  return word || (!rest.empty() && is_decimal(rest.front())) ? sign : 0;
}

}  // namespace

std::optional<std::string> machine_code_in(const std::string& preprocessed,
                                           const std::string& file) {
  return Search(preprocessed, file).found();
}

bool may_hold_machine_code(const std::string& source) {
  const std::string whole = without_splices(source);
  for (const char* piece :
       {"asm", "##", "%:%:", "section", "alias", "weakref", "ifunc", "symver"}) {
    if (whole.find(piece) != std::string::npos) return true;
  }
  return false;
}

std::optional<std::string> without_line_directives(const std::string& source) {
  std::string out = without_splices(source);
  bool found = false;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const bool begins =
        at == 0 || out[at - 1] == '\n' || (at > 1 && out[at - 2] == '*' && out[at - 1] == '/');
    if (!begins) continue;
    const std::size_t sign = behind_blanks(out, at), length = line_directive_at(out, sign);
    for (std::size_t i = 0; i < length; ++i) out[sign + i] = ' ';
    found = found || length > 0;
  }
  return found ? std::optional(out) : std::nullopt;
}

std::string foreign_markers(const std::string& preprocessed, const std::string& file) {
  const std::filesystem::path own = std::filesystem::path(file).filename();
  std::istringstream lines(preprocessed);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const auto marker = marker_in(line);
    if (!marker || std::filesystem::path(marker->file).filename() == own) continue;
    out += text(marker->line, " ", marker->file, "\n");
  }
  return out;
}

std::string refused_line_directive(const std::string& file) {
  return file +
         ": #line is refused, and so are line markers: they would hide where code comes from";
}

bool changes_its_compiler(const std::string& preprocessed) {
  for (const char* pragma :
       {"#pragma GCC optimize", "#pragma GCC target", "#pragma GCC pop_options",
        "#pragma GCC reset_options", "#pragma clang"}) {
    if (preprocessed.find(pragma) != std::string::npos) return true;
  }
  return false;
}

}  // namespace lockstep::grader
