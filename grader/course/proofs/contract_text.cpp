#include "grader/course/proofs/contract_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

using Strings = std::vector<std::string>;
constexpr std::string_view prose = "Does";
constexpr std::size_t key_column = 3;  // behind the slashes, as in "//   Ensures  …"

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}
bool is_comment(std::string_view line) { return line.substr(indent_of(line)).starts_with("//"); }
bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !in_identifier(text[at - 1]);
    if (begins && (end == text.size() || !in_identifier(text[end]))) return true;
  }
  return false;
}

// The name that ends before `end`.
std::string name_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && in_identifier(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

// The declaration that begins on this line, up to its end or its body.
std::string declaration_at(const Strings& lines, std::size_t at) {
  std::string all;
  for (; at < lines.size() && all.find_first_of(";{") == std::string::npos; ++at) {
    all += lines[at].substr(0, lines[at].find("//")) + " ";
  }
  return all;
}

std::string name_declared(const std::string& declaration) {
  if (has_word(declaration, "class")) {
    const std::size_t body = declaration.find('{');
    return name_before(declaration, declaration.find_last_not_of(' ', body - 1) + 1);
  }
  const std::size_t open = declaration.find('(');
  return open == std::string::npos ? "" : name_before(declaration, open);
}

struct Paragraph {
  std::string key;
  int line;
  std::string words;
};

// The column of the words behind the key, or 0 where only the comment's other lines tell.
std::size_t words_behind_key(const std::string& comment) {
  const std::size_t words = comment.find_first_not_of(' ', comment.find("  ", key_column));
  return words == std::string::npos ? 0 : words;
}

bool begins_with_key(const std::string& comment) { return indent_of(comment) == key_column; }

// The comment that ends before line `end`, without its slashes.
std::vector<Paragraph> paragraphs_before(const Strings& lines, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_comment(lines[begin - 1])) --begin;
  Strings comments;
  std::size_t column = 0;
  for (std::size_t at = begin; at < end; ++at) {
    comments.push_back(lines[at].substr(indent_of(lines[at]) + 2));
    if (column == 0 && begins_with_key(comments.back())) column = words_behind_key(comments.back());
  }
  std::vector<Paragraph> paragraphs;
  for (std::size_t i = 0; i < comments.size(); ++i) {
    const std::string& comment = comments[i];
    const std::size_t indent = indent_of(comment);
    if (indent == comment.size()) continue;
    if (indent < key_column && (paragraphs.empty() || paragraphs.back().key != prose)) {
      paragraphs.push_back({std::string(prose), static_cast<int>(begin + i + 1), {}});
    }
    std::size_t words = indent;
    if (begins_with_key(comment)) {
      words = words_behind_key(comment);
      if (words == 0) words = std::min(std::max(column, indent), comment.size());
      std::string key = comment.substr(indent, words - indent);
      key.erase(key.find_last_not_of(' ') + 1);
      paragraphs.push_back({key, static_cast<int>(begin + i + 1), {}});
    }
    if (paragraphs.empty()) continue;
    std::string& all = paragraphs.back().words;
    all += (all.empty() ? "" : " ") + comment.substr(words);
  }
  return paragraphs;
}

// "a; b. C" → "a", "b", "C"
Strings split(const std::string& words) {
  Strings sentences;
  std::size_t start = 0;
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const char next = words[i + 2];
    const bool stops =
        words[i] == ';' || (words[i] == '.' && (is_capital(next) || next == '`' || next == '('));
    if (!stops || words[i + 1] != ' ') continue;
    sentences.push_back(words.substr(start, i - start));
    start = i + 2;
  }
  const std::size_t end = words.find_last_not_of(".;") + 1;
  if (end > start) sentences.push_back(words.substr(start, end - start));
  return sentences;
}

bool is_argument(const std::string& key, const std::string& declaration) {
  return !is_capital(key[0]) && has_word(declaration, key.substr(0, key.find_first_of(" ,")));
}

class Reading {
 public:
  Reading(const std::string& header, const std::vector<std::string>& symbols)
      : lines_(lines_of(header)) {
    for (const std::string& symbol : symbols) {  // "lockstep::ddp::end_join(…)"
      names_.push_back(name_before(symbol, symbol.find_first_of("([")));
    }
  }

  std::vector<ContractSentence> read() {
    std::vector<std::size_t> parts;
    for (std::size_t at = 1; at < lines_.size(); ++at) {
      const bool declares = !lines_[at].empty() && indent_of(lines_[at]) == 0 &&
                            !is_comment(lines_[at]) && is_comment(lines_[at - 1]);
      if (!declares) continue;
      const std::string declaration = declaration_at(lines_, at);
      if (std::ranges::count(names_, name_declared(declaration)) == 0) continue;
      parts.push_back(at);
      read_interface(declaration);
    }
    for (const std::size_t at : parts) add(at);
    return std::move(sentences_);
  }

 private:
  // That of "std::unique_ptr<Reducer> make_…".
  void read_interface(const std::string& declaration) {
    const std::string owner = "std::unique_ptr<";
    if (!declaration.starts_with(owner)) return;
    const std::string opening =
        text("class ", name_before(declaration, declaration.find('>')), " ");
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      if (!lines_[at].starts_with(opening)) continue;
      for (++at; at < lines_.size() && lines_[at] != "};"; ++at) {
        if (!is_comment(lines_[at]) && is_comment(lines_[at - 1])) add(at);
      }
      return;
    }
  }

  void add(std::size_t at) {
    const std::string declaration = declaration_at(lines_, at);
    const std::string name = name_declared(declaration);
    bool opened = false;  // the first sentence was seen
    for (const Paragraph& paragraph : paragraphs_before(lines_, at)) {
      const std::string& key = paragraph.key;
      if (key == "Source" || key == "Note" || is_argument(key, declaration)) continue;
      for (const std::string& words : split(paragraph.words)) {
        const bool says_where = words.starts_with("A part: ") || words.starts_with("Two parts in ");
        if (key == prose && (says_where || !std::exchange(opened, true))) continue;
        const std::string of = text(name, " ", key);
        sentences_.push_back({text(of, " ", ++numbers_[of]), words, paragraph.line});
      }
    }
  }

  Strings lines_, names_;
  std::map<std::string, int> numbers_;
  std::vector<ContractSentence> sentences_;
};

}  // namespace

std::vector<ContractSentence> sentences_of_contract(const std::string& header,
                                                    const std::vector<std::string>& symbols) {
  return Reading(header, symbols).read();
}

}  // namespace lockstep::grader
