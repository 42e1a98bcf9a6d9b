// Which layers go to which stage of a pipeline. The cut is made before anything runs.
//
// All stages work on different micro-batches at the same time, so the slowest one sets the pace: a
// step takes about micro-batches · the largest cost of a stage. So the maximum counts, and not the
// number of layers of a stage. The last stage of a language model has the product with the whole
// vocabulary, which can cost as much as several layers.
#pragma once

#include <span>
#include <vector>

namespace lockstep::pipeline {

// Cuts a list of layers into contiguous stages whose largest cost is as small as possible.
//   cost      [layers] what each layer costs, in any unit; 0 is allowed
//   stages    p
//   Returns   p+1 boundaries: stage s has the layers boundaries[s] .. boundaries[s+1]−1
//   Ensures   the first boundary is 0 and the last is the number of layers; every stage has at
//             least one layer; no other such cut has a smaller maximum. Sums are rounded in double,
//             and those of whole numbers below 2^53 are exact
//   Throws    ContractError for less than one stage, for fewer layers than stages, and for a cost
//             that is negative or not finite
//   Source    [HCB19] §2.2, where the costs of the stages are to be as equal as possible
std::vector<int> partition(std::span<const double> cost, int stages);

}  // namespace lockstep::pipeline
