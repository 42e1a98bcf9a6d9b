// A server's shard of a model: some of its parameters, one after the other in one tensor, and an
// optimizer over them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/optim/optimizer_spec.hpp"

namespace lockstep::async_sgd {

// Which tensors each server keeps: whole ones, the largest first, each on the server that has the
// fewest elements so far; equal ones in the order of the model, and of servers.
//   counts   elements of each tensor
//   Returns  for each of `servers` the places of its tensors in `counts`, ascending
std::vector<std::vector<std::size_t>> assign_shards(std::span<const std::int64_t> counts,
                                                    int servers);

class Shard {
 public:
  // Copies of the parameters at `places`; the optimizer has their names and shapes.
  Shard(std::span<Parameter* const> model, std::span<const std::size_t> places,
        const optim::OptimizerSpec& optimizer);

  const Tensor& parameters() const { return flat_; }  // [n]
  // Takes over the model's values, and of `whole`, an optimizer over all of the model, the state of
  // these parameters.
  void load(std::span<Parameter* const> model, std::span<const std::size_t> places,
            const optim::Optimizer& whole);
  // One update from gradient [n], at this rate.
  void update(const Tensor& gradient, double rate);
  std::vector<Tensor> state() const;

 private:
  Tensor flat_;
  std::deque<Parameter> parameters_;  // views of flat_
  std::unique_ptr<optim::Optimizer> optimizer_;
};

// True if a piece of optimizer state, such as "0.weight.exp_avg", is the parameter's.
bool is_state_of(const std::string& name, const Parameter& parameter);

}  // namespace lockstep::async_sgd
