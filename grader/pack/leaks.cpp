#include "grader/pack/leaks.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/listed_files.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// The files that tell students something, wherever they lie; never solutions/, and nothing of the
// grader.
constexpr const char* told_to_students =
    "exercises/*.md\nexercises/*.toml\nexercises/*.cpp\nlessons/*.md\nlessons/*.cpp\n"
    "lessons/*.hpp\nlessons/*.py\nlessons/*.awk\nlessons/*.sh\nlessons/*.toml\n"
    "!lessons/*/broken/*.cpp\n!lessons/*/broken/*.hpp\ndocs/*.md\nengine/*.hpp\n"
    "engine/trace/page/*\n";  // every timeline is such a page

// The literals in these files are what the judge says in its reports.
constexpr const char* says_to_students = "grader/parts/*.cpp\ngrader/exam/*.cpp\n";

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t literal_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t end = at + 1; end < text.size() && text[end] != '\n'; ++end) {
    if (text[end] == '\\') {
      ++end;
    } else if (text[end] == quote) {
      return end + 1;
    }
  }
  return at + 1;  // no literal: an apostrophe, or a quote in prose
}

std::size_t token_end(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (in_word(c)) {
    std::size_t end = at;
    const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
    while (end < text.size() && (in_word(text[end]) || (number && text[end] == '.'))) ++end;
    return end;
  }
  if (c == '"' || c == '\'') return literal_end(text, at);
  for (const std::string_view joined :
       {"<=>", "<<=", ">>=", "->*", "...", "::", "->", "++", "--", "<<", ">>", "<=", ">=",
        "==",  "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^="}) {
    if (text.substr(at).starts_with(joined)) return at + joined.size();
  }
  return at + 1;
}

// Neither punctuation nor C++'s: a name, a number, a literal.
bool is_own_word(const std::vector<std::string_view>& tokens, std::size_t at) {
  static const std::set<std::string_view> cpp{
      "auto",      "bool",      "break",    "case",     "catch",    "char",        "class",
      "const",     "constexpr", "continue", "default",  "do",       "double",      "else",
      "enum",      "false",     "float",    "for",      "if",       "int",         "long",
      "namespace", "new",       "nullptr",  "operator", "override", "private",     "public",
      "return",    "short",     "signed",   "sizeof",   "static",   "static_cast", "std",
      "struct",    "switch",    "template", "this",     "throw",    "true",        "try",
      "typename",  "unsigned",  "using",    "virtual",  "void",     "while"};
  if (!in_word(tokens[at].front()) && tokens[at].size() < 4) return false;
  const bool of_std = at >= 2 && tokens[at - 1] == "::" && tokens[at - 2] == "std";
  return !of_std && !cpp.contains(tokens[at]);
}

bool says_something(const std::vector<std::string_view>& tokens, std::size_t place) {
  for (std::size_t k = 0; k < shingle_tokens; ++k) {
    if (is_own_word(tokens, place + k)) return true;
  }
  return false;
}

// One number a shingle; 0 for those that are C++ and punctuation alone.
std::vector<std::uint64_t> shingles_of(std::string_view text) {
  const auto tokens = tokens_of(text);
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i + shingle_tokens <= tokens.size(); ++i) {
    std::uint64_t shingle = 0;
    for (std::size_t k = 0; k < shingle_tokens; ++k) {
      shingle = shingle * 0x9e3779b97f4a7c15u + std::hash<std::string_view>{}(tokens[i + k]);
    }
    all.push_back(says_something(tokens, i) ? shingle : 0);
  }
  return all;
}

// The text of a shingle, for a message.
std::string words_at(std::string_view text, std::size_t place) {
  const auto tokens = tokens_of(text);
  std::string words;
  for (std::size_t k = 0; k < shingle_tokens; ++k) {
    words += (k == 0 ? "" : " ") + std::string(tokens[place + k]);
  }
  return words;
}

// "// Step 1. …" in a region stands in the stub, too.
std::string without_steps(const std::string& region) {
  std::string out;
  std::istringstream lines(region);
  bool at_the_top = true;
  for (std::string line; std::getline(lines, line);) {
    at_the_top = at_the_top && (line.empty() || line.starts_with("//"));
    if (!at_the_top) out += line + "\n";
  }
  return out;
}

bool is_text(const std::string& content) {
  const std::string_view head = std::string_view(content).substr(0, 8192);
  return head.find('\0') == std::string_view::npos;
}

