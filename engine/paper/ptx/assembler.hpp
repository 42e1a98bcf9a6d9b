// Makes a kernel of its text. Calls are spliced in: a function's body is repeated at each call, so
// the lowest pc is always the right one to run first. Recursion is therefore refused.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/paper/lanes/table.hpp"
#include "engine/paper/ptx/module.hpp"
#include "engine/paper/ptx/text.hpp"

namespace lockstep::paper::ptx {

class Assembler {
 public:
  // Reads the bodies of `text` that it needs.
  Assembler(Text& text, const std::vector<Variable>& variables);
  Kernel assemble(Function& function);

 private:
  struct Register {
    std::uint32_t place = 0;
    std::size_t width = 0;
  };
  struct Symbol {  // a name that stands for an address
    enum class Space { parameter, local, shared, dynamic_shared, variable } space{};
    std::uint64_t offset = 0;
    int variable = -1;
  };
  struct Scope {
    std::map<std::string, Register> registers;
    std::map<std::string, std::size_t> ranges;  // prefix of %r<10> to width
    std::map<std::string, Symbol> symbols;
  };
  struct Address {
    std::uint32_t place = 0;
    bool wide = true;
    std::int64_t offset = 0;
    std::optional<Symbol::Space> space;
  };
  struct Jump {
    std::size_t instruction = 0;
    std::string label;
  };

  void splice(const Function& function, std::vector<Scope> scopes);
  void declare(const Declaration& declaration);
  void translate(const Statement& statement, const Function& function);
  void operate(const Statement& statement, const Entry& entry);
  void move(const Statement& statement, const Entry& entry);
  void access(const Statement& statement, const Entry& entry);
  void call(const Statement& statement);
  void barrier(const Statement& statement, const Entry& entry);
  void jump(const std::string& label);

  Instruction& emit(Handler run);
  std::uint32_t room(std::size_t width);
  std::uint32_t constant(std::size_t width, std::uint64_t bits, int variable = -1);
  std::optional<Register> find_register(const std::string& name);
  std::optional<Register> special(const std::string& name);
  const Symbol* find_symbol(const std::string& name) const;
  std::uint32_t source(const std::string& text, Type type);
  std::uint32_t destination(const std::string& text, Type type, std::vector<Instruction>& after);
  std::uint32_t immediate(const std::string& text, Type type);
  std::uint32_t address_constant(const Symbol& symbol, std::uint64_t offset, std::size_t width);
  Address address(const std::string& text);
  std::uint64_t allocate_local(std::size_t bytes, std::size_t align);
  std::uint64_t allocate_shared(const Declaration& declaration);

  Text& text_;
  const std::vector<Variable>& variables_;
  std::map<std::string, int> variable_numbers_;
  Kernel kernel_;
  std::vector<Scope> scopes_;
  std::map<std::string, std::size_t> labels_;
  std::vector<Jump> jumps_;
  std::string prefix_;  // of labels: each splice has its own
  int splices_ = 0, depth_ = 0;
  std::map<std::pair<int, std::pair<std::size_t, std::uint64_t>>, std::uint32_t> constants_;
  std::map<Special, std::uint32_t> specials_;
  std::map<std::string, Symbol> shared_;        // of the module
  std::vector<std::size_t> dynamic_constants_;  // to which the static bytes are added at the end
  std::optional<std::uint32_t> carry_;
  const Statement* statement_ = nullptr;
};

}  // namespace lockstep::paper::ptx
