// The axes along which the ranks of a run are laid out, and one number for each of them.
//   tp   tensor: ranks share each layer             cp   context: they share each sequence
//   ep   expert: they share the experts             dp   data: each has its own share of a batch
//   pp   pipeline: each has its own layers
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace lockstep::mesh {

enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };

// From the fastest axis to the slowest; each axis stands in it once.
using AxisOrder = std::array<Axis, 5>;

// Megatron's order. Neighbouring ranks share a layer, because this axis sends most and waits for
// it; stages are far apart, because they send least.
inline constexpr AxisOrder usual_order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};

constexpr std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 5> names{"tp", "cp", "ep", "dp", "pp"};
  return names[static_cast<std::size_t>(axis)];
}

template <int Otherwise>
struct OfAxes {
  int tp = Otherwise, cp = Otherwise, ep = Otherwise, dp = Otherwise, pp = Otherwise;

  constexpr int& operator[](Axis axis) { return this->*place(axis); }
  constexpr int operator[](Axis axis) const { return this->*place(axis); }
  bool operator==(const OfAxes&) const = default;

 private:
  static constexpr int OfAxes::*place(Axis axis) {
    constexpr std::array places{&OfAxes::tp, &OfAxes::cp, &OfAxes::ep, &OfAxes::dp, &OfAxes::pp};
    return places[static_cast<std::size_t>(axis)];
  }
};

// Some of the axes.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const Axis axis : axes) add(axis);
  }
  constexpr void add(Axis axis) { bits_ |= bit_of(axis); }
  constexpr bool has(Axis axis) const { return (bits_ & bit_of(axis)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const AxisSet&) const = default;

 private:
  static constexpr unsigned bit_of(Axis axis) { return 1U << static_cast<unsigned>(axis); }
  unsigned bits_ = 0;
};

using AxisSizes = OfAxes<1>;    // how many ranks an axis has; 1: it is not there
using Coordinates = OfAxes<0>;  // a rank's place on each axis, from 0

}  // namespace lockstep::mesh
