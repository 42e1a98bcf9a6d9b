// The table of all that paper knows of PTX: one entry for each opcode with its modifiers and types,
// spelled as in the text ("add.rn.ftz.f32"). What is not in it is refused by name; nothing is
// ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/paper/lanes/instruction.hpp"

namespace lockstep::paper {

enum class Type : std::uint8_t {
  none,
  pred,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64
};
std::string_view name(Type type);
std::size_t width(Type type);  // bytes; 0 of a predicate
inline bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }

// How the operands are written.
enum class Form : std::uint8_t {
  plain,    // d, a, b, ...
  move,     // mov: also {d0, d1}, a and d, {a0, a1}
  convert,  // plain, and a register may be wider than its type
  load,     // d or {d0, ...}, [a]
  store,    // [a], b or {b0, ...}
  atomic,   // d, [a], b (, c)
  reduce,   // [a], b
  shuffle,  // d(|p), a, b, c, mask
  branch,   // label
  call,
  ret,
  exit,
  barrier,  // an optional number of the barrier
};

enum class Role : std::uint8_t {
  destination,
  second,  // a predicate after '|', or absent
  absent,  // never written
  source,
  carry,  // the carry of add.cc: not written
  address,
};

struct Slot {
  Role role = Role::source;
  Type type = Type::none;
};

struct Entry {
  Form form = Form::plain;
  Handler run = nullptr;
  Handler after =
      nullptr;  // runs next, with the same operands: the result of a barrier that counts
  std::vector<Slot> slots;  // in the order of Instruction::at
  std::uint8_t flops = 0;
  std::uint8_t count = 1;  // of a vector access
  enum class Space : std::uint8_t { generic, global, shared, local, parameter, constant };
  Space space = Space::generic;
};

using Table = std::map<std::string, Entry, std::less<>>;
const Table& table();  // made once; never changes

// The families that fill it.
void add_integers(Table& table);
void add_carries(Table& table);
void add_bits(Table& table);
void add_floats(Table& table);
void add_approximations(Table& table);
void add_halves(Table& table);
void add_comparisons(Table& table);
void add_selections(Table& table);
void add_integer_conversions(Table& table);
void add_float_conversions(Table& table);
void add_moves(Table& table);
void add_accesses(Table& table);
void add_atomics(Table& table);
void add_warp_operations(Table& table);
void add_control(Table& table);

// Handlers that the decoder needs and PTX does not spell.
Handler copy_handler(std::size_t width);                            // at[0] = at[1]; 0: a predicate
Handler resize_handler(std::size_t to, std::size_t from, Type as);  // truncates, or extends as `as`
Handler pack_handler(std::size_t part);    // at[0] = {at[1], ...}, `count` parts
Handler unpack_handler(std::size_t part);  // {at[1], ...} = at[0]
Handler clock_handler(std::size_t width);  // at[0] = instructions so far

}  // namespace lockstep::paper
