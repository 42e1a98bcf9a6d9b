// Reads PTX: words, statements, functions. What cannot be read makes an error of its function.
#include "engine/paper/ptx/text.hpp"

#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace lockstep::paper::ptx {
namespace {

constexpr int inlined_deep_max = 64;

bool of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || c == '%' || c == ':';
}

class Reader {
 public:
  //   libraries  files of the compiler's headers
  Reader(std::string_view text, const std::set<std::uint32_t>& libraries, std::uint32_t line = 1)
      : libraries_(libraries), text_(text), line_(line) {}
  void read(Text& into);
  void body(Function& function);

 private:
  void skip_space();
  bool done() { return skip_space(), at_ >= text_.size(); }
  char peek() { return skip_space(), at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("a '") + c + "' is missing");
  }
  [[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error("line " + std::to_string(line_) + " of the PTX: " + what);
  }
  std::string word();
  std::string operand();
  std::string rest_of_line();
  void skip_braces();
  std::uint32_t number(const std::string& text);
  void directive_of_module(const std::string& name, Text& into);
  enum class What { kernel, function };
  void function(What what, Text& into);
  Statement statement();
  Declaration declaration(const std::string& space, const std::string& ends);
  std::vector<Declaration> parameters();
  struct Place {
    std::uint32_t file = 0, line = 0, column = 0;
    auto operator<=>(const Place&) const = default;
  };
  void location();

  const std::set<std::uint32_t>& libraries_;
  std::map<Place, Place> callers_;  // of what was inlined
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_;
  std::uint32_t file_ = 0, source_line_ = 0;  // of the last .loc
};

