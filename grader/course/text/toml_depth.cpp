#include "grader/course/text/toml_depth.hpp"

#include <cctype>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

constexpr int brackets_max = 32;  // open at once
constexpr int parts_max = 16;     // of a key such as a.b.c

// The length of the UTF-8 character at `at`; 0 when there is none.
std::size_t character_at(std::string_view content, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(content[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (at + length > content.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

std::optional<TomlProblem> wrong_encoding(std::string_view content) {
  if (content.starts_with("\xff\xfe") || content.starts_with("\xfe\xff")) {
    return TomlProblem{0, "it is saved as UTF-16: save it as UTF-8"};
  }
  int line = 1;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t length = character_at(content, at);
    if (length == 0) {
      return TomlProblem{line, "a character is not UTF-8 (saved as Latin-1?): save it as UTF-8"};
    }
    if (content[at] == '\n') ++line;
    at += length;
  }
  return std::nullopt;
}

// Walks through a text as a TOML parser would, but without memory of anything: past strings and
// comments, counting open brackets and the parts of keys. Outside of them TOML is ASCII.
class DepthWalk {
 public:
  explicit DepthWalk(std::string_view content) : content_(content) {
    if (content.starts_with("\xef\xbb\xbf")) at_ = 3;  // the byte-order mark of UTF-8
  }

  std::optional<TomlProblem> problem() {
    while (at_ < content_.size()) {
      step(content_[at_]);
      if (brackets_ > brackets_max) {
        return TomlProblem{line_, text("more than ", brackets_max, " brackets are open at once")};
      }
      if (parts_ > parts_max) {
        return TomlProblem{line_, text("a key has more than ", parts_max, " parts")};
      }
      if (foreign_) {
        return TomlProblem{line_,
                           "an accented letter, a typographic quote or the like stands outside "
                           "straight quotes: write text answers in \"double quotes\""};
      }
    }
    return std::nullopt;
  }

 private:
  void step(char c) {
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_to_end_of_line();
    ++at_;
    foreign_ = static_cast<unsigned char>(c) >= 0x80;
    if (c == '[' || c == '{') ++brackets_;
    if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
    if (c == '\n') ++line_;
    if (c == '.') {
      ++parts_;
    } else if (c == '=' || c == ',' || c == '\n' || c == '{' || c == '[') {
      parts_ = 1;  // another key, or a value, begins
    }
  }

  void skip_to_end_of_line() {
    while (at_ < content_.size() && content_[at_] != '\n') ++at_;
  }

  // One quote ends with its line, three where the next three are.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool long_one = content_.substr(at_).starts_with(three);
    at_ += long_one ? 3 : 1;
    while (at_ < content_.size()) {
      const char c = content_[at_];
      if (c == '\n') {
        if (!long_one) return;
        ++line_;
      }
      if (quote == '"' && c == '\\' && at_ + 1 < content_.size() && content_[at_ + 1] != '\n') {
        at_ += 2;
        continue;
      }
      if (c == quote && (!long_one || content_.substr(at_).starts_with(three))) {
        at_ += long_one ? 3 : 1;
        // Two quotes more still belong to a long string.
        for (int i = 0; long_one && i < 2 && at_ < content_.size() && content_[at_] == quote; ++i) {
          ++at_;
        }
        return;
      }
      ++at_;
    }
  }

  std::string_view content_;
  std::size_t at_ = 0;
  int line_ = 1, brackets_ = 0, parts_ = 1;
  bool foreign_ = false;
};

}  // namespace

std::optional<TomlProblem> unfit_for_toml(std::string_view content) {
  if (auto problem = wrong_encoding(content)) return problem;
  return DepthWalk(content).problem();
}

}  // namespace lockstep::grader
