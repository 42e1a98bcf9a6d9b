#include "grader/course/compile/machine_code.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

constexpr std::array<std::string_view, 3> keywords{"asm", "__asm", "__asm__"};
// Each of these words between asm and its bracket makes it a statement.
constexpr std::array<std::string_view, 7> statement_words{
    "volatile", "__volatile", "__volatile__", "goto", "inline", "__inline", "__inline__"};
// All attributes of g++ whose texts it copies into the assembly.
constexpr std::array<std::string_view, 7> attributes{
    "section", "alias", "weakref", "ifunc", "symver", "fentry_name", "fentry_section"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view behind_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// A marker of the preprocessor: # 12 "work/x.cpp" 3 4.
struct Marker {
  int line = 0;
  std::string_view file;
};

std::optional<Marker> marker_in(std::string_view line) {
  if (!line.starts_with("# ") || line.size() < 3 || !is_digit(line[2])) return std::nullopt;
  Marker marker;
  std::size_t at = 2;
  while (at < line.size() && is_digit(line[at]) && at < 11) {
    marker.line = marker.line * 10 + (line[at++] - '0');
  }
  const std::size_t open = line.find('"', at), close = line.rfind('"');
  if (open == std::string_view::npos || close <= open) return std::nullopt;
  marker.file = line.substr(open + 1, close - open - 1);
  return marker;
}

// A preprocessor leaves two kinds of directives: markers, whose names could otherwise begin lines
// of their own in what a compiler writes, and pragmas, of which one has the compiler read a file.
bool is_usual_directive(std::string_view line) {
  if (const auto marker = marker_in(line)) return marker->file.find('\\') == std::string_view::npos;
  return line.starts_with("#pragma ") && line.find("pch_preprocess") == std::string_view::npos;
}

// Goes through the preprocessed text, line by line.
class PreprocessedLines {
 public:
  explicit PreprocessedLines(std::string_view preprocessed) : rest_(preprocessed) {}

  std::string_view line() const { return first_line(rest_); }

  // Goes on to the line of that number, unless it is behind already.
  //   Returns  where the line stands: "work/x.cpp:12"
  std::string go_to(int number) {
    for (; line_ < number && !rest_.empty(); ++line_) {
      const std::size_t length = line().size();
      if (const auto marker = marker_in(line())) {
        at_ = *marker;
      } else {
        ++at_.line;
      }
      rest_.remove_prefix(std::min(length + 1, rest_.size()));
    }
    return text(at_.file, ":", at_.line);
  }

 private:
  std::string_view rest_;
  int line_ = 1;
  Marker at_;
};

std::string_view name_at(std::string_view rest) {
  const auto length = std::ranges::find_if_not(rest, in_name) - rest.begin();
  return rest.substr(0, static_cast<std::size_t>(length));
}

// True if an assembly shows what this asm does: a statement, which #APP would announce, or a name
// that holds nothing else. Headers have both: int f() __asm__ ("" "__g").
bool shows_in_assembly(std::string_view rest) {
  rest = behind_blanks(rest);
  // Any other word is the mark of a directive, which the compiler does not see here.
  if (std::ranges::find(statement_words, name_at(rest)) != statement_words.end()) return true;
  if (!rest.starts_with('(')) return false;
  std::string said;
  for (rest = behind_blanks(rest.substr(1)); rest.starts_with('"');) {
    std::size_t close = 1;
    while (close < rest.size() && rest[close] != '"') close += rest[close] == '\\' ? 2 : 1;
    if (close >= rest.size()) return false;
    said += rest.substr(1, close - 1);
    rest = behind_blanks(rest.substr(close + 1));
  }
  const bool is_name = std::ranges::all_of(said, [](char c) { return in_name(c) || c == '.'; });
  return rest.starts_with(':') || (rest.starts_with(')') && is_name);
}

// The owner of a line, as far as markers can be believed. A line that passes for a header's is
// searched again as assembly.
enum class Whose : unsigned char { student, header };

std::string complaint_about_line(std::string_view line) {
  return text("the line '", line,
              "' is refused: it reaches the compiler, which may pass its text on to the assembler, "
              "read a file for it, or join the next line to it");
}

std::string harmless_mark(const std::string& mark) { return mark + "_"; }

// The sentence about the word that a mark stands before; empty if the word is harmless.
//   harmless  stands before each directive. The compiler reads what follows a word of an attribute
//             past directives, so one there is as bad as the bracket
std::string complaint_about(std::string_view word, std::string_view rest, Whose whose,
                            const std::string& harmless) {
  if (std::ranges::find(keywords, word) != keywords.end()) {
    if (whose == Whose::header && shows_in_assembly(rest)) return "";
    return text(word,
                " is refused: a part is written in C++, and nobody can read what an assembler "
                "is told");
  }
  rest = behind_blanks(rest);
  if (!rest.starts_with('(') && !rest.starts_with(harmless)) return "";
  return text("the attribute ", word,
              " is refused: its text goes to the assembler, and a part "
              "needs none; if it is a name of your own, choose another");
}

std::string without_splices(const std::string& source) {
  std::string out;
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\\') {
      std::size_t end = at + 1;
      while (end < source.size() && source[end] != '\n' && is_blank(source[end])) ++end;
      if (end < source.size() && source[end] == '\n') {
        at = end;
        continue;
      }
    }
    out += source[at];
  }
  return out;
}

}  // namespace

