// Mixtures of experts, and expert parallelism: several ranks share the experts of each layer, and
// tokens travel to those that they have chosen.
#pragma once

#include "engine/train/run_arguments.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way expert_way() {
  const auto declare = [](Options& options) {
    const auto by_tokens = [](const Arguments& arguments) {
      return arguments.has("--router tokens");
    };
    options.section("experts")
        .option("experts", "",
                "feed-forward networks in each block, of which a router picks a few for each token")
        .option("top-k", "1", "experts that a token chooses")
        .option(
            "capacity", "none",
            "slots of an expert, over its even share of a rank's tokens; tokens that find none\n"
            "go on without it")
        .choice("router", {"tokens", "experts"}, "tokens",
                "tokens choose their experts, or experts their tokens, which sees later tokens")
        .option("aux-loss", "0", "weight of the loss that keeps experts equally busy")
        .option("ep", "1", "ranks that share the experts of each layer")
        .option(
            "hot", "1",
            "runs without numbers: load of the fullest expert over the mean; by default, tokens\n"
            "are dealt out evenly")
        .only_with({"top-k", "capacity", "router", "aux-loss", "ep", "hot"}, "--experts")
        .only_if({"experts"}, "are those of a transformer; pass --model gpt, or leave it out",
                 is_gpt)
        .only_if({"top-k"},
                 "belongs to --router tokens: experts that choose give a token as many of them as "
                 "want it, on average --capacity; leave it out",
                 by_tokens)
        .only_if({"aux-loss"},
                 "belongs to --router tokens: experts that choose are equally busy; leave it out",
                 by_tokens)
        .only_if({"router"},
                 "experts needs --capacity F, the number of experts that a token has on average",
                 [by_tokens](const Arguments& arguments) {
                   return by_tokens(arguments) || arguments.has("--capacity");
                 })
        .only_if({"hot"},
                 "says how tokens are dealt out where nothing is computed; pass --sizes-only, or "
                 "leave it out",
                 [](const Arguments& arguments) { return !has_numbers(arguments); });
  };
  const auto one_has_all = [](const Arguments& arguments) {
    return arguments.integer("ep", 1) == 1;
  };
  return {
      .stem = "expert",
      .name = "experts",
      .slot = Slot::axis,
      .option = "ep",
      .also = "experts",
      .axis = mesh::Axis::ep,
      .declare = declare,
      .refuses = {{"compression",
                   "does not combine with --ep yet: experts are not in DDP's buckets; leave one of "
                   "them out",
                   one_has_all},
                  {"horovod",
                   "does not combine with --experts: Horovod decides by itself when gradients "
                   "travel, while layers wait for each other; leave one of them out"},
                  {"async",
                   "does not combine with --experts: workers go at their own pace, and tokens of a "
                   "step travel together; leave one of them out"},
                  {"zero",
                   "combines with --ep in stage 1 only: ranks that would share a shard hold "
                   "different experts; pass --zero 1, or leave one of them out",
                   [one_has_all](const Arguments& arguments) {
                     return one_has_all(arguments) || arguments.has("--zero 1");
                   }},
                  {"offload",
                   "does not combine with --ep yet: experts are updated where they are computed; "
                   "leave one of them out",
                   one_has_all},
                  {"fsdp",
                   "does not combine with --ep yet: ranks that share a shard hold different "
                   "experts; leave one of them out",
                   one_has_all},
                  {"sp",
                   "does not combine with --experts yet: an expert's tokens come from all ranks of "
                   "a layer at once; leave one of them out"},
                  {"masters",
                   "does not combine with --ep yet: the masters of a rank's experts would be saved "
                   "as those of all; leave one of them out",
                   one_has_all},
                  {"join",
                   "does not combine with --experts yet: ranks would have to run out of samples "
                   "together; leave one of them out"}},
  };
}

}  // namespace lockstep::train
