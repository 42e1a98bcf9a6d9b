// Reads PTX: statements, declarations, functions. What cannot be read makes an error of its
// function.
#include "engine/paper/ptx/text.hpp"

#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "engine/paper/ptx/scanner.hpp"

namespace lockstep::paper::ptx {
namespace {

constexpr int inlined_deep_max = 64;

class Reader {
 public:
  //   libraries  files of the compiler's headers
  Reader(std::string_view text, const std::set<std::uint32_t>& libraries, std::uint32_t line = 1)
      : libraries_(libraries), words_(text, line) {}
  void read(Text& into);
  void body(Function& function);

 private:
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
  Words words_;
  std::map<Place, Place> callers_;            // of what was inlined
  std::uint32_t file_ = 0, source_line_ = 0;  // of the last .loc
};

// .loc file line column [, function_name label, inlined_at file line column]: the innermost place
// counts that is in no header of the compiler's, since its reader wrote that line.
void Reader::location() {
  const auto place = [this] {
    const std::uint32_t file = words_.number(), line = words_.number();
    return Place{file, line, words_.number()};
  };
  Place here = place();
  const std::string rest = words_.rest_of_line();
  if (const auto at = rest.find("inlined_at "); at != std::string::npos) {
    words_.back(rest.size() - at);
    words_.word();
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
  std::string next = words_.word();
  for (;; next = words_.word()) {
    if (next == ".align")
      made.align = words_.number();
    else if (next == ".ptr" || next == ".global" || next == ".shared" || next == ".const")
      continue;
    else if (next == ".v2" || next == ".v4")
      words_.fail("a vector variable is not known to paper");
    else if (next.starts_with('.') && made.type.empty())
      made.type = next;
    else
      break;
  }
  made.name = next;
  if (words_.take('<')) made.count = words_.number(), made.range = true, words_.expect('>');
  while (words_.take('[')) {
    made.array = true;
    made.count *= words_.peek() == ']' ? 0 : words_.number();
    words_.expect(']');
  }
  if (words_.take('=')) {
    const bool braces = words_.take('{');
    while (words_.peek() != '}' && words_.peek() != ';') {
      made.values.push_back(words_.operand());
      if (!words_.take(',')) break;
    }
    if (braces) words_.expect('}');
  }
  if (ends.find(words_.peek()) == std::string::npos)
    words_.fail("the declaration of '" + made.name + "' goes on");
  return made;
}

std::vector<Declaration> Reader::parameters() {
  std::vector<Declaration> all;
  if (!words_.take('(')) return all;
  while (!words_.take(')')) {
    if (words_.word() != ".param") words_.fail("a parameter begins with .param");
    all.push_back(declaration(".param", ",)"));
    words_.take(',');
  }
  return all;
}

Statement Reader::statement() {
  Statement made;
  made.ptx_line = words_.line(), made.file = file_, made.line = source_line_;
  if (words_.take('@')) {
    made.guard_flip = words_.take('!');
    made.guard = words_.word();
    words_.skip_space();
    made.ptx_line = words_.line();
  }
  made.opcode = words_.word();
  if (made.opcode.ends_with(':') && made.guard.empty()) {
    made.what = Statement::What::label;
    made.opcode.pop_back();
    return made;
  }
  while (!words_.take(';')) {
    made.operands.push_back(words_.operand());
    if (words_.take(',')) continue;
    if (words_.peek() != ';')
      words_.fail("'" + made.opcode + "' has an operand that cannot be read");
  }
  return made;
}

void Reader::body(Function& function) {
  words_.expect('{');
  int depth = 1;
  while (depth > 0) {
    if (words_.done()) words_.fail("a '}' is missing");
    Statement made;
    made.ptx_line = words_.line(), made.file = file_, made.line = source_line_;
    if (words_.take('{')) {
      made.what = Statement::What::open, ++depth;
    } else if (words_.take('}')) {
      made.what = Statement::What::close, --depth;
    } else if (words_.take(';')) {
      continue;
    } else if (words_.peek() == '.') {
      std::string name = words_.word();
      if (const auto dot = name.find('.', 1); dot != std::string::npos) {  // ".reg.b32"
        words_.back(name.size() - dot);
        name.resize(dot);
      }
      if (name == ".loc") {
        location();
        continue;
      }
      if (name == ".pragma") {
        words_.skip_past(';');
        continue;
      }
      if (name != ".reg" && name != ".param" && name != ".local" && name != ".shared") {
        words_.fail("the directive '" + name + "' is not known to paper");
      }
      made.what = Statement::What::declaration;
      bool more = true;
      for (; more; more = words_.take(',')) {
        if (!made.declaration.name.empty()) {  // .reg .b32 a, b;
          Declaration next = made.declaration;
          next.name = words_.word();
          next.range = false, next.count = 1;
          if (words_.take('<')) next.count = words_.number(), next.range = true, words_.expect('>');
          made.declaration = std::move(next);
        } else {
          made.declaration = declaration(name, ";,");
        }
        function.body.push_back(made);
      }
      words_.expect(';');
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
  if (!made.entry && words_.peek() == '(') made.results = parameters();
  made.name = words_.word();
  made.parameters = parameters();
  while (words_.peek() == '.') {
    const std::string name = words_.word();
    if (name == ".maxntid") {
      made.threads_max = words_.number();
      while (words_.take(',')) made.threads_max *= words_.number();
    } else if (name == ".minnctapersm" || name == ".maxnreg" || name == ".reqntid") {
      do {
        words_.number();
      } while (words_.take(','));
    } else if (name != ".noreturn") {
      made.error = "the directive '" + name + "' is not known to paper";
    }
  }
  if (!words_.take(';')) {
    made.defined = true;
    const std::size_t begin = words_.at();
    made.unread_line = words_.line();
    words_.expect('{');
    words_.skip_braces();
    made.unread = words_.since(begin);
  }
  Function& known = into.functions[made.name];
  if (made.defined || !known.defined) known = std::move(made);
}

void Reader::directive_of_module(const std::string& name, Text& into) {
  if (name == ".version" || name == ".target" || name == ".address_size") {
    words_.rest_of_line();
  } else if (name == ".file") {
    const std::uint32_t file = words_.number();
    into.files[file] = std::filesystem::path(words_.quoted()).lexically_normal().string();
    words_.rest_of_line();
  } else if (name == ".section") {
    words_.skip_past('{');
    words_.skip_braces();
  } else if (name == ".entry" || name == ".func") {
    function(name == ".entry" ? What::kernel : What::function, into);
  } else if (name == ".global" || name == ".const" || name == ".shared") {
    into.variables.push_back(declaration(name, ";"));
    words_.expect(';');
  } else if (name == ".pragma") {
    words_.rest_of_line();
  } else {
    words_.fail("the directive '" + name + "' is not known to paper");
  }
}

void Reader::read(Text& into) {
  try {
    while (!words_.done()) {
      std::string name = words_.word();
      bool external = false;
      for (; name == ".visible" || name == ".extern" || name == ".weak" || name == ".common";
           name = words_.word()) {
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
