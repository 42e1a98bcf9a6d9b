// The computation of a layer of experts: tokens are routed, get their slots, are computed by their
// experts, wherever these are, and come back weighed and added up.
//   N ranks share E experts; T tokens of this rank and micro-batch, C width, K choices of a token
//
//   logits → routes → slots → rows to experts → results back → weighed sum
//
// Routes and slots are decided on the host, from logits that it reads, and are the same values that
// are executed and told. Derivatives go through the logits of what was chosen; through the choice
// itself there is none. Where tensors have no numbers, tokens are dealt out: evenly, but that the
// fullest expert gets `hot` times its share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/comm/process_group.hpp"
#include "engine/nn/mixture.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "engine/parallel/expert/expert_choice.hpp"
#include "engine/parallel/expert/load_balancing_loss.hpp"

namespace lockstep::expert_parallel {

// The ranks that a layer communicates with.
struct ExpertRanks {
  comm::ProcessGroup* experts = nullptr;  // N, which share the experts; none: this rank has all
  // All that have tokens of a micro-batch, of which the balancing loss is; none: this rank alone.
  comm::ProcessGroup* tokens = nullptr;
};

// The choices of a rank's layers since it was last asked, by the layers' names.
struct Tally {
  struct OfLayer {
    std::vector<double> load;  // [E], choices
    double choices = 0, dropped = 0, aux_loss = 0;
  };
  std::map<std::string, OfLayer> layers;
};

// The parts that a layer is made of. A test puts a wrong one in the place of one of them, or one
// that groups tokens as several ranks would.
struct MixParts {
  std::function<decltype(expert_parallel::route)> route = expert_parallel::route;
  std::function<decltype(expert_parallel::assign_slots)> assign_slots =
      expert_parallel::assign_slots;
  std::function<decltype(expert_parallel::expert_choice)> expert_choice =
      expert_parallel::expert_choice;
  std::function<decltype(expert_parallel::load_balancing_loss)> balance = load_balancing_loss;
  std::function<decltype(expert_parallel::dispatch_and_combine)> dispatch = dispatch_and_combine;
};

struct MixOptions {
  std::string name;  // of the layer
  nn::MixtureOptions mixture;
  double hot = 1;  // of the fullest expert, its load over the mean, where there are no numbers
  MixParts parts{};
};

// The layer's computation. It does all that it is told on a tape that records; on one for
// inference, it neither balances nor counts. A layer that is recomputed routes as it did before,
// since its logits have the same bits.
//   ranks   must outlive the passes
//   tally   is added to
//   Comm    dispatch_and_combine, on `experts`; with a balancing loss, load_balancing_loss on
//           `tokens`, forward
//   Throws  Error that names layer and token when a logit is not finite
nn::Mix make_mix(MixOptions options, ExpertRanks ranks, std::shared_ptr<Tally> tally);

}  // namespace lockstep::expert_parallel
