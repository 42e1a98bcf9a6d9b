// setp and set: comparisons, alone or combined with a predicate. (Those of bfloat16 need sm_90.)
#include <cmath>

#include "engine/paper/lanes/rounding.hpp"

namespace lockstep::paper {
namespace {

template <typename T>
auto number_of(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_float(value);
  else
    return value;
}

enum class Combine { none, and_, or_, xor_ };

template <Combine combine>
std::uint32_t combined(std::uint32_t bits, std::uint32_t with) {
  return combine == Combine::and_   ? bits & with
         : combine == Combine::or_  ? bits | with
         : combine == Combine::xor_ ? bits ^ with
                                    : bits;
}

// Never inlined: it is the same for all that is done with the bits.
template <typename T, typename F>
[[gnu::noinline]] std::uint32_t compare_lanes(const Warp& warp, std::uint32_t a, std::uint32_t b) {
  const auto* x = at<T>(warp, a);
  const auto* y = at<T>(warp, b);
  std::uint32_t bits = 0;
#pragma GCC unroll 1
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    bits |= std::uint32_t{F{}(static_cast<T>(x[lane]), static_cast<T>(y[lane]))} << lane;
  }
  return bits;
}

// at: p, q or no place, a, b (, c).  p = (a ~ b) op c, q = !(a ~ b) op c
template <typename T, typename F, Combine combine>
void set_predicates(Warp& warp, const Instruction& instruction) {
  const auto& place = instruction.at;
  const std::uint32_t bits = compare_lanes<T, F>(warp, place[2], place[3]);
  const std::uint32_t with = combine == Combine::none ? 0 : predicate(warp, place[4]);
  set_predicate(warp, place[0], combined<combine>(bits, with));
  if (place[1] != Instruction::unguarded) {
    set_predicate(warp, place[1], combined<combine>(~bits, with));
  }
}

template <typename R>
[[gnu::noinline]] void spread(const Warp& warp, std::uint32_t place, std::uint32_t bits) {
  auto* d = at<R>(warp, place);
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const bool set = (bits >> lane & 1U) != 0;
    if constexpr (std::is_same_v<R, Half>)
      d[lane] = set ? Half{0x3C00} : Half{};
    else if constexpr (std::is_same_v<R, float>)
      d[lane] = set ? 1.0F : 0.0F;
    else
      d[lane] = set ? static_cast<R>(~R{0}) : R{0};
  });
}

// at: d, a, b (, c).  d = the comparison as all ones, or as 1.0
template <typename T, typename F, typename R, Combine combine>
void set_register(Warp& warp, const Instruction& instruction) {
  const auto& place = instruction.at;
  const std::uint32_t bits = compare_lanes<T, F>(warp, place[1], place[2]);
  const std::uint32_t with = combine == Combine::none ? 0 : predicate(warp, place[3]);
  spread<R>(warp, place[0], combined<combine>(bits, with));
}

struct Handlers {
  Handler flag, as_u32, as_s32, as_float;
};
template <typename T, typename F, Combine combine>
Handlers handlers_of() {
  // 1.0 is a float, or of a half's comparison a half.
  using R = std::conditional_t<std::is_same_v<T, Half>, Half, float>;
  return {&set_predicates<T, F, combine>, &set_register<T, F, std::uint32_t, combine>,
          &set_register<T, F, std::int32_t, combine>, &set_register<T, F, R, combine>};
}

// No template, for the compiler's sake: it is called for 500 of them.
void add_comparison(Table& table, const std::string& compare, Combine combine, Type type,
                    const std::string& ftz, const std::string& s, const Handlers& handlers) {
  const char* op = combine == Combine::none   ? ""
                   : combine == Combine::and_ ? ".and"
                   : combine == Combine::or_  ? ".or"
                                              : ".xor";
  const auto put = [&](const std::string& opcode, const std::string& to, Handler run,
                       std::vector<Slot> slots) {
    slots.push_back({Role::source, type}), slots.push_back({Role::source, type});
    if (combine != Combine::none) slots.push_back({Role::source, Type::pred});
    table.emplace(opcode + compare + op + ftz + to + s, entry_of(run, std::move(slots)));
  };
  // Halves have no second predicate; what stands for it is absent always.
  const Slot first{Role::destination, Type::pred};
  put("setp", "", handlers.flag,
      {first, {type == Type::f16 ? Role::absent : Role::second, Type::pred}});
  put("set", ".u32", handlers.as_u32, {{Role::destination, Type::u32}});
  put("set", ".s32", handlers.as_s32, {{Role::destination, Type::s32}});
  const Type one = type == Type::f16 ? Type::f16 : Type::f32;
  put("set", "." + std::string(name(one)), handlers.as_float, {{Role::destination, one}});
}

