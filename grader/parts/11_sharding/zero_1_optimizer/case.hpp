// The case format of zero_1_optimizer, shared by adapter and exam.
#pragma once

#include <cmath>

#include "engine/parallel/zero/zero_1_optimizer.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"
#include "grader/play/shard_plan.hpp"

namespace lockstep {

template <typename Archive>
void fields(Archive& archive, AdamRule& rule) {
  archive(rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay,
          rule.decay_form);
}

}  // namespace lockstep

namespace lockstep::grader {

struct Zero1Case {
  GroupChoice group{};
  Peer peer = Peer::stays;
  zero::FlatShards plan{};
  AdamRule rule{};
  int decay_dims_min = 0;
  std::vector<Bytes> values{};     // of each parameter at first, the same on every rank
  std::vector<Gradients> steps{};  // this rank's gradients in each step
  std::vector<double> rates{};     // of each step
  bool softens = false;            // what a step does before its update: `softened`
  // The state of this rank's range. Nobody is given another.
  Bytes first{}, second{};
  std::int64_t updates = 0;
  bool measured = false;  // values are large, and reported after the last step only
};

struct Zero1Report {
  std::vector<std::vector<Bytes>> values;  // after each step, of each parameter
  Bytes first, second;                     // after the last one
  std::int64_t updates = 0;
};

// A step may do this to the mean gradient. It is no multiple, so that it differs from the mean of
// what it makes of each rank's.
inline double softened(double gradient) { return gradient / (1 + std::fabs(gradient)); }

template <typename Archive>
void fields(Archive& archive, Zero1Case& c) {
  archive(c.group, c.peer, c.plan, c.rule, c.decay_dims_min, c.values, c.steps, c.rates, c.softens,
          c.first, c.second, c.updates, c.measured);
}
template <typename Archive>
void fields(Archive& archive, Zero1Report& report) {
  archive(report.values, report.first, report.second, report.updates);
}

}  // namespace lockstep::grader
