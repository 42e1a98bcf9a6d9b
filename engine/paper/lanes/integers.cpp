// Whole numbers: sums, products, quotients, least and greatest.
#include <algorithm>
#include <limits>

#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

__extension__ using Wide128 = __int128;
__extension__ using UWide128 = unsigned __int128;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
using Twice = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
    std::conditional_t<sizeof(T) == 4,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, Wide128, UWide128>>>;

// Sums and products wrap.
template <typename T>
T low_product(T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 2, std::uint32_t, Unsigned<T>>;
  return static_cast<T>(static_cast<Wide>(static_cast<Wide>(a) * static_cast<Wide>(b)));
}
template <typename T>
T high_product(T a, T b) {
  return static_cast<T>((Twice<T>{a} * Twice<T>{b}) >> (8 * sizeof(T)));
}
template <typename T>
T sum(T a, T b) {
  return static_cast<T>(
      static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)));
}
template <typename T>
T difference(T a, T b) {
  return static_cast<T>(
      static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)));
}
// By zero: all ones, as GPUs answer; PTX leaves it open.
template <typename T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(~Unsigned<T>{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return difference<T>(0, a);
  }
  return static_cast<T>(a / b);
}
template <typename T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}
template <typename T>
T saturated(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max()));
}

template <typename T>
void add_one_type(Table& table) {
  const std::string s = "." + suffix<T>();
  add_plain<T, T, T>(table, "add" + s, [](T a, T b) { return sum(a, b); });
  add_plain<T, T, T>(table, "sub" + s, [](T a, T b) { return difference(a, b); });
  add_plain<T, T, T>(table, "mul.lo" + s, [](T a, T b) { return low_product(a, b); });
  add_plain<T, T, T>(table, "mul.hi" + s, [](T a, T b) { return high_product(a, b); });
  add_plain<T, T, T, T>(table, "mad.lo" + s,
                        [](T a, T b, T c) { return sum(low_product(a, b), c); });
  add_plain<T, T, T, T>(table, "mad.hi" + s,
                        [](T a, T b, T c) { return sum(high_product(a, b), c); });
  add_plain<T, T, T>(table, "div" + s, [](T a, T b) { return quotient(a, b); });
  add_plain<T, T, T>(table, "rem" + s, [](T a, T b) { return remainder(a, b); });
  add_plain<T, T, T>(table, "min" + s, [](T a, T b) { return std::min(a, b); });
  add_plain<T, T, T>(table, "max" + s, [](T a, T b) { return std::max(a, b); });
  add_plain<T, T, T, T>(table, "sad" + s, [](T a, T b, T c) {
    return sum(c, a < b ? difference(b, a) : difference(a, b));
  });
  if constexpr (sizeof(T) < 8) {
    using W = Twice<T>;
    add_plain<W, T, T>(table, "mul.wide" + s, [](T a, T b) { return static_cast<W>(W{a} * W{b}); });
    add_plain<W, T, T, W>(table, "mad.wide" + s,
                          [](T a, T b, W c) { return sum(static_cast<W>(W{a} * W{b}), c); });
  }
  if constexpr (std::is_signed_v<T>) {
    add_plain<T, T>(table, "neg" + s, [](T a) { return difference<T>(0, a); });
    add_plain<T, T>(table, "abs" + s, [](T a) { return a < 0 ? difference<T>(0, a) : a; });
  }
}

template <typename T>
void add_24_bits(Table& table) {
  const auto product = [](T a, T b) {  // of the lower 24 bits, with their sign
    const auto cut = [](T v) {
      return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(v) << 8) >> 8);
    };
    return low_product(cut(a), cut(b));
  };
  add_plain<T, T, T>(table, "mul24.lo." + suffix<T>(), product);
}

template <typename A, typename B>
void add_dot_product(Table& table) {
  using R =
      std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, std::int32_t, std::uint32_t>;
  const std::string types =
      (std::is_signed_v<A> ? ".s32" : ".u32") + std::string(std::is_signed_v<B> ? ".s32" : ".u32");
  add_plain<R, std::uint32_t, std::uint32_t, R>(
      table, "dp4a" + types, [](std::uint32_t a, std::uint32_t b, R c) {
        for (int byte = 0; byte < 4; ++byte) {
          const auto x = static_cast<std::int32_t>(static_cast<A>(a >> (8 * byte)));
          const auto y = static_cast<std::int32_t>(static_cast<B>(b >> (8 * byte)));
          c = sum(c, static_cast<R>(x * y));
        }
        return c;
      });
}

}  // namespace

void add_integers(Table& table) {
  for_types(Integers16To64{}, [&]<typename T>() { add_one_type<T>(table); });
  add_24_bits<std::uint32_t>(table);
  add_24_bits<std::int32_t>(table);
  add_dot_product<std::uint8_t, std::uint8_t>(table);
  add_dot_product<std::uint8_t, std::int8_t>(table);
  add_dot_product<std::int8_t, std::uint8_t>(table);
  add_dot_product<std::int8_t, std::int8_t>(table);
  using S = std::int32_t;
  add_plain<S, S, S>(table, "add.sat.s32",
                     [](S a, S b) { return saturated<S>(std::int64_t{a} + b); });
  add_plain<S, S, S>(table, "sub.sat.s32",
                     [](S a, S b) { return saturated<S>(std::int64_t{a} - b); });
}

}  // namespace lockstep::paper
