// A model of which each rank keeps a shard: the executor of the two plans of this room. Which
// elements a rank owns is in flat_shards.hpp, when they are gathered, freed and reduced in
// unit_plan.hpp. The units' modules are those of any other way to train; only the memory of their
// parameters comes and goes.
//
//   N ranks share a unit, R copies of each shard; N·R ranks. S elements of a rank's shard of a unit
//
// Invariants
//   1. Gradients are made in the buffer that is reduced (Parameter::grad_place), or copied into it
//      where rows are cut; its padding is 0.
//   2. Gradients are converted to the type of the reduction, multiplied by 1/(N·R), summed, and
//      only then converted to the type of the owned weights; there, those of several passes add up.
//   3. A unit without elements takes part in no collective.
//   4. A lost peer is told with the unit whose collective missed it (CommError).
//   5. What the optimizer updates lies on the host where state is offloaded (host_shards.hpp).
//   6. Where N > 1 and R > 1, what a unit's ranks have reduced is reduced across the copies while
//      backward goes on. One unit is on its way across, and a second while the first is waited for.
// Source: [ZERO20] §5, [ZGV23] §3
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/zero/flat_shards.hpp"
#include "engine/parallel/zero/sharded_model.hpp"
#include "engine/parallel/zero/unit_plan.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::zero {

// The plan of who owns what: ranges of a unit's flat tensor, or rows of each parameter.
enum class Cut : std::uint8_t { flat, rows };

struct ShardingOptions {
  Sharding sharding = Sharding::full_shard;
  int prefetch = 1;                    // as PlanOptions
  Cut cut = Cut::flat;                 // rows: only where parameters are gathered for passes
  Offload offload = Offload::nothing;  // all: likewise
  // The type of the weights that this rank owns and the optimizer updates; the model's is that of
  // its passes. Owned gradients have it, too. None: the model's.
  std::optional<DType> weights = std::nullopt;
  // The type in which gradients are reduced. None: the model's.
  std::optional<DType> reduce = std::nullopt;
};

class ShardedUnits final : public ShardedModel, public nn::UnitWatch {
 public:
  // Makes the units one by one, keeps this rank's shard of each, and frees the rest.
  //   link     to the host where state is offloaded; must outlive the units
  //   Memory   of parameters: the shards, and one unit in whole
  //   Throws   ContractError when a unit has a buffer, which nobody would make equal
  ShardedUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device, ShardGroups groups,
               const ShardingOptions& options, HostLink* link = nullptr);
  // ZeRO 1 of parameters that somebody else makes and runs, such as a stage of a pipeline. They
  // stay whole, and are views from here on; there is no model().
  //   units  parameters that are reduced and gathered together. A list may be empty
  ShardedUnits(std::vector<std::vector<Parameter*>> units, DType dtype, Device& device,
               ShardGroups groups);
  ~ShardedUnits() override;

  nn::Chain& model() override { return *model_; }
  std::vector<Owned*> owned() override;
  std::vector<Tensor> gradients() const override;
  bool keeps_parameters() const override { return keeps_; }
  bool keeps_masters() const override { return weights_ != dtype_; }
  void fill(const Put& put) override;

  // Collectives from here on are shown to `watch`, which may be none.
  void set_watch(collectives::WatchWork watch) { watch_ = std::move(watch); }

  void zero_grad() override;
  void begin(Reduces reduces) override;
  void begin_evaluation() override;
  void end_backward() override;
  void end_update() override;

  const collectives::Communication& communication() const override { return communication_; }
  HostCopies copies() const override;
  // The bytes of a step, by the plan: a rank sends them in collectives of shards.
  std::int64_t bytes_planned() const;
  // The same of copies to and from the host in a step of one batch. Zeros where nothing is
  // offloaded.
  HostTraffic copies_planned() const;

  void before_forward(std::size_t unit) override;
  void after_forward(std::size_t unit) override;
  void before_backward(std::size_t unit) override;
  void after_backward(std::size_t unit) override;

 private:
  struct Unit;
  enum class Pass : std::uint8_t { training, evaluation };

  void lay_out(Unit& unit, std::vector<Parameter*> parameters);
  void fill_unit(Unit& unit, const Put& put);
  void carry_out(const Actions& actions);
  void carry_out(Act act, Unit& unit);
  void naming(const Unit& unit, Act act, const std::function<void()>& body) const;
  void make_shard(Unit& unit);
  void fetch(Unit& unit);
  Tensor own_range(const Unit& unit) const;
  void put_rounded(const Put& put, const Parameter& parameter);
  void gather(Unit& unit);
  void bind(Unit& unit);
  void copy_out(Unit& unit);
  void copy_in(Unit& unit);
  void free(Unit& unit);
  void make_places(Unit& unit);
  void reduce(Unit& unit);
  void end_reduction(Unit& unit);
  bool crosses() const { return groups_.shards.size() > 1 && groups_.copies != nullptr; }
  void reduce_copies(Unit& unit);
  void end_crossings(std::size_t left);
  void take_in(Unit& unit);
  comm::Work watched(const char* name, const Unit& unit, const Tensor& moved,
                     comm::Work work) const;
  void await(comm::Work& work);
  int ranks() const;
  std::vector<std::int64_t> counts() const;

  Device& device_;
  DType dtype_, weights_, wire_;  // of the passes, of what is owned, of reductions
  ShardGroups groups_;
  bool keeps_;
  Cut cut_;
  Offload offload_ = Offload::nothing;
  bool in_place_;           // gradients are whole until the update, and reduced where they are
  SymbolicDevice nowhere_;  // of parameters that have no value
  std::unique_ptr<nn::Chain> model_;  // none: others run it
  UnitPlan plan_, alone_;             // with reductions, and without
  const UnitPlan* now_;
  Pass pass_ = Pass::training;
  std::vector<std::unique_ptr<Unit>> units_;  // of the model, then the root where there is one
  std::deque<int> crossing_;                  // units whose gradients are reduced across copies
  std::optional<HostShards> host_;            // where state is offloaded
  collectives::WatchWork watch_;
  collectives::Communication communication_;
};

}  // namespace lockstep::zero
