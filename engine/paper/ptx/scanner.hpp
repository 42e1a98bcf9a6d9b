// A PTX text, word by word: comments and spaces are passed over, lines are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::paper::ptx {

class Scanner {
 public:
  //   line  the number of the text's first line, for errors
  explicit Scanner(std::string_view text, std::uint32_t line = 1) : text_(text), line_(line) {}

  std::uint32_t line() const { return line_; }
  std::size_t at() const { return at_; }
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  void skip_space();
  bool done();
  char peek();        // '\0' at the end
  bool take(char c);  // whether it came next; if not, nothing is taken
  void expect(char c);
  std::string word();
  std::string operand();  // up to ',' or ';' outside of brackets, without spaces
  std::string rest_of_line();
  std::uint32_t number();
  std::string_view quoted();                                // "…", without the quotes
  void skip_past(char c);                                   // whatever stands before it
  void skip_braces();                                       // from behind a '{' to behind its '}'
  void back(std::size_t characters) { at_ -= characters; }  // of the line that is being read

  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_;
};

}  // namespace lockstep::paper::ptx
