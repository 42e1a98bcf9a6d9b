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
      : libraries_(libraries), scanner_(text, line) {}
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
  Scanner scanner_;
  std::map<Place, Place> callers_;            // of what was inlined
  std::uint32_t file_ = 0, source_line_ = 0;  // of the last .loc
};

// .loc file line column [, function_name label, inlined_at file line column]: the innermost place
// counts that is in no header of the compiler's, since its reader wrote that line.
void Reader::location() {
  const auto place = [this] {
    const std::uint32_t file = scanner_.number(), line = scanner_.number();
    return Place{file, line, scanner_.number()};
  };
  Place here = place();
  const std::string rest = scanner_.rest_of_line();
  if (const auto at = rest.find("inlined_at "); at != std::string::npos) {
    scanner_.back(rest.size() - at);
    scanner_.word();
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
  std::string next = scanner_.word();
  for (;; next = scanner_.word()) {
    if (next == ".align")
      made.align = scanner_.number();
    else if (next == ".ptr" || next == ".global" || next == ".shared" || next == ".const")
      continue;
    else if (next == ".v2" || next == ".v4")
      scanner_.fail("a vector variable is not known to paper");
    else if (next.starts_with('.') && made.type.empty())
      made.type = next;
    else
      break;
  }
  made.name = next;
  if (scanner_.take('<')) made.count = scanner_.number(), made.range = true, scanner_.expect('>');
  while (scanner_.take('[')) {
    made.array = true;
    made.count *= scanner_.peek() == ']' ? 0 : scanner_.number();
    scanner_.expect(']');
  }
  if (scanner_.take('=')) {
    const bool braces = scanner_.take('{');
    while (scanner_.peek() != '}' && scanner_.peek() != ';') {
      made.values.push_back(scanner_.operand());
      if (!scanner_.take(',')) break;
    }
    if (braces) scanner_.expect('}');
  }
  if (ends.find(scanner_.peek()) == std::string::npos)
    scanner_.fail("the declaration of '" + made.name + "' goes on");
  return made;
}

std::vector<Declaration> Reader::parameters() {
  std::vector<Declaration> all;
  if (!scanner_.take('(')) return all;
  while (!scanner_.take(')')) {
    if (scanner_.word() != ".param") scanner_.fail("a parameter begins with .param");
    all.push_back(declaration(".param", ",)"));
    scanner_.take(',');
  }
  return all;
}

Statement Reader::statement() {
  Statement made;
  made.ptx_line = scanner_.line(), made.file = file_, made.line = source_line_;
  if (scanner_.take('@')) {
    made.guard_flip = scanner_.take('!');
    made.guard = scanner_.word();
    scanner_.skip_space();
    made.ptx_line = scanner_.line();
  }
  made.opcode = scanner_.word();
  if (made.opcode.ends_with(':') && made.guard.empty()) {
    made.what = Statement::What::label;
    made.opcode.pop_back();
    return made;
  }
  while (!scanner_.take(';')) {
    made.operands.push_back(scanner_.operand());
    if (scanner_.take(',')) continue;
    if (scanner_.peek() != ';')
      scanner_.fail("'" + made.opcode + "' has an operand that cannot be read");
  }
  return made;
}

void Reader::body(Function& function) {
  scanner_.expect('{');
  int depth = 1;
  while (depth > 0) {
    if (scanner_.done()) scanner_.fail("a '}' is missing");
    Statement made;
    made.ptx_line = scanner_.line(), made.file = file_, made.line = source_line_;
    if (scanner_.take('{')) {
      made.what = Statement::What::open, ++depth;
    } else if (scanner_.take('}')) {
      made.what = Statement::What::close, --depth;
    } else if (scanner_.take(';')) {
      continue;
    } else if (scanner_.peek() == '.') {
      std::string name = scanner_.word();
      if (const auto dot = name.find('.', 1); dot != std::string::npos) {  // ".reg.b32"
        scanner_.back(name.size() - dot);
        name.resize(dot);
      }
      if (name == ".loc") {
        location();
        continue;
      }
      if (name == ".pragma") {
        scanner_.skip_past(';');
        continue;
      }
      if (name != ".reg" && name != ".param" && name != ".local" && name != ".shared") {
        scanner_.fail("the directive '" + name + "' is not known to paper");
      }
      made.what = Statement::What::declaration;
      bool more = true;
      for (; more; more = scanner_.take(',')) {
        if (!made.declaration.name.empty()) {  // .reg .b32 a, b;
          Declaration next = made.declaration;
          next.name = scanner_.word();
          next.range = false, next.count = 1;
          if (scanner_.take('<'))
            next.count = scanner_.number(), next.range = true, scanner_.expect('>');
          made.declaration = std::move(next);
        } else {
          made.declaration = declaration(name, ";,");
        }
        function.body.push_back(made);
      }
      scanner_.expect(';');
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
  if (!made.entry && scanner_.peek() == '(') made.results = parameters();
  made.name = scanner_.word();
  made.parameters = parameters();
  while (scanner_.peek() == '.') {
    const std::string name = scanner_.word();
    if (name == ".maxntid") {
      made.threads_max = scanner_.number();
      while (scanner_.take(',')) made.threads_max *= scanner_.number();
    } else if (name == ".minnctapersm" || name == ".maxnreg" || name == ".reqntid") {
      do {
        scanner_.number();
      } while (scanner_.take(','));
    } else if (name != ".noreturn") {
      made.error = "the directive '" + name + "' is not known to paper";
    }
  }
  if (!scanner_.take(';')) {
    made.defined = true;
    const std::size_t begin = scanner_.at();
    made.unread_line = scanner_.line();
    scanner_.expect('{');
    scanner_.skip_braces();
    made.unread = scanner_.since(begin);
  }
  Function& known = into.functions[made.name];
  if (made.defined || !known.defined) known = std::move(made);
}

void Reader::directive_of_module(const std::string& name, Text& into) {
  if (name == ".version" || name == ".target" || name == ".address_size") {
    scanner_.rest_of_line();
  } else if (name == ".file") {
    const std::uint32_t file = scanner_.number();
    into.files[file] = std::filesystem::path(scanner_.quoted()).lexically_normal().string();
    scanner_.rest_of_line();
  } else if (name == ".section") {
    scanner_.skip_past('{');
    scanner_.skip_braces();
  } else if (name == ".entry" || name == ".func") {
    function(name == ".entry" ? What::kernel : What::function, into);
  } else if (name == ".global" || name == ".const" || name == ".shared") {
    into.variables.push_back(declaration(name, ";"));
    scanner_.expect(';');
  } else if (name == ".pragma") {
    scanner_.rest_of_line();
  } else {
    scanner_.fail("the directive '" + name + "' is not known to paper");
  }
}

void Reader::read(Text& into) {
  try {
    while (!scanner_.done()) {
      std::string name = scanner_.word();
      bool external = false;
      for (; name == ".visible" || name == ".extern" || name == ".weak" || name == ".common";
           name = scanner_.word()) {
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
