#include "grader/course/compile/assembly_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

// Compilers write these of C++ for x86-64 and ELF.
constexpr auto data = std::to_array<std::string_view>(
    {".2byte", ".4byte", ".8byte", ".ascii", ".asciz", ".base64", ".byte", ".long", ".octa",
     ".quad", ".short", ".sleb128", ".string", ".uleb128", ".value", ".word", ".zero"});
constexpr auto others = std::to_array<std::string_view>(
    {".addrsig", ".addrsig_sym", ".align",    ".bss",   ".comm", ".data",  ".file",    ".globl",
     ".hidden",  ".ident",       ".internal", ".lcomm", ".loc",  ".local", ".p2align", ".protected",
     ".section", ".set",         ".size",     ".text",  ".type", ".weak"});
constexpr auto inside_functions =
    std::to_array<std::string_view>({".align", ".file", ".loc", ".p2align", ".size", ".type"});
constexpr auto sections = std::to_array<std::string_view>(
    {".bss", ".data", ".debug_", ".eh_frame", ".fini_array", ".gcc_except_table", ".init_array",
     ".llvm_addrsig", ".noinit", ".note.", ".rodata", ".tbss", ".tdata", ".text"});

bool is_one_of(std::string_view name, const auto& all) {
  return std::ranges::find(all, name) != all.end();
}

// Characters of symbols; names may hold letters beyond ASCII.
bool in_symbol(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_section_name(char c) { return in_symbol(c) || c == '-'; }
bool in_mnemonic(char c) {
  return std::islower(static_cast<unsigned char>(c)) != 0 ||
         std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Registers, immediates, symbols with their kind of address, and memory: 8+x@GOTPCREL(%rip).
bool is_operands(std::string_view arguments) {
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const char c = arguments[at];
    const std::string_view before = arguments.substr(0, at);
    const bool segment = c == ':' && (before.ends_with("%fs") || before.ends_with("%gs"));
    constexpr std::string_view marks = "%,()+-*@{} \t";
    if (!in_symbol(c) && !segment && marks.find(c) == std::string_view::npos) return false;
  }
  return true;
}

// Between functions and within them, gaps are left to the assembler to fill: .p2align 4,,10
bool fills(std::string_view arguments) {
  const std::size_t comma = arguments.find(',');
  return comma != std::string_view::npos && !arguments.substr(comma).starts_with(",,");
}

// A statement of the assembler, as compilers write one a line.
struct Statement {
  std::string_view word, arguments;
};

Statement statement_in(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::size_t end = std::min(line.find_first_of(blanks), line.size());
  std::string_view rest = line.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  return {line.substr(0, end), rest};
}

// Outside texts nothing may end the statement or hide from a reader.
bool is_one_statement(std::string_view line) {
  bool in_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (in_text && c == '\\') ++at;
    if (c == '"') in_text = !in_text;
    if (!in_text && (c == ';' || c == '#')) return false;
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return false;
  }
  return !in_text;
}

// -fstack-usage writes a line for each function: "x.cpp:12:5:int f()	16	static".
std::size_t functions_in(const std::string& list) {
  return static_cast<std::size_t>(std::ranges::count(list, '\n'));
}

// A function that moves `this` and jumps on, which g++ writes as text and does not list:
// subq $16, %rdi; jmp .LTHUNK0.
class Thunk {
 public:
  explicit Thunk(std::string_view name) : name_(name) {}
  void add(const Statement& instruction) {
    constexpr auto moves =
        std::to_array<std::string_view>({"addq", "endbr64", "leaq", "movabsq", "movq", "subq"});
    only_moves_ = only_moves_ && !jumped_ && ++length_ <= 6;
    jumped_ = instruction.word == "jmp" && instruction.arguments.starts_with(".LTHUNK");
    only_moves_ = only_moves_ && (jumped_ || is_one_of(instruction.word, moves));
  }
  // Thunks that are compiled like functions are in the list, by this name.
  bool is_unlisted(std::string_view functions) const {
    const bool named =
        name_.starts_with("_ZTh") || name_.starts_with("_ZTv") || name_.starts_with("_ZTc");
    return named && only_moves_ && jumped_ && !is_in(functions);
  }

 private:
  bool is_in(std::string_view functions) const {
    for (std::size_t at = functions.find(name_); at != std::string_view::npos;
         at = functions.find(name_, at + 1)) {
      const std::size_t end = at + name_.size();
      if (end == functions.size() || !in_symbol(functions[end])) return true;
    }
    return false;
  }

  std::string_view name_;
  int length_ = 0;
  bool only_moves_ = true, jumped_ = false;
};

class AssemblyReader {
 public:
  explicit AssemblyReader(std::string_view functions) : listed_(functions) {}

  // Returns what is wrong with the line; empty: nothing.
  std::string read(std::string_view line) {
    if (line.empty() || line == "#NO_APP") return "";
    if (!is_one_statement(line)) return complaint("is no statement of a compiler's", line);
    const Statement statement = statement_in(line);
    if (statement.word.ends_with(':')) return label(statement, line);
    if (statement.word.starts_with(".cfi_")) return frame(statement.word);
    if (!statement.word.starts_with('.')) return instruction(statement, line);
    if (is_one_of(statement.word, data)) {
      return executable_ ? complaint("is data among instructions", line) : "";
    }
    const bool in_its_place = !in_function_ || is_one_of(statement.word, inside_functions);
    if (!in_its_place) return complaint("is inside a function", line);
    if (!is_one_of(statement.word, others)) return complaint("is no compiler's", line);
    return directive(statement, line);
  }
  std::size_t functions() const { return functions_; }  // without thunks that are not listed

