// The case format of train_3d, shared by adapter and exam. A set of axes is a byte here, with a bit
// for each axis.
#pragma once

#include "engine/parallel/mesh/train_3d.hpp"
#include "grader/play/mesh_axes.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

using AxisBits = std::uint8_t;

constexpr AxisBits bit_of(mesh::Axis axis) {
  return static_cast<AxisBits>(1 << static_cast<unsigned>(axis));
}
inline AxisBits bits_of(mesh::AxisSet axes) {
  AxisBits bits = 0;
  for (const mesh::Axis axis : mesh::usual_order) {
    if (axes.has(axis)) bits = static_cast<AxisBits>(bits | bit_of(axis));
  }
  return bits;
}
inline mesh::AxisSet axes_of(AxisBits bits) {
  mesh::AxisSet axes;
  for (const mesh::Axis axis : mesh::usual_order) {
    if (bits & bit_of(axis)) axes.add(axis);
  }
  return axes;
}

struct KindBits {
  AxisBits copies = 0, partial = 0;
  mesh::GradientKind kind() const { return {axes_of(copies), axes_of(partial)}; }
};
template <typename Archive>
void fields(Archive& archive, KindBits& kind) {
  archive(kind.copies, kind.partial);
}

enum class TrainForm : std::uint8_t { sums, norm };

// A question asks what is summed after a micro-batch, or whether the rank at a place counts the
// elements of the first gradient.
struct TrainQuestion {
  TrainForm form = TrainForm::sums;
  std::vector<KindBits> gradients;
  mesh::AxisSizes sizes;
  mesh::MicroBatch after = mesh::MicroBatch::last;
  mesh::Coordinates at;
};
template <typename Archive>
void fields(Archive& archive, TrainQuestion& q) {
  archive(q.form, q.gradients, q.sizes, q.after, q.at);
}

struct SumBits {
  std::uint64_t gradient = 0;
  AxisBits over = 0;
  double factor = 1;
};
template <typename Archive>
void fields(Archive& archive, SumBits& sum) {
  archive(sum.gradient, sum.over, sum.factor);
}

// In the form that was asked for.
struct TrainAnswer {
  std::vector<SumBits> sums;
  bool counts = false;
};
template <typename Archive>
void fields(Archive& archive, TrainAnswer& answer) {
  archive(answer.sums, answer.counts);
}

}  // namespace lockstep::grader
