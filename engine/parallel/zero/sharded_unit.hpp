// One unit of sharded state, as a rank has it: the plan of who owns what, and the tensors that
// come and go. Private to the sources of ShardedUnits: unit_memory.cpp lays units out and fills
// them, sharded_units.cpp follows the plan of a step, unit_collectives.cpp carries out its actions.
//   N ranks, S elements of a rank's shard
#pragma once

#include <vector>

#include "engine/comm/work.hpp"
#include "engine/parallel/zero/sharded_units.hpp"

namespace lockstep::zero {

// The tensor's elements where `other` has its own: a copy between a GPU and its host.
Tensor beside(const Tensor& tensor, const Tensor& other);

struct ShardedUnits::Unit {
  int number = 0;                      // in the plan
  std::vector<Parameter*> parameters;  // of the model
  std::vector<Shape> shapes;
  FlatShards cut;
  Tensor shard;      // [S], this rank's, for passes; none: masters are rounded when gathered
  Tensor updated;    // [S], by the optimizer: the shard, or its copy on the host
  Tensor rounded;    // [S], of masters: the shard, or its copy on the host before it comes up
  Tensor raised;     // [S], of a shard on the host, until it is gathered
  Tensor values;     // [N·S] while they are there, or on their way
  Tensor gradients;  // [N·S] from the unit's backward pass to its reduction
  Tensor incoming;   // [S] while the reduction runs
  Tensor sum;        // [S], reduced; since zero_grad
  std::vector<Owned> owned;
  comm::Work raising, gathering, reducing;

  bool empty() const { return cut.count == 0; }
  Tensor part(const Tensor& flat, std::size_t parameter) const {
    return flat.narrow(cut.starts[parameter], numel_of(shapes[parameter])).view(shapes[parameter]);
  }
};

}  // namespace lockstep::zero
