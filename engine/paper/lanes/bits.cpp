// Bits: logic, shifts, counts, fields and permutations.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

template <typename T>
T reversed(T value) {
  T result = 0;
  for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit) {
    result = static_cast<T>(result << 1 | (value >> bit & 1U));
  }
  return result;
}

template <typename T>
T shifted_right(T value, U32 by) {  // shifts past the width give the sign, or 0
  constexpr U32 bits = 8 * sizeof(T);
  if (by >= bits) return value < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(value >> by);
}
template <typename T>
T shifted_left(T value, U32 by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(value << by);
}

template <typename T>
void add_logic(Table& table, const std::string& s) {
  add_plain<T, T, T>(table, "and" + s, [](T a, T b) { return static_cast<T>(a & b); });
  add_plain<T, T, T>(table, "or" + s, [](T a, T b) { return static_cast<T>(a | b); });
  add_plain<T, T, T>(table, "xor" + s, [](T a, T b) { return static_cast<T>(a ^ b); });
  add_plain<T, T>(table, "not" + s, [](T a) { return static_cast<T>(~a); });
  add_plain<T, T>(table, "cnot" + s, [](T a) { return static_cast<T>(a == 0); });
  add_plain<T, T, U32>(table, "shl" + s, [](T a, U32 by) { return shifted_left(a, by); });
  add_plain<T, T, U32>(table, "shr" + s, [](T a, U32 by) { return shifted_right(a, by); });
}

template <typename T>
void add_shift_right(Table& table) {
  add_plain<T, T, U32>(table, "shr." + suffix<T>(),
                       [](T a, U32 by) { return shifted_right(a, by); });
}

template <typename T>
void add_counts(Table& table, const std::string& s) {
  add_plain<U32, T>(table, "popc" + s, [](T a) { return static_cast<U32>(std::popcount(a)); });
  add_plain<U32, T>(table, "clz" + s, [](T a) { return static_cast<U32>(std::countl_zero(a)); });
  add_plain<T, T>(table, "brev" + s, [](T a) { return reversed(a); });
  add_plain<T, T, T, U32, U32>(table, "bfi" + s, [](T a, T b, U32 begin, U32 length) {
    begin &= 0xFF, length &= 0xFF;
    const T ones =
        length >= 8 * sizeof(T) ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    const T mask = shifted_left(ones, begin);
    return static_cast<T>((shifted_left(a, begin) & mask) | (b & ~mask));
  });
}

// The highest bit that is set, of a negative number the highest that is not; all ones where none
// is.
template <typename T>
U32 highest(T value) {
  using U = std::make_unsigned_t<T>;
  const U bits = value < 0 ? static_cast<U>(~static_cast<U>(value)) : static_cast<U>(value);
  return bits == 0 ? ~0U : static_cast<U32>(8 * sizeof(T) - 1 - std::countl_zero(bits));
}

template <typename T>
T field(T value, U32 begin, U32 length) {
  constexpr U32 bits = 8 * sizeof(T);
  begin &= 0xFF, length &= 0xFF;
  if (length == 0) return 0;
  const U32 top = std::min(begin + length - 1, bits - 1);
  const bool sign = std::is_signed_v<T> && (static_cast<U64>(value) >> top & 1U) != 0;
  U64 result = 0;
  for (U32 bit = 0; bit < bits; ++bit) {
    const U32 from = begin + bit;
    const bool set =
        bit < length && from < bits ? (static_cast<U64>(value) >> from & 1U) != 0 : sign;
    result |= U64{set} << bit;
  }
  return static_cast<T>(result);
}

template <typename T>
void add_fields(Table& table) {
  const std::string s = "." + suffix<T>();
  add_plain<T, T, U32, U32>(table, "bfe" + s,
                            [](T a, U32 begin, U32 length) { return field(a, begin, length); });
  add_plain<U32, T>(table, "bfind" + s, [](T a) { return highest(a); });
  add_plain<U32, T>(table, "bfind.shiftamt" + s, [](T a) {
    const U32 bit = highest(a);
    return bit == ~0U ? bit : static_cast<U32>(8 * sizeof(T) - 1) - bit;
  });
}

U32 permuted(U32 a, U32 b, U32 selector) {
  const U64 bytes = U64{b} << 32 | a;
  U32 result = 0;
  for (U32 i = 0; i < 4; ++i) {
    const U32 choice = selector >> (4 * i) & 0xF;
    U32 byte = static_cast<U32>(bytes >> (8 * (choice & 7))) & 0xFF;
    if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;  // the sign, spread
    result |= byte << (8 * i);
  }
  return result;
}

