// A way to train, as it declares itself: what it is called, what it is instead of, its options, and
// what it does not combine with. A declaration is light: lab-tool reads the command line of `train`
// from it without linking the trainer. What makes a strategy of a way is its maker (way_maker.hpp).
//
// A way is one stem: ways/x.hpp defines `Way x_way()`, and ways/x.cpp `const WayMaker& x_maker()`.
// One line of CMake, lockstep_way(x …), puts it into the tables below (cmake/ways.cmake).
//
//   slot        a run has at most one way in it, or        ways
//   execution   the whole model on each rank               pipeline, async
//   reduction   DDP, unless execution is taken             ddp, plain, horovod
//   hook        no hook on the buckets of DDP              compression
//   axis        any number of ways, each with a size above 1, which combine
//
// A way whose ranks do different things for one replica says the axis of the mesh along which they
// stand, and its option is the size: each way in the slot axis, and the pipeline. What ranks are
// left after all axes is dp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::train {

enum class Slot : std::uint8_t {
  execution,  // who runs which units of the model
  reduction,  // how gradients of replicas become one
  hook,       // what a bucket goes through on its way
  axis,       // how one layer is computed by several ranks
};

// Something with which a way does not combine, and why. It is declared once and holds in both
// directions.
struct Refusal {
  std::string what;  // the stem of another way, for all options that it declares; or an option
  std::string why;   // follows the option that was typed: "belongs to DDP, which …"
  // Command lines on which the two combine after all; empty: none.
  std::function<bool(const Arguments&)> unless = nullptr;
};

struct Way {
  std::string stem;  // of its files and of its program: "pipeline"
  std::string name;  // in sentences: "pipeline parallelism"
  Slot slot = Slot::reduction;
  // A run has this way when the option is not what it is by default. Of an axis, the option is its
  // size, 1 by default. Empty: the way that a run has when no other is chosen.
  std::string option{};
  std::string also{};  // an option with which a run has this way, too; of an axis, then of size 1
  std::optional<mesh::Axis> axis = std::nullopt;
  std::function<void(Options&)> declare = nullptr;  // its section, with defaults
  std::vector<Refusal> refuses{};
  std::vector<std::string> reads{};  // options of ways it refuses that mean the same with it
  // The ranks that its options ask for, where --ranks is not given; without: one.
  std::function<std::int64_t(const Arguments&)> ranks = nullptr;
  // A way is built into every trainer, or into a program of its own when it is first asked for. The
  // line of CMake says which.
  enum class Built : std::uint8_t { always, when_asked } built = Built::when_asked;

  bool chosen(const Arguments& arguments) const {
    const auto has = [&](const std::string& one) {
      return !one.empty() && arguments.has("--" + one);
    };
    return has(option) || has(also);
  }
};

// The ways of this program, in the order of their lines of CMake.
const std::vector<Way>& declared_ways();

// Declares the options of all ways, and what does not combine: what each way refuses, and two ways
// in one slot.
//   Throws  ContractError when a way refuses something that no way declares, is in the slot axis
//           without an axis, or has another way's axis
void declare_ways(Options& options, std::span<const Way> ways);

// The ways that a run has: of execution and reduction together one, which trains; then the hook and
// the axes.
std::vector<const Way*> ways_of(const Arguments& arguments, std::span<const Way> ways);
// The one that trains.
const Way& trainer_of(const Arguments& arguments, std::span<const Way> ways);

// The ranks of a run on their axes: those that its ways ask for, and dp of what is left. Where the
// axes do not divide the ranks, dp is rounded down; makers tell that (way_maker.hpp).
mesh::AxisSizes axes_of(const Arguments& arguments, std::span<const Way> ways, int ranks);
// The product of all ways in the slot axis: the number of ranks that share one layer.
std::int64_t ranks_of_axes(const Arguments& arguments, std::span<const Way> ways);
// The ranks that the options of all ways ask for together, times --dp; 1 when they ask for none.
//   Returns  more than `most`, whatever was typed, when it is
std::int64_t ranks_asked_for(const Arguments& arguments, std::span<const Way> ways,
                             std::int64_t most);

}  // namespace lockstep::train
