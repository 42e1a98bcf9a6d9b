// Operands: registers, constants, special registers, names and addresses.
#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "engine/paper/lanes/half.hpp"
#include "engine/paper/ptx/assembler.hpp"

namespace lockstep::paper::ptx {
namespace {

[[noreturn]] void refuse_operand(const std::string& why) { throw std::runtime_error(why); }

bool digit(char c) { return c >= '0' && c <= '9'; }

const std::map<std::string, Special, std::less<>>& special_names() {
  using enum Special;
  static const std::map<std::string, Special, std::less<>> names{
      {"%tid.x", tid_x},
      {"%tid.y", tid_y},
      {"%tid.z", tid_z},
      {"%ntid.x", ntid_x},
      {"%ntid.y", ntid_y},
      {"%ntid.z", ntid_z},
      {"%ctaid.x", ctaid_x},
      {"%ctaid.y", ctaid_y},
      {"%ctaid.z", ctaid_z},
      {"%nctaid.x", nctaid_x},
      {"%nctaid.y", nctaid_y},
      {"%nctaid.z", nctaid_z},
      {"%laneid", laneid},
      {"%warpid", warpid},
      {"%nwarpid", nwarpid},
      {"%smid", smid},
      {"%nsmid", nsmid},
      {"%lanemask_eq", lanemask_eq},
      {"%lanemask_lt", lanemask_lt},
      {"%lanemask_le", lanemask_le},
      {"%lanemask_gt", lanemask_gt},
      {"%lanemask_ge", lanemask_ge},
      {"%dynamic_smem_size", dynamic_smem_size},
      {"%total_smem_size", total_smem_size}};
  return names;
}

std::uint64_t whole_number(std::string text) {
  const bool negative = text.starts_with('-');
  const bool flipped = text.starts_with('~');
  if (negative || flipped || text.starts_with('+')) text.erase(0, 1);
  if (text.ends_with('U')) text.pop_back();
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const bool binary = text.starts_with("0b");
  const bool octal = text.size() > 1 && text[0] == '0' && digit(text[1]);
  const std::size_t skip = hex || binary ? 2 : 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + skip, text.data() + text.size(), value,
                                            hex      ? 16
                                            : binary ? 2
                                            : octal  ? 8
                                                     : 10);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse_operand("the operand '" + text + "' is not known to paper");
  }
  return negative ? 0 - value : flipped ? ~value : value;
}

}  // namespace

std::uint32_t Assembler::room(std::size_t width) {
  const std::size_t bytes = width == 0 ? 4 : width * warp_lanes;
  const std::size_t place = kernel_.file_bytes;
  kernel_.file_bytes = (place + bytes + 63) / 64 * 64;
  return static_cast<std::uint32_t>(place);
}

std::uint32_t Assembler::constant(std::size_t width, std::uint64_t bits, int variable) {
  const auto [found, fresh] = constants_.try_emplace({variable, {width, bits}}, 0);
  if (fresh) {
    found->second = room(width);
    kernel_.constants.push_back({found->second, static_cast<std::uint8_t>(width), bits, variable});
  }
  return found->second;
}

std::optional<Assembler::Register> Assembler::find_register(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string range = name.substr(0, digits);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->registers.find(name); found != scope->registers.end()) {
      return found->second;
    }
    if (const auto found = scope->ranges.find(range);
        digits < name.size() && found != scope->ranges.end()) {
      return scope->registers[name] = {room(found->second), found->second};
    }
  }
  return special(name);
}

std::optional<Assembler::Register> Assembler::special(const std::string& name) {
  const auto found = special_names().find(name);
  if (found == special_names().end()) return std::nullopt;
  const auto [known, fresh] = specials_.try_emplace(found->second, 0);
  if (fresh) {
    known->second = room(4);
    kernel_.specials.emplace_back(found->second, known->second);
  }
  return Register{known->second, 4};
}

const Assembler::Symbol* Assembler::find_symbol(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->symbols.find(name); found != scope->symbols.end())
      return &found->second;
  }
  auto& self = const_cast<Assembler&>(*this);  // names of the module are entered when first used
  if (const auto found = shared_.find(name); found != shared_.end()) return &found->second;
  if (const auto found = variable_numbers_.find(name); found != variable_numbers_.end()) {
    return &(self.shared_[name] = {Symbol::Space::variable, 0, found->second});
  }
  for (const Declaration& variable : text_.variables) {
    if (variable.name != name || variable.space != ".shared") continue;
    const bool dynamic = variable.external || variable.count == 0;
    return &(self.shared_[name] =
                 dynamic ? Symbol{Symbol::Space::dynamic_shared, 0, -1}
                         : Symbol{Symbol::Space::shared, self.allocate_shared(variable), -1});
  }
  return nullptr;
}