 private:
  static std::string complaint(std::string_view what, std::string_view line) {
    constexpr std::size_t shown_max = 60;
    return text("the line '", line.substr(0, shown_max), "' ", what);
  }

  // Nothing follows a label, and within functions compilers have names of their own: .L12
  std::string label(const Statement& statement, std::string_view line) {
    const std::string_view name = statement.word.substr(0, statement.word.size() - 1);
    const bool named = !name.empty() && std::ranges::all_of(name, in_symbol);
    if (!named || !statement.arguments.empty()) return complaint("is no compiler's label", line);
    const bool own = name.starts_with(".L");
    if (in_function_ && !own) return complaint("is a label inside a function", line);
    if (!own) symbol_ = name;
    return "";
  }

  std::string frame(std::string_view word) {
    if (word == ".cfi_startproc") {
      in_function_ = true;
      thunk_ = Thunk(symbol_);
    }
    if (word == ".cfi_endproc") {
      in_function_ = false;
      if (!thunk_.is_unlisted(listed_)) ++functions_;
    }
    return "";
  }

  std::string instruction(const Statement& statement, std::string_view line) {
    if (!in_function_ || !executable_) {
      return complaint("is an instruction outside functions", line);
    }
    const bool usual =
        std::ranges::all_of(statement.word, in_mnemonic) && is_operands(statement.arguments);
    if (!usual) return complaint("is no instruction as compilers write it", line);
    thunk_.add(statement);
    return "";
  }

  std::string directive(const Statement& statement, std::string_view line) {
    if (statement.word == ".ident" && !statement.arguments.starts_with("\"GCC: ") &&
        !statement.arguments.starts_with("\"clang ") &&
        statement.arguments.find("clang version") == std::string_view::npos) {
      return complaint("is no compiler's", line);
    }
    if (statement.word.ends_with("align") && fills(statement.arguments)) {
      return complaint("fills a gap with bytes", line);
    }
    if (statement.word == ".text") executable_ = true;
    if (statement.word == ".data" || statement.word == ".bss") executable_ = false;
    return statement.word == ".section" ? section(statement.arguments, line) : "";
  }

  // .section .text._Z1fv,"axG",@progbits,_Z1fv,comdat
  std::string section(std::string_view arguments, std::string_view line) {
    const std::string_view name = arguments.substr(0, arguments.find(','));
    const bool known = std::ranges::any_of(
        sections, [&](std::string_view begin) { return name.starts_with(begin); });
    if (!known || !std::ranges::all_of(name, in_section_name)) {
      return complaint("names a section that is no compiler's", line);
    }
    executable_ = name.starts_with(".text");
    std::string_view flags = arguments.substr(std::min(name.size() + 1, arguments.size()));
    if (flags.empty()) return "";
    const bool in_quotes = flags.starts_with('"');
    flags = flags.substr(1, flags.find('"', 1) - 1);
    // Only .text runs, and nothing that runs can be written. A flag on .note.GNU-stack is the
    // stack's.
    const bool usual = std::ranges::all_of(flags, is_letter) &&
                       flags.find(executable_ ? 'w' : 'x') == std::string_view::npos;
    return in_quotes && usual ? "" : complaint("has flags that are no compiler's", line);
  }

  std::string_view listed_;  // by the compiler
  std::string_view symbol_;  // the last label that others can see
  Thunk thunk_{""};          // or whatever function this is
  bool executable_ = true;   // an assembler begins in .text
  bool in_function_ = false;
  std::size_t functions_ = 0;
};

// `line` follows #APP: # 12 "work/x.cpp" 1, if it stands in a function.
std::string refused_asm(std::string_view line, const std::string& shown) {
  const std::string_view number = line.substr(std::min<std::size_t>(2, line.size()));
  const bool own = line.starts_with("# ") && number.find(" \"" + shown + "\"") != number.npos;
  return text(
      shown, own ? ":" : "", own ? number.substr(0, number.find(' ')) : "",
      ": asm is refused: a part is written in C++, and nobody can read what an assembler is "
      "told");
}

}  // namespace

std::vector<std::string> assembly_flags() {
  return {"-S", "-fstack-usage", "-fno-jump-tables", "-fno-reorder-blocks-and-partition"};
}

std::optional<std::string> foreign_assembly_in(const std::string& assembly,
                                               const std::string& functions,
                                               const std::string& shown) {
  const std::string told = shown +
                           ": no compiler makes such assembly of C++ alone, so the file "
                           "speaks to the assembler, which is refused: ";
  AssemblyReader reader(functions);
  std::string_view rest = assembly;
  const auto next = [&] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
  };
  while (!rest.empty()) {
    const std::string_view line = next();
    if (line == "#APP") return refused_asm(next(), shown);
    if (const std::string why = reader.read(line); !why.empty()) return told + why;
  }
  const std::size_t counted = functions_in(functions);
  if (reader.functions() == counted) return std::nullopt;
  return text(told, "it holds ", reader.functions(), " functions, and the compiler wrote ",
              counted);
}

}  // namespace lockstep::grader
