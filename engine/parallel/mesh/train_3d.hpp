// Gradients of a model that is trained along several axes at once: which of them are summed over
// which ranks, and when, and by what the sums are divided.
//
//   dp, ep, cp   ranks read other samples, or other tokens of them. Where they hold the same
//                elements, the gradient is the mean over all of these data shards
//   tp, pp       ranks work on the same tokens. Mostly each has elements of its own, or has
//                computed the whole gradient of a copy: nothing is summed. Two kinds of copies are
//                partial, and are summed without a division: what tp ranks compute from their own
//                tokens (norms under sequence parallelism), and a table that the first stage and
//                the last one share
//
// Experts differ along ep, so their gradients are summed over fewer ranks. Their samples came from
// all of them, so the divisor is the same: all data shards, never the size of the group.
// Source: [NSC21] §3; [KCL22] §4.2 for the norms
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::mesh {

inline constexpr AxisSet data_axes{Axis::cp, Axis::ep, Axis::dp};

// The other ranks that have to do with a gradient of this rank.
struct GradientKind {
  AxisSet copies{};   // the axes along which ranks hold the same elements
  AxisSet partial{};  // of tp and pp, and of `copies`: those along which each has a part of the sum
  bool operator==(const GradientKind&) const = default;
};

enum class MicroBatch : std::uint8_t { more_follow, last };

// A sum over ranks, then a multiplication.
struct GradientSum {
  std::size_t gradient = 0;  // its place in the list
  AxisSet over;              // along pp: those stages that hold a copy
  double factor = 1;
  bool operator==(const GradientSum&) const = default;
};

// Decides what is done with the gradients of a step after a micro-batch. Gradients of micro-batches
// add up on each rank, and travel once.
//   sizes      of a mesh (make_mesh): their product is a number of ranks
//   gradients  in the model's order
//   after      the micro-batch whose backward pass is over
//   Returns    nothing while more follow; then, in the order of the list, each gradient that is
//              summed or divided. Axes of size 1 are left out of `over`
//   Ensures    every gradient becomes that of the mean loss over all data shards; no two ranks
//              that hold a copy differ in what they do
//   Throws     ContractError when a gradient is partial along an axis on which it is no copy, or
//              which is none of tp and pp
std::vector<GradientSum> reduce_gradients_3d(const AxisSizes& sizes,
                                             std::span<const GradientKind> gradients,
                                             MicroBatch after);

// True if this rank is the one that counts its elements in the norm of the whole gradient: of the
// ranks along tp, cp, ep and pp that hold a copy, the first. Replicas along dp take the norm apart.
bool counts_in_norm(const GradientKind& gradient, const Coordinates& at);

}  // namespace lockstep::mesh
