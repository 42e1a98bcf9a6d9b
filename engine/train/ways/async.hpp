// Asynchronous training: workers push gradients to parameter servers, each at its own pace.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way async_way() {
  const auto declare = [](Options& options) {
    options.section("asynchronous training (parameter servers)")
        .flag("async",
              "every rank is a worker: it pushes gradients to parameter servers and pulls\n"
              "parameters, at its own pace. Servers run beside the training on some of the ranks")
        .option("staleness", "inf",
                "steps that a worker may be ahead of the slowest; 0: all go in step, and an\n"
                "update is the mean of all pushes; otherwise each push is an update; inf: no bound")
        .option("servers", "",
                "number of servers, each with a part of the parameters (default: one a rank). The\n"
                "first ranks have them. A rank without one may die: the others go on")
        .only_with({"staleness", "servers"}, "--async")
        .only_if({"async"},
                 "reads gradients on the host, one by one; leave out --device cuda and --backend "
                 "nccl",
                 [](const Arguments& arguments) {
                   return !arguments.has("--device cuda") && !arguments.has("--backend nccl");
                 })
        .only_if({"save"},
                 "sharded writes a share of each rank's model, but with --async each has another; "
                 "pass --save dense",
                 [](const Arguments& arguments) {
                   return !arguments.flag("async") || !arguments.has("--save sharded");
                 })
        .only_if({"trace"},
                 "puts the timelines of all ranks together, so that workers would wait for each "
                 "other; with --async, pass --backend sim",
                 [](const Arguments& arguments) {
                   return !arguments.flag("async") || arguments.has("--backend sim");
                 });
  };
  const char* replaced = "belongs to DDP, which --async replaces; leave one of them out";
  return {
      .stem = "async",
      .name = "parameter servers",
      .slot = Slot::execution,
      .option = "async",
      .declare = declare,
      .refuses =
          {{"masters",
            "keeps float32 weights beside 16-bit ones, which servers do not do; leave one of "
            "them out"},
           {"reduce-dtype",
            "is of DDP's buckets and of shards, which --async does not have; leave one of them "
            "out"},
           {"plain", replaced},
           {"ddp", replaced},
           {"compression", replaced},
           {"all-reduce",
            "chooses how ranks sum gradients, but with --async each rank pushes its own to "
            "servers; leave one of them out"},
           {"horovod", "and --async are two ways to share gradients; pass only one"},
           {"modelled-compute",
            "does not combine with --async, which reads numbers; leave one of them out"}},
      .reads = {"accumulate"},
  };
}

}  // namespace lockstep::train
