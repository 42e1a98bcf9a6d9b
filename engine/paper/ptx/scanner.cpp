#include "engine/paper/ptx/scanner.hpp"

#include <charconv>
#include <stdexcept>

namespace lockstep::paper::ptx {
namespace {

bool of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || c == '%' || c == ':';
}

}  // namespace

bool Scanner::done() {
  skip_space();
  return at_ >= text_.size();
}

char Scanner::peek() { return done() ? '\0' : text_[at_]; }

bool Scanner::take(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

void Scanner::expect(char c) {
  if (!take(c)) fail(std::string("a '") + c + "' is missing");
}

void Scanner::fail(const std::string& what) const {
  throw std::runtime_error("line " + std::to_string(line_) + " of the PTX: " + what);
}

void Scanner::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n')
      ++line_, ++at_;
    else if (c == ' ' || c == '\t' || c == '\r')
      ++at_;
    else if (text_.substr(at_, 2) == "//")
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_);
      if (end == std::string_view::npos)
        at_ = text_.size();
      else
        for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else
      return;
  }
}

std::string Scanner::word() {
  skip_space();
  const std::size_t begin = at_;
  while (at_ < text_.size() && of_word(text_[at_])) ++at_;
  if (begin == at_) fail(std::string("a word is missing at '") + peek() + "'");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Scanner::operand() {
  std::string text;
  int depth = 0;
  for (;; ++at_) {
    const char c = peek();
    if (c == '\0') fail("it ends within a statement");
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if ((depth == 0 && (c == ',' || c == ';')) || depth < 0) return text;
    text += c;
  }
}

std::string Scanner::rest_of_line() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

// Most of a text is passed over in this way.
void Scanner::skip_braces() {
  for (int depth = 1; depth > 0; ++at_) {
    if (at_ < text_.size() && text_[at_] == '/') skip_space();  // a comment may hold braces
    if (at_ >= text_.size()) fail("a '}' is missing");
    const char c = text_[at_];
    depth += (c == '{') - (c == '}');
    line_ += c == '\n';
  }
}

std::uint32_t Scanner::number() {
  const std::string digits = word();
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail("'" + digits + "' is no number");
  }
  return value;
}

std::string_view Scanner::quoted() {
  expect('"');
  const std::size_t begin = at_, end = text_.find('"', begin);
  if (end == std::string_view::npos) fail("a '\"' is missing");
  at_ = end + 1;
  return text_.substr(begin, end - begin);
}

void Scanner::skip_past(char c) {
  while (!take(c)) {
    if (done()) fail(std::string("a '") + c + "' is missing");
    ++at_;
  }
}

}  // namespace lockstep::paper::ptx
