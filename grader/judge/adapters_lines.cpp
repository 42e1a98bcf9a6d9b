#include "grader/judge/adapters_lines.hpp"

#include <cctype>
#include <string_view>

namespace lockstep::grader {

// By hand, letter by letter: the text may be a player's, of any length.
std::string without_adapters_lines(std::string said) {
  const auto of_path = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const std::string_view folder : {"grader/parts/", "grader/play/"}) {
    for (std::size_t at = said.find(folder); at != std::string::npos; at = said.find(folder, at)) {
      std::size_t begin = at, end = at;
      while (begin > 0 && of_path(said[begin - 1])) --begin;
      while (end < said.size() && of_path(said[end])) ++end;
      const std::size_t colon = end;
      if (end < said.size() && said[end] == ':') ++end;
      while (end < said.size() && is_digit(said[end])) ++end;
      at = end;
      if (end < colon + 2) continue;  // not "path:line"
      const std::string_view before = std::string_view(said).substr(0, begin);
      const char closes = before.ends_with(" (") ? ')' : before.ends_with(" [") ? ']' : '\0';
      const std::size_t close = closes == '\0' ? std::string::npos : said.find(closes, end);
      if (close != std::string::npos) begin -= 2, end = close + 1;
      constexpr std::string_view since = " since its call at ";
      if (before.ends_with(since)) begin -= since.size();
      said.erase(begin, end - begin);
      at = begin;
    }
  }
  return said;
}

}  // namespace lockstep::grader
