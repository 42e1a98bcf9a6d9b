// PTX as text: its statements, functions and variables, before they mean anything.
#pragma once

#include <cstdint>
#include <map>
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
};

struct Text {
  std::map<std::string, Function> functions;
  std::vector<Declaration> variables;
  std::map<std::uint32_t, std::string> files;
  std::string error;
};

Text read_text(std::string_view text);

}  // namespace lockstep::paper::ptx
