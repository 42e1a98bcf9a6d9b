// One unit of sharded state: its plan of who owns what, and the tensors that come and go. Private
// to the two sources of ShardedUnits: sharded_units.cpp lays units out and follows the plan of a
// step, unit_collectives.cpp carries out its actions.
#pragma once

#include "engine/parallel/zero/sharded_units.hpp"

namespace lockstep::zero {

struct ShardedUnits::Unit {
  std::vector<Parameter*> parameters;  // of the model
  std::vector<Shape> shapes;
  FlatShards cut;
  Tensor shard;      // [S], this rank's
  Tensor values;     // [N·S] while they are there, or on their way
  Tensor gradients;  // [N·S] from the unit's backward pass to its reduction
  Tensor incoming;   // [S] while the reduction runs
  Tensor sum;        // [S], reduced; since zero_grad
  std::vector<Owned> owned;
  comm::Work gathering, reducing;

  bool empty() const { return cut.count == 0; }
  Tensor part(const Tensor& flat, std::size_t parameter) const {
    return flat.narrow(cut.starts[parameter], numel_of(shapes[parameter])).view(shapes[parameter]);
  }
};

}  // namespace lockstep::zero
