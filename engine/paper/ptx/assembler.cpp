// Kernels of statements: splicing of calls, labels, and each form of an instruction.
#include "engine/paper/ptx/assembler.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/paper/findings.hpp"

namespace lockstep::paper::ptx {
namespace {

constexpr int calls_deep_max = 24;

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

std::vector<std::string> split(std::string text) {  // "{a,b}" or "(a,b)" to its parts
  std::vector<std::string> parts;
  text = text.substr(1, text.size() - 2);
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ',') continue;
    if (i > begin) parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::size_t aligned(std::size_t value, std::size_t align) {
  return (value + align - 1) / align * align;
}

std::size_t bytes_of(const Declaration& declaration) {
  return bytes_of_type(declaration.type) * declaration.count;
}
std::size_t align_of(const Declaration& declaration) {
  return std::max({declaration.align, bytes_of_type(declaration.type), std::size_t{1}});
}

}  // namespace

Assembler::Assembler(Text& text, const std::vector<Variable>& variables)
    : text_(text), variables_(variables) {
  for (std::size_t i = 0; i < variables.size(); ++i)
    variable_numbers_[variables[i].name] = static_cast<int>(i);
}

Kernel Assembler::assemble(Function& function) {
  read_body(text_, function);
  kernel_.name = function.name;
  kernel_.demangled = kernel_name(function.name);
  kernel_.threads_max = function.threads_max;
  for (const auto& [number, file] : text_.files) {
    kernel_.files.resize(std::max<std::size_t>(kernel_.files.size(), number + 1));
    kernel_.files[number] = file;
  }
  Scope parameters;
  for (const Declaration& parameter : function.parameters) {
    const std::size_t offset = aligned(kernel_.parameter_bytes, align_of(parameter));
    kernel_.parameters.push_back(
        {parameter.name, offset, bytes_of(parameter), align_of(parameter)});
    parameters.symbols[parameter.name] = {Symbol::Space::parameter, offset, -1};
    kernel_.parameter_bytes = offset + bytes_of(parameter);
  }
  try {
    if (!function.error.empty()) refuse(function.error);
    splice(function, {parameters});
    emit(table().at("exit").run);
    for (const Jump& jump : jumps_) {
      const auto label = labels_.find(jump.label);
      if (label == labels_.end()) {
        refuse("the label '" + jump.label.substr(jump.label.find(':') + 1) + "' is nowhere");
      }
      kernel_.code[jump.instruction].target = static_cast<std::uint32_t>(label->second);
    }
  } catch (const std::exception& error) {
    kernel_.refusal = error.what();
    if (statement_ != nullptr) {
      std::string where = "line " + std::to_string(statement_->ptx_line) + " of the PTX";
      if (statement_->file < kernel_.files.size() && statement_->line > 0) {
        where +=
            " (" + kernel_.files[statement_->file] + ":" + std::to_string(statement_->line) + ")";
      }
      kernel_.refusal += ", at " + where;
    }
    kernel_.code.clear();
  }
  kernel_.static_shared = aligned(kernel_.static_shared, 16);
  for (const std::size_t i : dynamic_constants_) kernel_.constants[i].bits += kernel_.static_shared;
  return std::move(kernel_);
}

void Assembler::splice(const Function& function, std::vector<Scope> scopes) {
  if (++depth_ > calls_deep_max)
    refuse("calls go too deep, or '" + function.name + "' calls itself");
  std::swap(scopes_, scopes);
  const std::string outer = std::exchange(prefix_, std::to_string(splices_++) + ":");
  for (const Statement& statement : function.body) {
    statement_ = &statement;
    switch (statement.what) {
      case Statement::What::open:
        scopes_.emplace_back();
        break;
      case Statement::What::close:
        scopes_.pop_back();
        break;
      case Statement::What::declaration:
        declare(statement.declaration);
        break;
      case Statement::What::label:
        labels_[prefix_ + statement.opcode] = kernel_.code.size();
        break;
      case Statement::What::instruction:
        translate(statement, function);
        break;
    }
  }
  labels_[prefix_ + "end of the function"] = kernel_.code.size();
  prefix_ = outer;
  std::swap(scopes_, scopes);
  --depth_;
}

void Assembler::declare(const Declaration& declaration) {
  Scope& scope = scopes_.back();
  if (declaration.space == ".reg") {
    const std::size_t width = bytes_of_type(declaration.type);
    if (declaration.range)
      scope.ranges[declaration.name] = width;
    else
      scope.registers[declaration.name] = {room(width), width};
  } else if (declaration.space == ".shared") {
    if (declaration.external || declaration.count == 0) {
      scope.symbols[declaration.name] = {Symbol::Space::dynamic_shared, 0, -1};
    } else {
      scope.symbols[declaration.name] = {Symbol::Space::shared, allocate_shared(declaration), -1};
    }
  } else {
    scope.symbols[declaration.name] = {
        Symbol::Space::local, allocate_local(bytes_of(declaration), align_of(declaration)), -1};
  }
}

std::uint64_t Assembler::allocate_local(std::size_t bytes, std::size_t align) {
  const std::size_t offset = aligned(kernel_.local_bytes, align);
  kernel_.local_bytes = aligned(offset + bytes, 16);
  return offset;
}

std::uint64_t Assembler::allocate_shared(const Declaration& declaration) {
  const std::size_t offset = aligned(kernel_.static_shared, align_of(declaration));
  kernel_.static_shared = offset + bytes_of(declaration);
  return offset;
}

Instruction& Assembler::emit(Handler run) {
  Instruction made;
  made.run = run;
  if (statement_ != nullptr) {
    made.line = statement_->line;
    made.file = static_cast<std::uint16_t>(statement_->file);
    if (!statement_->guard.empty()) {
      const auto guard = find_register(statement_->guard);
      if (!guard || guard->width != 0)
        refuse("the guard '" + statement_->guard + "' is no predicate");
      made.guard = guard->place;
      made.guard_flip = statement_->guard_flip ? ~0U : 0U;
    }
  }
  kernel_.code.push_back(made);
  return kernel_.code.back();
}

void Assembler::jump(const std::string& label) {
  jumps_.push_back({kernel_.code.size() - 1, prefix_ + label});
}

void Assembler::translate(const Statement& statement, const Function& function) {
  const auto found = table().find(statement.opcode);
  if (found == table().end()) {
    refuse("'" + statement.opcode + "' in '" + kernel_name(function.name) +
           "' is not known to paper");
  }
  const Entry& entry = found->second;
  switch (entry.form) {
    case Form::branch:
      if (statement.operands.size() != 1) refuse("a branch has one label");
      emit(entry.run);
      return jump(statement.operands[0]);
    case Form::ret:
      if (depth_ == 1) {  // in the kernel itself
        emit(entry.run);
      } else {
        emit(table().at("bra").run);
        jump("end of the function");
      }
      return;
    case Form::exit:
      emit(entry.run);
      return;
    case Form::call:
      return call(statement);
    case Form::move:
      return move(statement, entry);
    case Form::load:
    case Form::store:
    case Form::atomic:
    case Form::reduce:
      return access(statement, entry);
    case Form::barrier:
      return barrier(statement, entry);
    case Form::plain:
    case Form::convert:
    case Form::shuffle:
      return operate(statement, entry);
  }
}

void Assembler::operate(const Statement& statement, const Entry& entry) {
  std::vector<Instruction> after;
  std::array<std::uint32_t, 6> places{};
  std::size_t next = 0;
  const auto operand = [&]() -> const std::string& {
    if (next >= statement.operands.size())
      refuse("'" + statement.opcode + "' has too few operands");
    return statement.operands[next++];
  };
  std::string second;  // after '|'
  for (std::size_t i = 0; i < entry.slots.size(); ++i) {
    const Slot& slot = entry.slots[i];
    if (slot.role == Role::destination) {
      std::string text = operand();
      const bool takes_second =
          i + 1 < entry.slots.size() && entry.slots[i + 1].role == Role::second;
      if (const auto bar = text.find('|'); bar != std::string::npos) {
        if (!takes_second) refuse("'" + statement.opcode + "' has no second result");
        second = text.substr(bar + 1);
        text.resize(bar);
      }
      places[i] = destination(text, slot.type, after);
    } else if (slot.role == Role::second) {
      places[i] = second.empty() ? Instruction::unguarded : destination(second, slot.type, after);
    } else if (slot.role == Role::absent) {
      places[i] = Instruction::unguarded;
    } else if (slot.role == Role::carry) {
      if (!carry_) carry_ = room(0);
      places[i] = *carry_;
    } else {
      places[i] = source(operand(), slot.type);
    }
  }
  if (next != statement.operands.size()) refuse("'" + statement.opcode + "' has too many operands");
  Instruction& made = emit(entry.run);
  made.at = places;
  made.flops = entry.flops;
  if (entry.after != nullptr) {
    Instruction& result = emit(entry.after);
    result.at = places;
    result.counted = 0;
  }
  kernel_.code.insert(kernel_.code.end(), after.begin(), after.end());
}

void Assembler::barrier(const Statement& statement, const Entry& entry) {
  const std::size_t number = entry.slots.size() == 1 ? 0 : 1;
  if (statement.operands.size() != entry.slots.size()) {
    refuse("'" + statement.opcode + "' with a number of threads is not known to paper");
  }
  const std::string& text = statement.operands[number];
  if (text.empty() || text[0] < '0' || text[0] > '9')
    refuse("a barrier whose number is in a register");
  operate(statement, entry);
}

void Assembler::move(const Statement& statement, const Entry& entry) {
  if (statement.operands.size() != 2) return operate(statement, entry);
  const Type type = entry.slots[0].type;
  const bool packs = statement.operands[1].starts_with('{');
  const bool unpacks = statement.operands[0].starts_with('{');
  if (packs || unpacks) {
    const auto parts = split(statement.operands[packs ? 1 : 0]);
    const std::size_t bytes = width(type) / std::max<std::size_t>(1, parts.size());
    const Handler run = packs ? pack_handler(bytes) : unpack_handler(bytes);
    if (run == nullptr || bytes * parts.size() != width(type))
      refuse("a vector that mov cannot pack");
    const Type part = bytes == 1 ? Type::u8 : bytes == 2 ? Type::u16 : Type::u32;
    std::vector<Instruction> after;
    std::array<std::uint32_t, 6> places{};
    places[0] = packs ? destination(statement.operands[0], type, after)
                      : source(statement.operands[1], type);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      places[i + 1] = packs ? source(parts[i], part) : destination(parts[i], part, after);
    }
    Instruction& made = emit(run);
    made.at = places;
    made.count = static_cast<std::uint8_t>(parts.size());
    kernel_.code.insert(kernel_.code.end(), after.begin(), after.end());
    return;
  }
  const std::string& from = statement.operands[1];
  if (from == "%clock" || from == "%clock64" || from == "%globaltimer") {
    std::vector<Instruction> after;
    const std::uint32_t to = destination(statement.operands[0], type, after);
    emit(clock_handler(width(type))).at[0] = to;
    return;
  }
  operate(statement, entry);
}