void Reader::skip_space() {
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

std::string Reader::word() {
  skip_space();
  const std::size_t begin = at_;
  while (at_ < text_.size() && of_word(text_[at_])) ++at_;
  if (begin == at_) fail(std::string("a word is missing at '") + peek() + "'");
  return std::string(text_.substr(begin, at_ - begin));
}

// Up to ',' or ';' outside of brackets, without spaces.
std::string Reader::operand() {
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

std::string Reader::rest_of_line() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

// From behind a '{' to behind its '}'. Most of a text is passed over in this way.
void Reader::skip_braces() {
  for (int depth = 1; depth > 0; ++at_) {
    if (at_ < text_.size() && text_[at_] == '/') skip_space();  // a comment may hold braces
    if (at_ >= text_.size()) fail("a '}' is missing");
    const char c = text_[at_];
    depth += (c == '{') - (c == '}');
    line_ += c == '\n';
  }
}

std::uint32_t Reader::number(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("'" + text + "' is no number");
  return value;
}

// .loc file line column [, function_name label, inlined_at file line column]: the innermost place
// counts that is in no header of the compiler's, since its reader wrote that line.
void Reader::location() {
  const auto place = [this] {
    const std::uint32_t file = number(word()), line = number(word());
    return Place{file, line, number(word())};
  };
  Place here = place();
  const std::string rest = rest_of_line();
  if (const auto at = rest.find("inlined_at "); at != std::string::npos) {
    at_ -= rest.size() - at;
    word();
    callers_[here] = place();
  } else {
    callers_.erase(here);
  }
  for (int depth = 0; depth < inlined_deep_max && libraries_.contains(here.file); ++depth) {
    const auto caller = callers_.find(here);
    if (caller == callers_.end()) break;
    here = caller->second;
  }
  file_ = here.file, source_line_ = here.line;
}

// The files stand behind the code that names them.
std::set<std::uint32_t> libraries_of(std::string_view text) {
  constexpr std::string_view directive = ".file\t";
  std::set<std::uint32_t> libraries;
  for (std::size_t at = 0; (at = text.find(directive, at)) != std::string_view::npos;) {
    at += directive.size();
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    std::uint32_t file = 0;
    std::from_chars(line.data(), line.data() + line.size(), file);
    if (line.find("/include/") != std::string_view::npos) libraries.insert(file);
  }
  return libraries;
}

// After the space: [.align n] type name [<n>] [[n]...] [= values], up to one of `ends` (not taken).
Declaration Reader::declaration(const std::string& space, const std::string& ends) {
  Declaration made;
  made.space = space;
  std::string next = word();
  for (;; next = word()) {
    if (next == ".align")
      made.align = number(word());
    else if (next == ".ptr" || next == ".global" || next == ".shared" || next == ".const")
      continue;
    else if (next == ".v2" || next == ".v4")
      fail("a vector variable is not known to paper");
    else if (next.starts_with('.') && made.type.empty())
      made.type = next;
    else
      break;
  }
  made.name = next;
  if (take('<')) made.count = number(word()), made.range = true, expect('>');
  while (take('[')) {
    made.array = true;
    made.count *= peek() == ']' ? 0 : number(word());
    expect(']');
  }
  if (take('=')) {
    const bool braces = take('{');
    while (peek() != '}' && peek() != ';') {
      made.values.push_back(operand());
      if (!take(',')) break;
    }
    if (braces) expect('}');
  }
  if (ends.find(peek()) == std::string::npos)
    fail("the declaration of '" + made.name + "' goes on");
  return made;
}

std::vector<Declaration> Reader::parameters() {
  std::vector<Declaration> all;
  if (!take('(')) return all;
  while (!take(')')) {
    if (word() != ".param") fail("a parameter begins with .param");
    all.push_back(declaration(".param", ",)"));
    take(',');
  }
  return all;
}

Statement Reader::statement() {
  Statement made;
  made.ptx_line = line_, made.file = file_, made.line = source_line_;
  if (take('@')) {
    made.guard_flip = take('!');
    made.guard = word();
    skip_space();
    made.ptx_line = line_;
  }
  made.opcode = word();
  if (made.opcode.ends_with(':') && made.guard.empty()) {
    made.what = Statement::What::label;
    made.opcode.pop_back();
    return made;
  }
  while (!take(';')) {
    made.operands.push_back(operand());
    if (take(',')) continue;
    if (peek() != ';') fail("'" + made.opcode + "' has an operand that cannot be read");
  }
  return made;
}

void Reader::body(Function& function) {
  expect('{');
  int depth = 1;
  while (depth > 0) {
    if (done()) fail("a '}' is missing");
    Statement made;
    made.ptx_line = line_, made.file = file_, made.line = source_line_;
    if (take('{')) {
      made.what = Statement::What::open, ++depth;
    } else if (take('}')) {
      made.what = Statement::What::close, --depth;
    } else if (take(';')) {
      continue;
    } else if (peek() == '.') {
      std::string name = word();
      if (const auto dot = name.find('.', 1); dot != std::string::npos) {  // ".reg.b32"
        at_ -= name.size() - dot;
        name.resize(dot);
      }
      if (name == ".loc") {
        location();
        continue;
      }
      if (name == ".pragma") {
        while (peek() != ';') ++at_;
        expect(';');
        continue;
      }
      if (name != ".reg" && name != ".param" && name != ".local" && name != ".shared") {
        fail("the directive '" + name + "' is not known to paper");
      }
      made.what = Statement::What::declaration;
      bool more = true;
      for (; more; more = take(',')) {
        if (!made.declaration.name.empty()) {  // .reg .b32 a, b;
          Declaration next = made.declaration;
          next.name = word();
          next.range = false, next.count = 1;
          if (take('<')) next.count = number(word()), next.range = true, expect('>');
          made.declaration = std::move(next);
        } else {
          made.declaration = declaration(name, ";,");
        }
        function.body.push_back(made);
      }
      expect(';');
      continue;
    } else {
      made = statement();
    }
    if (depth > 0) function.body.push_back(std::move(made));
  }
}

void Reader::function(What what, Text& into) {
  Function made;
  made.entry = what == What::kernel;
  if (!made.entry && peek() == '(') made.results = parameters();
  made.name = word();
  made.parameters = parameters();
  while (peek() == '.') {
    const std::string name = word();
    if (name == ".maxntid") {
      made.threads_max = number(word());
      while (take(',')) made.threads_max *= number(word());
    } else if (name == ".minnctapersm" || name == ".maxnreg" || name == ".reqntid") {
      do {
        number(word());
      } while (take(','));
    } else if (name != ".noreturn") {
      made.error = "the directive '" + name + "' is not known to paper";
    }
  }
  if (!take(';')) {
    made.defined = true;
    const std::size_t begin = at_;
    made.unread_line = line_;
    expect('{');
    skip_braces();
    made.unread = text_.substr(begin, at_ - begin);
  }
  Function& known = into.functions[made.name];
  if (made.defined || !known.defined) known = std::move(made);
}

void Reader::directive_of_module(const std::string& name, Text& into) {
  if (name == ".version" || name == ".target" || name == ".address_size") {
    rest_of_line();
  } else if (name == ".file") {
    const std::uint32_t file = number(word());
    expect('"');
    const std::size_t end = text_.find('"', at_);
    const std::filesystem::path path(text_.substr(at_, end - at_));
    into.files[file] = path.lexically_normal().string();
    at_ = end + 1;
    rest_of_line();
  } else if (name == ".section") {
    while (!take('{')) ++at_;
    skip_braces();
  } else if (name == ".entry" || name == ".func") {
    function(name == ".entry" ? What::kernel : What::function, into);
  } else if (name == ".global" || name == ".const" || name == ".shared") {
    into.variables.push_back(declaration(name, ";"));
    expect(';');
  } else if (name == ".pragma") {
    rest_of_line();
  } else {
    fail("the directive '" + name + "' is not known to paper");
  }
}

void Reader::read(Text& into) {
  try {
    while (!done()) {
      std::string name = word();
      bool external = false;
      for (; name == ".visible" || name == ".extern" || name == ".weak" || name == ".common";
           name = word()) {
        external = external || name == ".extern";
      }
      const std::size_t before = into.variables.size();
      directive_of_module(name, into);
      if (into.variables.size() > before) into.variables.back().external = external;
    }
  } catch (const std::exception& error) {
    into.error = error.what();
  }
}

}  // namespace

std::size_t bytes_of_type(std::string_view type) {
  if (type == ".pred") return 0;
  if (type.ends_with("x2")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("8")) return 1;
  throw std::runtime_error("the type '" + std::string(type) + "' is not known to paper");
}

Text read_text(std::string_view text) {
  Text made;
  made.libraries = libraries_of(text);
  Reader(text, made.libraries).read(made);
  return made;
}

void read_body(const Text& text, Function& function) {
  const std::string_view unread = std::exchange(function.unread, {});
  if (unread.empty()) return;
  try {
    Reader(unread, text.libraries, function.unread_line).body(function);
  } catch (const std::exception& error) {
    function.error = error.what();
  }
}

}  // namespace lockstep::paper::ptx
