// Gradients after backward: the plain way, tensor by tensor.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way plain_way() {
  return {
      .stem = "plain",
      .name = "the plain reduction",
      .slot = Slot::reduction,
      .option = "no-overlap",
      .declare =
          [](Options& options) {
            options.section("data parallelism (DDP)")
                .flag("no-overlap",
                      "sum gradients after backward, not during it (DDP); with --zero and --fsdp,\n"
                      "gather and reduce by the parts of lesson 11, and wait for each collective");
          },
      .refuses = {{"ddp", "needs DDP, which --no-overlap turns off; leave one of them out",
                   [](const Arguments& arguments) {  // --accumulate is theirs as well
                     return arguments.given("zero") || arguments.given("fsdp");
                   }},
                  {"reduce-dtype",
                   "needs DDP, which --no-overlap turns off; leave one of them out"},
                  {"compression",
                   "needs DDP, which --no-overlap turns off; leave one of them out"}},
      // ZeRO and FSDP have a plain form, too, and say what it does not have.
      .reads = {"zero", "fsdp", "shard-ranks", "shards", "prefetch", "offload", "accumulate-in"},
  };
}

}  // namespace lockstep::train