void Assembler::access(const Statement& statement, const Entry& entry) {
  // Loads and atom begin with the result, stores and red with the address.
  const bool result_first = entry.form == Form::load || entry.form == Form::atomic;
  const std::size_t address_at = result_first ? 1 : 0;
  if (statement.operands.size() <= address_at)
    refuse("'" + statement.opcode + "' has too few operands");
  const Address where = address(statement.operands[address_at]);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    if (i == address_at) continue;
    const std::string& text = statement.operands[i];
    if (text.starts_with('{'))
      for (auto& part : split(text)) values.push_back(std::move(part));
    else
      values.push_back(text);
  }
  if (values.size() != entry.slots.size() - 1)
    refuse("'" + statement.opcode + "' has other operands");
  std::vector<Instruction> after;
  std::array<std::uint32_t, 6> places{where.place};
  for (std::size_t i = 1; i < entry.slots.size(); ++i) {
    const Slot& slot = entry.slots[i];
    places[i] = slot.role == Role::destination ? destination(values[i - 1], slot.type, after)
                                               : source(values[i - 1], slot.type);
  }
  Handler run = entry.run;
  if (entry.space == Entry::Space::parameter && where.space == Symbol::Space::local) {
    std::string local = statement.opcode;  // an argument of a call
    run = table().at(local.replace(2, 6, ".local")).run;
  }
  Instruction& made = emit(run);
  made.at = places;
  made.offset = where.offset;
  made.wide = where.wide ? 1 : 0;
  made.count = entry.count;
  kernel_.code.insert(kernel_.code.end(), after.begin(), after.end());
}

