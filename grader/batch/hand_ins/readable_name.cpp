#include "grader/batch/hand_ins/readable_name.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "engine/base/nearest.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::grader {
namespace {

// Nothing when the text is not UTF-8.
std::optional<std::string> mapped(const std::string& text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                                   static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, std::free);
  if (length < 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length));
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// The marks that keyboards type for an apostrophe, besides those that utf8proc knows.
std::string with_plain_apostrophes(std::string name) {
  constexpr std::array marks{"`", "\u00b4", "\u2032", "\u201b", "\uff07"};
  for (const std::string mark : marks) {
    for (std::size_t at; (at = name.find(mark)) != name.npos;) name.replace(at, mark.size(), "'");
  }
  return name;
}

std::vector<std::string> words_in(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream in(name);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

// Equal for names that a reader takes for one.
std::string key_of(const std::string& name) {
  constexpr int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                          UTF8PROC_IGNORE | UTF8PROC_LUMP;
  return joined(words_in(mapped(with_plain_apostrophes(name), options).value_or(name)));
}

// Equal also where accents and marks are missing, or the names are in another order.
std::string loose_key_of(const std::string& name) {
  constexpr int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_STRIPMARK;
  std::string key = key_of(name);
  key = mapped(key, options).value_or(key);
  for (char& c : key) {
    const bool mark = static_cast<unsigned char>(c) < 0x80 && std::isalnum(c) == 0;
    if (mark) c = ' ';
  }
  std::vector<std::string> words = words_in(key);
  std::sort(words.begin(), words.end());
  return joined(words);
}

}  // namespace

std::string composed(const std::string& text) {
  return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE).value_or(text);
}

std::string readable_name(const std::string& bytes) {
  const std::string name = composed(bytes);
  const bool clean = sim::printable(name, name.size()) == name;
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool like_an_escape =
        name[i] == '%' && i + 2 < name.size() && is_hex(name[i + 1]) && is_hex(name[i + 2]);
    const bool plain = (byte >= 0x20 && byte < 0x7f && !like_an_escape) || (byte >= 0x80 && clean);
    if (plain) {
      out.push_back(name[i]);
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", byte);
      out += escape;
    }
  }
  return out;
}

std::string lower_case(std::string bytes) {
  for (char& c : bytes) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return bytes;
}

std::size_t slash_before_exercise(const std::string& text) {
  std::size_t slash = text.find('/');
  while (slash != text.npos && text.find(' ', slash) != text.npos)
    slash = text.find('/', slash + 1);
  return slash;
}

LookAlikes look_alikes(const std::set<std::string>& handed_in,
                       const std::set<std::string>& roster) {
  std::map<std::string, std::vector<std::string>> by_key;
  std::map<std::string, std::string> by_loose_key;  // of those without a hand-in
  std::vector<std::string> loose_keys;
  for (const std::string& listed : roster) {
    by_key[key_of(listed)].push_back(listed);
    if (handed_in.contains(listed)) continue;
    if (by_loose_key.emplace(loose_key_of(listed), listed).second) {
      loose_keys.push_back(loose_key_of(listed));
    }
  }
  LookAlikes found;
  for (const std::string& theirs : handed_in) {
    if (roster.empty() || roster.contains(theirs)) continue;
    const auto same = by_key.find(key_of(theirs));
    const bool one = same != by_key.end() && same->second.size() == 1;
    if (one && !handed_in.contains(same->second.front())) {
      found.taken_for[theirs] = same->second.front();
    } else if (const auto close = nearest(loose_key_of(theirs), loose_keys)) {
      found.perhaps[theirs] = by_loose_key.at(*close);
    }
  }
  return found;
}

}  // namespace lockstep::grader
