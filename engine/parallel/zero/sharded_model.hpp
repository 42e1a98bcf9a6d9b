// A model of which each rank keeps a shard, as a way to train sees it: ShardedUnits
// (sharded_units.hpp), which gathers ahead and overlaps, or one that lesson 11's parts carry out
// (train/strategies/plain_shards.hpp).
//
//   model.zero_grad();
//   model.begin(Reduces::yes);
//   Tape tape(GradMode::record);
//   … model.model().forward … tape.backward(loss);
//   model.end_backward();       // gradients of this rank's shards: the mean over all ranks
//   model.update(optimizer, clip);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/optim/loss_scaler.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/parallel/zero/host_shards.hpp"

namespace lockstep::zero {

struct ShardGroups {
  comm::ProcessGroup& shards;            // N ranks: each has another shard
  comm::ProcessGroup* copies = nullptr;  // R ranks, which have the same shard; none: R = 1
};

// The gradients of a pass are reduced, or stay whole and add up.
enum class Reduces : std::uint8_t { no, yes };

class ShardedModel {
 public:
  virtual ~ShardedModel() = default;

  // The model. Its parameters have values during their unit's passes, and always where parameters
  // are not sharded. It communicates: all ranks run as many passes.
  virtual nn::Chain& model() = 0;

  // A range of a parameter that this rank owns; `value` and `grad` are views of its shard, on the
  // host where it is offloaded.
  struct Owned {
    Parameter parameter;  // under the whole's name; `whole` is the whole's shape
    std::int64_t begin = 0, end = 0;
  };
  // In the model's order, the root's last. A rank may own nothing.
  virtual std::vector<Owned*> owned() = 0;
  std::vector<Parameter*> shards();
  // The shards' gradients in whole, padding included, one a unit that has elements: never none.
  virtual std::vector<Tensor> gradients() const = 0;
  // True if every rank has all parameters between steps.
  virtual bool keeps_parameters() const = 0;
  // True if the owned weights are of another type than the passes, and so are not the parameters.
  virtual bool keeps_masters() const = 0;

  // Replaces the parameters. Of each that this rank holds, or its part, `put` is called with the
  // tensor that shall have the parameter's elements from `begin` on,
  // of the owned weights' type. Does not communicate.
  using Put = std::function<void(const std::string& name, std::int64_t begin, const Tensor& into)>;
  virtual void fill(const Put& put) = 0;

  virtual void zero_grad() = 0;
  // Before a forward pass that backward follows.
  virtual void begin(Reduces reduces) = 0;
  virtual void begin_evaluation() = 0;
  // After the backward pass.
  virtual void end_backward() = 0;

  // An optimizer over shards(), for update().
  //   Throws  UsageError when this form of sharded state has no such optimizer
  virtual std::unique_ptr<optim::Optimizer> make_optimizer(const optim::OptimizerSpec& spec);
  // One update. `prepare` is called once when the shards' gradients are complete. It may change
  // them, and tells whether they have overflowed: then nothing is updated.
  using Prepare = std::function<optim::Overflow()>;
  virtual void update(optim::Optimizer& optimizer, const Prepare& prepare);
  // After the optimizer's step.
  virtual void end_update() = 0;

  // The collectives since the last zero_grad.
  virtual const collectives::Communication& communication() const = 0;
  // The copies to and from the host since the last zero_grad; zeros where nothing is offloaded.
  virtual HostCopies copies() const { return {}; }
};

// The parameters of each unit of a model, and after them those that several units use (a tied
// embedding), if there are any: they belong to the root.
std::vector<std::vector<Parameter*>> parameters_by_unit(nn::Chain& model,
                                                        const nn::ModelSpec& spec);

// Makes the units of a model one by one, with the numbers that they have in the whole model, and
// hands over the values of each, by name; they are gone when the next one is made.
using Values = std::map<std::string, Tensor>;
void for_each_unit_made(const nn::ModelSpec& spec, Device& device, std::uint64_t seed,
                        const std::function<void(const Values&)>& body);

// Puts what is in `values`, which must outlive it.
ShardedModel::Put put_from(const Values& values);

}  // namespace lockstep::zero
