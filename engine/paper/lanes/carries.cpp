// Sums and products with a carry: wide arithmetic in steps (add.cc, addc, mad.lo.cc, ...).
#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

__extension__ using Wide = unsigned __int128;

enum class Step { add, subtract, multiply_low, multiply_high };
enum class Carry { none, used };  // in, or out

// at: d, the carry, a, b (, c). A subtraction carries its borrow.
template <typename T, Step step, Carry in, Carry out>
void with_carry(Warp& warp, const Instruction& instruction) {
  const auto& place = instruction.at;
  std::uint32_t carry = predicate(warp, place[1]);
  each_lane(warp.lanes, [&](std::uint32_t lane) {
    const T a = at<T>(warp, place[2])[lane], b = at<T>(warp, place[3])[lane];
    const Wide enters = in == Carry::used ? carry >> lane & 1U : 0U;
    Wide result = 0;
    if constexpr (step == Step::add) result = Wide{a} + b + enters;
    if constexpr (step == Step::subtract) result = Wide{a} - b - enters;
    if constexpr (step == Step::multiply_low || step == Step::multiply_high) {
      const Wide product = Wide{a} * b;
      const T part =
          static_cast<T>(step == Step::multiply_low ? product : product >> (8 * sizeof(T)));
      result = Wide{part} + at<T>(warp, place[4])[lane] + enters;
    }
    at<T>(warp, place[0])[lane] = static_cast<T>(result);
    const auto leaves = static_cast<std::uint32_t>(result >> (8 * sizeof(T))) & 1U;
    carry = (carry & ~(1U << lane)) | leaves << lane;
  });
  if (out == Carry::used) set_predicate(warp, place[1], carry);
}

template <typename T, Step step>
void add_step(Table& table, const std::string& plain, const std::string& carried) {
  const bool product = step == Step::multiply_low || step == Step::multiply_high;
  std::vector<Slot> slots{{Role::destination, type_of<T>()},
                          {Role::carry, Type::pred},
                          {Role::source, type_of<T>()},
                          {Role::source, type_of<T>()}};
  if (product) slots.push_back({Role::source, type_of<T>()});
  const auto put = [&](const std::string& name, Handler handler) {
    table.emplace(name + "." + suffix<T>(), entry_of(handler, slots));
    // The sign is of no matter, but to the upper half of a product (which we do not know signed).
    if (step != Step::multiply_high) {
      table.emplace(name + (sizeof(T) == 4 ? ".s32" : ".s64"), entry_of(handler, slots));
    }
  };
  put(plain + ".cc", &with_carry<T, step, Carry::none, Carry::used>);
  put(carried + ".cc", &with_carry<T, step, Carry::used, Carry::used>);
  put(carried, &with_carry<T, step, Carry::used, Carry::none>);
}

template <typename T>
void add_carries_of(Table& table) {
  add_step<T, Step::add>(table, "add", "addc");
  add_step<T, Step::subtract>(table, "sub", "subc");
  add_step<T, Step::multiply_low>(table, "mad.lo", "madc.lo");
  add_step<T, Step::multiply_high>(table, "mad.hi", "madc.hi");
}

}  // namespace

// Modifiers stand in the order of PTX: mad.lo.cc.u32.
void add_carries(Table& table) {
  add_carries_of<std::uint32_t>(table);
  add_carries_of<std::uint64_t>(table);
}

}  // namespace lockstep::paper