template <typename T, Flush flush, typename F>
void add_compare(Table& table, const char* compare, const std::string& s, F) {
  const auto f = [](T a, T b) {
    return F{}(flushed<flush>(number_of(a)), flushed<flush>(number_of(b)));
  };
  using G = std::remove_const_t<decltype(f)>;
  const std::string ftz = flush == Flush::yes ? ".ftz" : "", dotted = std::string(".") + compare;
  constexpr Type type = type_of<T>();
  add_comparison(table, dotted, Combine::none, type, ftz, s, handlers_of<T, G, Combine::none>());
  add_comparison(table, dotted, Combine::and_, type, ftz, s, handlers_of<T, G, Combine::and_>());
  add_comparison(table, dotted, Combine::or_, type, ftz, s, handlers_of<T, G, Combine::or_>());
  add_comparison(table, dotted, Combine::xor_, type, ftz, s, handlers_of<T, G, Combine::xor_>());
}

template <typename T, Flush flush>
void add_order(Table& table, const std::string& s) {
  add_compare<T, flush>(table, "eq", s, [](auto a, auto b) { return a == b; });
  add_compare<T, flush>(table, "ne", s, [](auto a, auto b) { return a < b || a > b; });
  add_compare<T, flush>(table, "lt", s, [](auto a, auto b) { return a < b; });
  add_compare<T, flush>(table, "le", s, [](auto a, auto b) { return a <= b; });
  add_compare<T, flush>(table, "gt", s, [](auto a, auto b) { return a > b; });
  add_compare<T, flush>(table, "ge", s, [](auto a, auto b) { return a >= b; });
}

template <typename T, Flush flush>
void add_unordered(Table& table, const std::string& s) {  // true where one is NaN
  add_compare<T, flush>(table, "equ", s, [](auto a, auto b) { return !(a < b || a > b); });
  add_compare<T, flush>(table, "neu", s, [](auto a, auto b) { return a != b; });
  add_compare<T, flush>(table, "ltu", s, [](auto a, auto b) { return !(a >= b); });
  add_compare<T, flush>(table, "leu", s, [](auto a, auto b) { return !(a > b); });
  add_compare<T, flush>(table, "gtu", s, [](auto a, auto b) { return !(a <= b); });
  add_compare<T, flush>(table, "geu", s, [](auto a, auto b) { return !(a < b); });
  add_compare<T, flush>(table, "num", s, [](auto a, auto b) { return !std::isunordered(a, b); });
  add_compare<T, flush>(table, "nan", s, [](auto a, auto b) { return std::isunordered(a, b); });
}

}  // namespace

void add_comparisons(Table& table) {
  for_types(Integers16To64{}, [&]<typename T>() {
    const std::string s = "." + suffix<T>();
    add_order<T, Flush::no>(table, s);
    if constexpr (std::is_unsigned_v<T>) {
      add_compare<T, Flush::no>(table, "lo", s, [](auto a, auto b) { return a < b; });
      add_compare<T, Flush::no>(table, "ls", s, [](auto a, auto b) { return a <= b; });
      add_compare<T, Flush::no>(table, "hi", s, [](auto a, auto b) { return a > b; });
      add_compare<T, Flush::no>(table, "hs", s, [](auto a, auto b) { return a >= b; });
      const std::string bits = ".b" + std::to_string(8 * sizeof(T));
      add_compare<T, Flush::no>(table, "eq", bits, [](auto a, auto b) { return a == b; });
      add_compare<T, Flush::no>(table, "ne", bits, [](auto a, auto b) { return a != b; });
    }
  });
  const auto floats = [&]<typename T, Flush flush>() {
    add_order<T, flush>(table, "." + suffix<T>());
    add_unordered<T, flush>(table, "." + suffix<T>());
  };
  floats.template operator()<float, Flush::no>();
  floats.template operator()<float, Flush::yes>();
  floats.template operator()<double, Flush::no>();
  floats.template operator()<Half, Flush::no>();
}

}  // namespace lockstep::paper