std::optional<std::string> hidden_bytes_in(const std::string& source, const std::string& shown) {
  const auto line = [&](std::size_t at) {
    return 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  };
  if (source.starts_with("\xEF\xBB\xBF")) {
    return shown +
           ":1: the file begins with a byte-order mark, which no editor shows: save it as "
           "UTF-8 without a BOM";
  }
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\0') {
      return text(shown, ":", line(at),
                  ": a byte here is 0, as in no text: remove it, or save the "
                  "file as UTF-8");
    }
    if (source[at] == '\r' && (at + 1 == source.size() || source[at + 1] != '\n')) {
      return text(shown, ":", line(at),
                  ": a carriage return stands here without a line feed: save "
                  "the file with the line ends of Unix (LF) or Windows (CR LF)");
    }
  }
  return std::nullopt;
}

MarkedText marked_text(const std::string& preprocessed, const std::string& mark) {
  const std::string harmless = harmless_mark(mark), directive = mark + "_directive";
  MarkedText marked;
  const auto define = [&](std::string_view name, std::string_view word) {
    marked.words.push_back(text("-D", name, "=", mark, " __LINE__ ", word));
  };
  define(directive, "directive");
  for (const std::string_view word : keywords) define(word, word);
  for (const std::string_view word : attributes) {
    define(word, word);
    define(text("__", word, "__"), word);
  }
  std::string_view rest = preprocessed;
  while (!rest.empty()) {
    std::string_view line = first_line(rest);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view content = behind_blanks(line);
    if (content.starts_with("#") || content.starts_with("%:")) {
      marked.text += (is_usual_directive(line) ? harmless : directive) + " ";
    }
    // A backslash at the end joins the next line, which may begin with a directive, to this one
    // when the preprocessor runs again, but not when g++ 12 compiles preprocessed text.
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (line.ends_with('\\')) {
      line.remove_suffix(1);
      marked.text += text(line, " ", directive, "\n");
    } else {
      marked.text += text(line, "\n");
    }
  }
  return marked;
}

std::optional<std::string> machine_code_in(const std::string& preprocessed,
                                           const std::string& marks, const std::string& mark,
                                           const std::string& shown) {
  const std::string before = mark + " ";
  PreprocessedLines lines(preprocessed);
  for (std::size_t at = marks.find(before); at != std::string::npos;
       at = marks.find(before, at + 1)) {
    std::string_view rest = std::string_view(marks).substr(at + before.size());
    int line = 0;
    while (!rest.empty() && is_digit(rest.front())) {
      line = line * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
    }
    rest = behind_blanks(rest);
    const std::string_view word = name_at(rest);
    const std::string place = lines.go_to(line);
    const Whose whose = place.starts_with(shown + ":") ? Whose::student : Whose::header;
    const std::string complaint =
        word == "directive"
            ? complaint_about_line(lines.line())
            : complaint_about(word, rest.substr(word.size()), whose, harmless_mark(mark));
    if (complaint.empty()) continue;
    return whose == Whose::student ? place + ": " + complaint
                                   : text(shown, ": at ", place, ", ", complaint);
  }
  return std::nullopt;
}

bool may_hold_machine_code(const std::string& source) {
  const std::string whole = without_splices(source);
  const auto holds = [&](std::string_view piece) { return whole.find(piece) != std::string::npos; };
  const std::array<std::string_view, 7> others{"##",      "%:%:",    "asm", "#ident",
                                               "# ident", "%:ident", "sccs"};
  return std::ranges::any_of(others, holds) || std::ranges::any_of(attributes, holds);
}

}  // namespace lockstep::grader
