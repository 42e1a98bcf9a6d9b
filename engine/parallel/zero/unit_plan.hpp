// When a unit's parameters are gathered and freed, and when its gradients are reduced: a plan of
// collectives around the passes of a model's units, as data. ShardedUnits (sharded_units.hpp)
// carries it out.
//   n units, in the order of the forward pass; K units are gathered ahead of the one that runs
//
// A parameter that several units use (a tied embedding) belongs to the root: unit n, which is there
// from the first pass of a step to its last.
//
// Invariants, which check() holds
//   1. A unit is waited for before each of its passes, and what is waited for was gathered.
//   2. At most 1 + K units are alive at a time, beside the root.
//   3. Every unit's gradients are reduced once, after its last pass, and waited for.
//   4. The order is the same on every rank. All of a plan's collectives go through one queue.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/parallel/zero/prefetch_plan.hpp"

namespace lockstep::zero {

// The state of which a rank keeps a shard only. The names are those of DeepSpeed's stages and of
// PyTorch's strategies.
enum class Sharding : std::uint8_t {
  no_shard,       // nothing: gradients are averaged, as by DDP
  zero_1,         // the optimizer's state; gradients are reduced when backward is over
  zero_2,         // and of the gradients, which are reduced unit by unit during backward
  shard_grad_op,  // and of the parameters, but from forward to backward
  full_shard,     // of everything, always: parameters are gathered again for backward. ZeRO 3
};

// Before and after the pass of each unit.
struct PassPlan {
  std::vector<Actions> before{}, after{};  // by unit
  bool operator==(const PassPlan&) const = default;
};

struct UnitPlan {
  int units = 0;      // n
  bool root = false;  // whether there is a unit n
  int prefetch = 0;   // K
  PassPlan forward{}, backward{};
  PassPlan evaluation{};     // a forward pass that no backward follows
  Actions after_backward{};  // of all units
  Actions after_update{};
  bool operator==(const UnitPlan&) const = default;
};

struct PlanOptions {
  Sharding sharding = Sharding::full_shard;
  int units = 0;
  bool root = false;
  int prefetch = 0;  // 0: a unit is gathered when its pass begins
};

//   Throws  ContractError when there is no unit, or a negative number is prefetched
UnitPlan unit_plan(const PlanOptions& options);

// The plan without reductions: of a pass whose gradients stay whole on each rank, and add up.
UnitPlan without_reductions(UnitPlan plan);

// The first invariant that the plan breaks, with the unit and the pass; empty: none.
std::string broken(const UnitPlan& plan, Sharding sharding);

// Elements that a rank sends in one step by the plan, of units of `counts` elements each (padding
// included), the root last: (N-1)/N of a unit for each gather and each reduction.
std::int64_t elements_sent(const UnitPlan& plan, const std::vector<std::int64_t>& counts,
                           int ranks);

}  // namespace lockstep::zero
