// Fully sharded data parallelism: the same shards as ZeRO's, by the names of PyTorch's FSDP.
#pragma once

#include "engine/train/ways/zero.hpp"

namespace lockstep::train {

inline Way fsdp_way() {
  const auto declare = [](Options& options) {
    options.section("sharded state (ZeRO, FSDP)")
        .choice(
            "fsdp", {"no_shard", "shard_grad_op", "full_shard", "hybrid_shard"}, "",
            "what is sharded: nothing; all, with parameters whole from forward to backward; all,\n"
            "always; all, among --shard-ranks neighbours, with copies elsewhere")
        .option("shard-ranks", "",
                "--fsdp hybrid_shard: ranks that share one copy (default: those of a node)")
        .choice("shards", {"flat", "rows"}, "flat",
                "--fsdp: ranges of a unit's parameters laid end to end (FSDP1), or rows of each\n"
                "parameter (FSDP2)")
        .only_if({"shards"}, "belongs to an --fsdp strategy that shards parameters; leave it out",
                 [](const Arguments& arguments) {
                   return arguments.given("fsdp") && !arguments.has("--fsdp no_shard");
                 })
        .only_if({"shards"},
                 "belongs to the form that overlaps, which --no-overlap turns off; leave one of "
                 "them out",
                 overlaps)
        .only_if({"shard-ranks"}, "belongs to --fsdp hybrid_shard; leave it out",
                 [](const Arguments& arguments) { return arguments.has("--fsdp hybrid_shard"); });
  };
  const char* buckets =
      "packs DDP's buckets, which --fsdp replaces by shards; leave one of them out";
  const char* stages =
      "does not combine with --fsdp: a stage uses its parameters once for each micro-batch, and "
      "would gather them as often; pass --zero 1 in place of --fsdp, or leave one of them out";
  const char* servers =
      "does not combine with --fsdp: servers already hold a part of the parameters each; leave one "
      "of them out";
  return {
      .stem = "fsdp",
      .name = "FSDP",
      .slot = Slot::reduction,
      .option = "fsdp",
      .declare = declare,
      .refuses = {{"compression", buckets}, {"pipeline", stages}, {"async", servers}},
      .reads = {"accumulate", "prefetch", "accumulate-in", "offload", "no-overlap"},
  };
}

}  // namespace lockstep::train
