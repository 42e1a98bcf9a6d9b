#include "engine/sim/wire/printable.hpp"

#include <algorithm>
#include <array>

#include "engine/base/text.hpp"

namespace lockstep::sim {

namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 when it begins with none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xc2 && first <= 0xdf ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if (first == 0xe0 && at(1) < 0xa0) return 0;
  if (first == 0xed && at(1) > 0x9f) return 0;
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

// Control characters: C0 but for newline and tab, DEL, and C1 (U+0080 to U+009F).
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

// The characters that change the order in which the text around them is shown.
bool turns_text_around(std::string_view character) {
  constexpr std::array marks{"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
                             "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};
  return std::find(marks.begin(), marks.end(), character) != marks.end();
}

}  // namespace

std::string printable(std::string_view text, std::size_t length_max) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool kept = length > 0 && !is_control(character) && !turns_text_around(character);
    if (result.size() + (kept ? length : 1) > length_max) break;
    result += kept ? character : "?";
    text.remove_prefix(character.size());
  }
  return result;
}

std::string place_of(std::string_view file, int line) {
  if (file.empty()) return {};
  // The last of these folders: the lab itself may lie in somebody's folder "work".
  std::size_t begin = 0;
  for (std::string_view root : {"/work/", "/solutions/", "/exercises/", "/engine/", "/tests/"}) {
    if (const auto at = file.rfind(root); at != std::string_view::npos) {
      begin = std::max(begin, at + 1);
    }
  }
  file.remove_prefix(begin);
  return text(printable(file, 160), ":", line);
}

}  // namespace lockstep::sim
