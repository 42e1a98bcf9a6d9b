// Reads declarations by their layout: what stands in column 0 is at namespace scope (habits.hpp).
#include "tests/house/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

namespace lockstep::house {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string without_blanks(const std::string& text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != ' '; });
  return out;
}

// The word that `rest` begins with, which is taken off together with the blanks behind it.
std::string take_word(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() && is_of_word(rest[length])) ++length;
  const std::string word(rest.substr(0, length));
  while (length < rest.size() && rest[length] == ' ') ++length;
  rest.remove_prefix(length);
  return word;
}

// Passes over "alignas(64) " and "[[nodiscard]] ".
void skip_attributes(std::string_view& rest) {
  while (true) {
    std::string_view after = rest;
    if (rest.starts_with("[[")) {
      after.remove_prefix(std::min(rest.find("]]") + 2, rest.size()));
    } else if (rest.starts_with("alignas(")) {
      after.remove_prefix(std::min(rest.find(')') + 1, rest.size()));
    } else {
      return;
    }
    while (after.starts_with(' ')) after.remove_prefix(1);
    rest = after;
  }
}

// The code from line `index` on, up to the ';' or '{' that ends its first declaration.
std::string declaration_at(const Source& source, std::size_t index) {
  std::string all;
  for (std::size_t i = index; i < source.lines.size(); ++i) {
    const std::string code = code_of(source.lines[i]);
    const auto end = code.find_first_of(";{");
    all += code.substr(0, end == std::string::npos ? end : end + 1);
    if (end != std::string::npos) break;
  }
  return all;
}

std::optional<NamedType> type_declared_by(const std::string& declaration) {
  std::string_view rest = declaration;
  const std::string keyword = take_word(rest);
  NamedType type;
  if (keyword == "using") {
    type.name = take_word(rest);
    if (!rest.starts_with('=')) return std::nullopt;  // using namespace, using a::b
    type.alias_of = without_blanks(std::string(rest.substr(1, rest.size() - 2)));
    return type;
  }
  constexpr std::array keywords{"struct", "class", "enum", "union"};
  if (std::ranges::find(keywords, keyword) == keywords.end()) return std::nullopt;
  if (rest.starts_with("class ") || rest.starts_with("struct ")) take_word(rest);  // of an enum
  skip_attributes(rest);
  type.name = take_word(rest);
  if (rest.starts_with("final")) take_word(rest);
  const bool defines = rest.starts_with('{') || (rest.starts_with(':') && !rest.starts_with("::"));
  if (type.name.empty() || !defines || !declaration.ends_with('{')) return std::nullopt;
  return type;
}

std::string address_of(const NamedType& type) {
  return type.path + ":" + std::to_string(type.line_index + 1);
}

std::vector<NamedType> types_of(const std::vector<Source>& sources) {
  std::vector<NamedType> all;
  for (const Source& source : sources) {
    std::ranges::copy(named_types(source), std::back_inserter(all));
  }
  return all;
}

bool is_comment(const std::string& line) {
  const auto first = line.find_first_not_of(' ');
  return first != std::string::npos && line.compare(first, 2, "//") == 0;
}

bool opens_as_fragment(std::string_view line) {
  line.remove_prefix(line.find("//") + 2);
  while (line.starts_with(' ')) line.remove_prefix(1);
  const std::string word = take_word(line);
  constexpr std::array openings{"Of", "What", "Whether", "Where", "Who"};
  return std::ranges::find(openings, word) != openings.end();
}

}  // namespace

std::vector<NamedType> named_types(const Source& source) {
  std::vector<NamedType> types;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    if (source.lines[i].empty() || !is_of_word(source.lines[i].front())) continue;
    auto type = type_declared_by(declaration_at(source, i));
    if (!type) continue;
    type->path = source.path;
    type->line_index = i;
    types.push_back(*std::move(type));
  }
  return types;
}

std::string room_of(const std::string& path) {
  std::size_t folders = 2;
  if (path.starts_with("engine/parallel/")) folders = 3;
  if (path.starts_with("grader/parts/")) folders = 4;
  std::size_t end = 0;
  while (folders > 0 && path.find('/', end + 1) != std::string::npos) {
    end = path.find('/', end + 1);
    --folders;
  }
  return path.substr(0, end);
}

Complaints names_shared_in_rooms(const std::vector<Source>& sources) {
  std::map<std::pair<std::string, std::string>, NamedType> first;  // by room and name
  Complaints found;
  for (const NamedType& type : types_of(sources)) {
    const std::string room = room_of(type.path);
    const auto [known, is_new] = first.emplace(std::pair(room, type.name), type);
    if (is_new || (!type.alias_of.empty() && type.alias_of == known->second.alias_of)) continue;
    found.push_back(address_of(type) + ": " + room + " has a type " + type.name + " already, in " +
                    address_of(known->second) + ": give each a name that says what it alone is");
  }
  return found;
}

Complaints taken_house_words(const std::vector<Source>& sources, const HouseWords& words,
                             const std::vector<std::string>& exceptions) {
  Complaints found;
  std::set<std::string> at_home, needed;
  for (const NamedType& type : types_of(sources)) {
    const auto word = words.find(type.name);
    if (word == words.end()) continue;
    if (type.path == word->second && at_home.insert(type.name).second) continue;
    const std::string exception = type.path + " " + type.name;
    if (std::ranges::find(exceptions, exception) != exceptions.end()) {
      needed.insert(exception);
      continue;
    }
    found.push_back(address_of(type) + ": " + type.name + " is a house word" +
                    (word->second.empty() ? "" : ", the type in " + word->second) +
                    ": take another name");
  }
  for (const auto& [word, path] : words) {
    if (path.empty() || at_home.contains(word)) continue;
    found.push_back(path + " has no type " + word + ": correct the list of house words");
  }
  for (const std::string& exception : exceptions) {
    if (needed.contains(exception)) continue;
    found.push_back(exception + ": an exception that nothing needs");
  }
  return found;
}

Complaints fragment_comments(const Source& source) {
  Complaints found;
  bool goes_on = false;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const bool comment = is_comment(source.lines[i]);
    if (comment && !goes_on && opens_as_fragment(source.lines[i])) {
      found.push_back(complaint(source, i, "the comment opens as a fragment: name its subject"));
    }
    goes_on = comment;
  }
  return found;
}

}  // namespace lockstep::house