// call (results), name, (arguments): the arguments' memory is what the callee calls its parameters.
void Assembler::call(const Statement& statement) {
  if (!statement.guard.empty()) refuse("a call under a guard");
  std::vector<std::string> results, arguments;
  std::string name;
  for (const std::string& operand : statement.operands) {
    if (!operand.starts_with('('))
      name = operand;
    else
      (name.empty() ? results : arguments) = split(operand);
  }
  if (name == "__assertfail") {
    emit(table().at("trap").run);
    return;
  }
  const auto found = text_.functions.find(name);
  if (found == text_.functions.end() || !found->second.defined) {
    refuse("a call of '" + (name.empty() ? std::string("?") : demangle(name)) +
           "', which the PTX does not hold");
  }
  Function& function = found->second;
  read_body(text_, function);
  if (!function.error.empty()) refuse(function.error);
  if (function.parameters.size() != arguments.size() || function.results.size() != results.size()) {
    refuse("a call of '" + demangle(name) + "' with other arguments than it has");
  }
  Scope scope;
  const auto pass = [&](const Declaration& formal, const std::string& actual) {
    const Symbol* symbol = find_symbol(actual);
    if (symbol == nullptr) refuse("'" + actual + "' is no argument in memory");
    scope.symbols[formal.name] = *symbol;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) pass(function.parameters[i], arguments[i]);
  for (std::size_t i = 0; i < results.size(); ++i) pass(function.results[i], results[i]);
  const Statement* here = statement_;
  splice(function, {scope});
  statement_ = here;
}

}  // namespace lockstep::paper::ptx
