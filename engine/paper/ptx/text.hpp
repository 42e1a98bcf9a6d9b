// PTX as text: its statements, functions and variables, before they mean anything. Bodies are read
// when they are asked for: a program launches a few of the many kernels that templates leave.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::paper::ptx {

struct Declaration {      // .reg .b32 %r<10>; .shared .align 4 .b8 name[64]; a parameter
  std::string space;      // ".reg", ".param", ".local", ".shared", ".global", ".const"
  std::string type;       // ".b32"
  std::size_t align = 0;  // 0: the type's
  std::string name;
  std::size_t count = 1;  // elements; of %r<10>: 10
  bool array = false, range = false, external = false;
  std::vector<std::string> values;  // of the initialiser
};
std::size_t bytes_of_type(std::string_view type);  // ".b32": 4; ".pred": 0; unknown: throws

struct Statement {
  enum class What { instruction, label, declaration, open, close };
  What what = What::instruction;
  std::string guard;  // "%p1"
  bool guard_flip = false;
  std::string opcode;                 // or the label's name
  std::vector<std::string> operands;  // "%r1", "[%rd1+4]", "{%r1,%r2}", "(a,b)", without spaces
  Declaration declaration;
  std::uint32_t ptx_line = 0, file = 0, line = 0;
};

struct Function {
  std::string name;
  bool entry = false, defined = false;
  std::vector<Declaration> results, parameters;
  std::vector<Statement> body;
  std::uint32_t threads_max = 1024;
  std::string error;  // what of it could not be read

  std::string_view unread;  // the body, until read_body; within the text
  std::uint32_t unread_line = 0;
};

struct Text {
  std::map<std::string, Function> functions;
  std::vector<Declaration> variables;
  std::map<std::uint32_t, std::string> files;
  std::set<std::uint32_t> libraries;  // files of the compiler's headers
  std::string error;
};

// `text` must outlive what is made of it, and read_body.
Text read_text(std::string_view text);
// At the first call; then nothing.
void read_body(const Text& text, Function& function);

}  // namespace lockstep::paper::ptx