// As the program of that name finds them: printable, four or more.
std::string strings_in(const std::string& content) {
  std::string all, run;
  for (const char c : content + '\0') {
    if ((c >= ' ' && c <= '~') || c == '\t') {
      run += c;
    } else {
      if (run.size() >= 4) all += run + "\n";
      run.clear();
    }
  }
  return all;
}

// The contents of a source's string literals, a line each; neighbours are one.
std::string literals_in(std::string_view source) {
  std::string all;
  bool open = false;
  for (const std::string_view token : tokens_of(source)) {
    const bool literal = token.size() >= 2 && token.front() == '"';
    if (!literal && open) all += '\n';
    if (literal) all += token.substr(1, token.size() - 2);
    open = literal;
  }
  return all;
}

}  // namespace

std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    const std::size_t end = token_end(text, at);
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::vector<std::string> marked_regions(const std::string& source) {
  std::vector<std::string> regions;
  std::istringstream lines(source);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(region_end) != std::string::npos) inside = false;
    if (inside) regions.back() += line + "\n";
    if (line.find(region_begin) == std::string::npos) continue;
    inside = true;
    regions.emplace_back();
  }
  return regions;
}

Shingles::Shingles(const fs::path& root) {
  for (const fs::path& file : listed_files(root, "solutions/*.cpp\n")) {
    const std::size_t number = files_.size();
    files_.push_back(file.string());
    for (const std::string& region : marked_regions(read_text(root / file))) {
      regions_.push_back(shingles_of(region));
      for (const std::uint64_t shingle : regions_.back()) {
        if (shingle != 0) secret_.emplace(shingle, number);
      }
      regions_.back() = shingles_of(without_steps(region));
    }
  }
  leave_out(root);
}

void Shingles::leave_out(const fs::path& root) {
  const std::size_t all = secret_.size();
  for (const fs::path& file : listed_files(root, told_to_students)) {
    told_in(read_text(root / file), file.string());
  }
  for (const fs::path& file : listed_files(root, says_to_students)) {
    told_in(literals_in(read_text(root / file)), file.string());
  }
  told_ = all - secret_.size();
}

void Shingles::told_in(std::string_view text, const std::string& file) {
  const auto list = shingles_of(text);
  const std::unordered_set<std::uint64_t> here(list.begin(), list.end());
  for (const std::uint64_t shingle : here) secret_.erase(shingle);
  for (const auto& region : regions_) {
    std::size_t in_a_row = 0;
    for (const std::uint64_t shingle : region) {
      in_a_row = here.contains(shingle) ? in_a_row + 1 : 0;
      if (in_a_row == 0 || in_a_row + shingle_tokens - 1 <= longest_told_) continue;
      longest_told_ = in_a_row + shingle_tokens - 1;
      told_by_ = file;
    }
  }
}

std::string Shingles::found_in(std::string_view text) const {
  const auto list = shingles_of(text);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto found = secret_.find(list[i]);
    if (found == secret_.end()) continue;
    return lockstep::text("\"", words_at(text, i), "\" of ", files_[found->second]);
  }
  return "";
}

std::vector<std::string> Shingles::found_below(const fs::path& folder) const {
  std::vector<fs::path> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) all.push_back(entry.path());
  }
  std::ranges::sort(all);
  std::vector<std::string> leaks;
  for (const fs::path& file : all) {
    const std::string content = read_text(file);
    const std::string found = found_in(is_text(content) ? content : strings_in(content));
    if (!found.empty()) {
      leaks.push_back(file.lexically_relative(folder).string() + " has " + found);
    }
  }
  return leaks;
}

void refuse_leaks(const Shingles& shingles, const fs::path& folder) {
  std::string leaks;
  for (const std::string& leak : shingles.found_below(folder)) leaks += "  " + leak + "\n";
  if (!leaks.empty()) {
    throw UsageError(text(
        "nothing was packed: students would read parts of references in these files\n", leaks,
        "Take the words out of each file, or the file out of grader/pack/student.list, and pack "
        "again"));
  }
  if (shingles.longest_told() <= told_max) return;
  throw UsageError(text("nothing was packed: ", shingles.told_by(), " tells students ",
                        shingles.longest_told(), " tokens of a reference in a row, and at most ",
                        told_max, " are allowed; take some of them out, and pack again"));
}

}  // namespace lockstep::grader