std::uint32_t Assembler::immediate(const std::string& text, Type type) {
  const bool is_float = type == Type::f32 || type == Type::f64;
  std::uint64_t bits = 0;
  const auto hex_bits = [&](std::size_t digits) {
    if (text.size() != digits + 2)
      refuse_operand("the constant '" + text + "' is not known to paper");
    std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  };
  if (text.starts_with("0f") || text.starts_with("0F")) {
    hex_bits(8);
    if (type == Type::f64)
      bits = std::bit_cast<std::uint64_t>(
          double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
  } else if (text.starts_with("0d") || text.starts_with("0D")) {
    hex_bits(16);
    if (type == Type::f32) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    }
  } else if (is_float) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size())
      refuse_operand("the constant '" + text + "' is not known to paper");
    bits = type == Type::f64 ? std::bit_cast<std::uint64_t>(value)
                             : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  } else {
    bits = whole_number(text);
    if (type == Type::pred) bits = bits != 0 ? ~0U : 0U;
  }
  const std::size_t bytes = width(type);
  if (bytes < 8 && type != Type::pred) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
  return constant(bytes, bits);
}

std::uint32_t Assembler::address_constant(const Symbol& symbol, std::uint64_t offset,
                                          std::size_t bytes) {
  if (symbol.space != Symbol::Space::dynamic_shared) {
    return constant(bytes, symbol.offset + offset, symbol.variable);
  }
  const std::uint32_t place = room(bytes);  // its value is known when all static arrays are
  dynamic_constants_.push_back(kernel_.constants.size());
  kernel_.constants.push_back({place, static_cast<std::uint8_t>(bytes), offset, -1});
  return place;
}

std::uint32_t Assembler::source(const std::string& text, Type type) {
  if (text.empty()) refuse_operand("an operand is empty");
  if (text == "WARP_SZ") return constant(width(type), warp_lanes);  // what warpSize becomes
  if (text[0] == '!') {
    const std::uint32_t plain = source(text.substr(1), Type::pred);
    const std::uint32_t flipped = room(0);
    Instruction& made = emit(table().at("not.pred").run);
    made.at = {flipped, plain};
    made.counted = 0;
    return flipped;
  }
  if (const auto found = find_register(text)) {
    const std::size_t wanted = width(type);
    if (found->width == wanted) return found->place;
    if (found->width < wanted || wanted == 0 || found->width == 0) {
      refuse_operand("the register '" + text + "' is too narrow for ." + std::string(name(type)));
    }
    const std::uint32_t narrow = room(wanted);
    Instruction& made = emit(resize_handler(wanted, found->width, type));
    made.at = {narrow, found->place};
    made.counted = 0;
    return narrow;
  }
  if (digit(text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '~')
    return immediate(text, type);
  const std::size_t plus = text.find('+');
  if (const Symbol* symbol = find_symbol(text.substr(0, plus))) {
    const std::uint64_t offset =
        plus == std::string::npos ? 0 : whole_number(text.substr(plus + 1));
    return address_constant(*symbol, offset, width(type));
  }
  refuse_operand("the operand '" + text + "' is not known to paper");
}

std::uint32_t Assembler::destination(const std::string& text, Type type,
                                     std::vector<Instruction>& after) {
  const std::size_t wanted = width(type);
  if (text == "_") return room(wanted);
  const auto found = find_register(text);
  if (!found || special_names().contains(text))
    refuse_operand("the result '" + text + "' is no register");
  if (found->width == wanted) return found->place;
  if (found->width < wanted || wanted == 0 || found->width == 0) {
    refuse_operand("the register '" + text + "' is too narrow for ." + std::string(name(type)));
  }
  const std::uint32_t narrow = room(wanted);
  Instruction& made = emit(resize_handler(found->width, wanted, type));
  made.at = {found->place, narrow};
  made.counted = 0;
  after.push_back(made);
  kernel_.code.pop_back();  // it goes behind the instruction
  return narrow;
}

Assembler::Address Assembler::address(const std::string& text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') {
    refuse_operand("the address '" + text + "' is not known to paper");
  }
  std::string base = text.substr(1, text.size() - 2);
  Address made;
  const std::size_t sign = base.find_first_of("+-", 1);
  if (sign != std::string::npos) {
    const std::size_t number = base[sign] == '+' ? sign + 1 : sign;  // "+-4" is written too
    made.offset = static_cast<std::int64_t>(whole_number(base.substr(number)));
    base.resize(sign);
  }
  if (const auto found = find_register(base)) {
    if (found->width != 4 && found->width != 8)
      refuse_operand("the address '" + text + "' is no register of 32 or 64 bits");
    made.place = found->place;
    made.wide = found->width == 8;
  } else if (const Symbol* symbol = find_symbol(base)) {
    made.place = address_constant(*symbol, 0, 8);
    made.space = symbol->space;
  } else {
    made.place = constant(8, whole_number(base));
  }
  return made;
}

}  // namespace lockstep::paper::ptx
