// Horovod's way: a background strand sums gradients in an order that the ranks agree on.
#pragma once

#include "engine/base/error.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

// The default of HorovodOptions; horovod.cpp, which knows both, holds them equal.
inline constexpr std::int64_t usual_fusion_mb = 128;

inline Way horovod_way() {
  const auto declare = [](Options& options) {
    options.section("data parallelism (Horovod)")
        .flag("horovod",
              "sum gradients in a background strand, in the order that the ranks agree on")
        .option("backward-passes", "1",
                "batches per rank in one optimizer step, as --accumulate of DDP; Horovod's\n"
                "backward_passes_per_step. Horovod sums their gradients, so each loss is scaled")
        .choice("horovod-op", {"average", "sum"}, "average",
                "what becomes of the ranks' gradients. Their sum grows with --ranks, so lower --lr")
        .alias("adasum", "average",
               "is not built into this engine: it combines updates pair by pair, and not gradients "
               "by a sum; pass average or sum")
        .option("fusion-threshold-mb", text(usual_fusion_mb),
                "MiB of gradients that are summed together; 0: each alone")
        .option("cycle-time-ms", "1",
                "milliseconds in which gradients gather before they are summed")
        .only_with({"backward-passes", "horovod-op", "fusion-threshold-mb", "cycle-time-ms"},
                   "--horovod");
  };
  const char* replaced = "belongs to DDP, which --horovod replaces; leave one of them out";
  return {
      .stem = "horovod",
      .name = "Horovod",
      .slot = Slot::reduction,
      .option = "horovod",
      .declare = declare,
      .refuses =
          {{"accumulate",
            "belongs to DDP, which --horovod replaces; with --horovod, pass "
            "--backward-passes"},
           {"masters",
            "keeps float32 weights beside 16-bit ones, which --horovod does not do; leave "
            "one of them out"},
           {"reduce-dtype",
            "is of DDP's buckets and of shards, which --horovod does not have; leave one of them "
            "out"},
           {"plain", replaced},
           {"ddp", replaced},
           {"compression", replaced},
           {"modelled-compute",
            "does not combine with --horovod, which reads numbers; leave one of them out"}},
  };
}

}  // namespace lockstep::train
