// DDP, the way of a run that chooses no other.
#pragma once

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/train/run_arguments.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way ddp_way() {
  const auto declare = [](Options& options) {
    options.section("data parallelism (DDP)")
        .option("bucket-mb", text(ddp::BucketLimits{}.cap_bytes >> 20),
                "MiB of gradients per bucket; at most 1 in the first")
        .flag("find-unused", "a pass may leave parameters unused, on some ranks or on all")
        .flag("static-graph", "the parameters that the first step leaves unused are unused in all")
        .exclude({"find-unused", "static-graph"},
                 "both say what may be unused: in each step anew, or always the same; pass only "
                 "one")
        .choice(
            "join", {"initial", "live"}, "",
            "deal the samples out without padding; ranks that run out shadow the rest. Sums of\n"
            "gradients are divided by the initial ranks, or by the live ones")
        .exclude({"join", "static-graph"},
                 "do not combine: a rank that has run out uses no parameter; pass only one")
        .only_if({"find-unused", "join"}, needs_numbers, has_numbers)
        .option("accumulate", "1", "batches per rank in one optimizer step")
        .exclude({"join", "masters"},
                 "do not combine: a rank that has run out would lack the updates of the masters; "
                 "pass only one");
  };
  return {.stem = "ddp", .name = "DDP", .slot = Slot::reduction, .declare = declare};
}

}  // namespace lockstep::train