// The selectors that the modes of prmt stand for, by the two lower bits of c.
template <U32 s0, U32 s1, U32 s2, U32 s3>
void add_permutation(Table& table, const std::string& mode) {
  add_plain<U32, U32, U32, U32>(table, "prmt.b32." + mode, [](U32 a, U32 b, U32 c) {
    constexpr std::array<U32, 4> selectors{s0, s1, s2, s3};
    return permuted(a, b, selectors[c & 3]);
  });
}

U32 funnel_left(U32 a, U32 b, U32 by) { return static_cast<U32>(((U64{b} << 32 | a) << by) >> 32); }
U32 funnel_right(U32 a, U32 b, U32 by) { return static_cast<U32>((U64{b} << 32 | a) >> by); }

U32 nth_set(U32 mask, U32 base, std::int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1U) != 0 ? base : ~0U;
  std::int32_t left = std::abs(offset);
  for (std::int64_t bit = base; bit >= 0 && bit < 32; bit += offset < 0 ? -1 : 1) {
    if ((mask >> bit & 1U) != 0 && --left == 0) return static_cast<U32>(bit);
  }
  return ~0U;
}

enum class Logic { and_, or_, xor_, not_, copy };
template <Logic logic>
void on_predicates(Warp& warp, const Instruction& instruction) {
  const U32 a = predicate(warp, instruction.at[1]);
  const U32 b =
      logic == Logic::not_ || logic == Logic::copy ? 0 : predicate(warp, instruction.at[2]);
  set_predicate(warp, instruction.at[0],
                logic == Logic::and_   ? a & b
                : logic == Logic::or_  ? a | b
                : logic == Logic::xor_ ? a ^ b
                : logic == Logic::not_ ? ~a
                                       : a);
}

}  // namespace

void add_bits(Table& table) {
  add_logic<U16>(table, ".b16");
  add_logic<U32>(table, ".b32");
  add_logic<U64>(table, ".b64");
  for_types(Integers16To64{}, [&]<typename T>() { add_shift_right<T>(table); });
  add_counts<U32>(table, ".b32");
  add_counts<U64>(table, ".b64");
  for_types(TypeList<U32, std::int32_t, U64, std::int64_t>{},
            [&]<typename T>() { add_fields<T>(table); });
  add_plain<U32, U32, U32, U32, U32>(table, "lop3.b32", [](U32 a, U32 b, U32 c, U32 rule) {
    U32 result = 0;
    for (U32 row = 0; row < 8; ++row) {
      if ((rule >> row & 1U) == 0) continue;
      result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    }
    return result;
  });
  add_plain<U32, U32, U32, U32>(table, "shf.l.wrap.b32",
                                [](U32 a, U32 b, U32 c) { return funnel_left(a, b, c & 31); });
  add_plain<U32, U32, U32, U32>(table, "shf.l.clamp.b32", [](U32 a, U32 b, U32 c) {
    return funnel_left(a, b, std::min(c, 32U));
  });
  add_plain<U32, U32, U32, U32>(table, "shf.r.wrap.b32",
                                [](U32 a, U32 b, U32 c) { return funnel_right(a, b, c & 31); });
  add_plain<U32, U32, U32, U32>(table, "shf.r.clamp.b32", [](U32 a, U32 b, U32 c) {
    return funnel_right(a, b, std::min(c, 32U));
  });
  add_plain<U32, U32, U32, U32>(table, "prmt.b32",
                                [](U32 a, U32 b, U32 c) { return permuted(a, b, c); });
  add_permutation<0x3210, 0x4321, 0x5432, 0x6543>(table, "f4e");
  add_permutation<0x5670, 0x6701, 0x7012, 0x0123>(table, "b4e");
  add_permutation<0x0000, 0x1111, 0x2222, 0x3333>(table, "rc8");
  add_permutation<0x3210, 0x3211, 0x3222, 0x3333>(table, "ecl");
  add_permutation<0x0000, 0x1110, 0x2210, 0x3210>(table, "ecr");
  add_permutation<0x1010, 0x3232, 0x1010, 0x3232>(table, "rc16");
  add_plain<U32, U32, U32, std::int32_t>(
      table, "fns.b32", [](U32 mask, U32 base, std::int32_t n) { return nth_set(mask, base, n); });
  const Slot to{Role::destination, Type::pred}, from{Role::source, Type::pred};
  table.emplace("and.pred", entry_of(&on_predicates<Logic::and_>, {to, from, from}));
  table.emplace("or.pred", entry_of(&on_predicates<Logic::or_>, {to, from, from}));
  table.emplace("xor.pred", entry_of(&on_predicates<Logic::xor_>, {to, from, from}));
  table.emplace("not.pred", entry_of(&on_predicates<Logic::not_>, {to, from}));
  table.emplace("mov.pred", entry_of(&on_predicates<Logic::copy>, {to, from}));
}

}  // namespace lockstep::paper
