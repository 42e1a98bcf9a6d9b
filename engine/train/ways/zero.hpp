// ZeRO: each rank keeps a shard of what DDP keeps in whole, by DeepSpeed's stages.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

// True if parameters are sharded, and so gathered for each pass.
inline bool gathers_parameters(const Arguments& arguments) {
  return arguments.has("--zero 3") || arguments.has("--fsdp full_shard") ||
         arguments.has("--fsdp shard_grad_op") || arguments.has("--fsdp hybrid_shard");
}

// True if state may lie on the host: a modelled core has none beside it.
inline bool offloads(const Arguments& arguments) {
  const bool modelled =
      arguments.declared("modelled-compute") && arguments.has("--modelled-compute");
  return (arguments.given("zero") || arguments.given("fsdp")) && !modelled;
}

// False for the plain form, which is made of lesson 11's parts.
inline bool overlaps(const Arguments& arguments) {
  return !arguments.declared("no-overlap") || !arguments.flag("no-overlap");
}

inline Way zero_way() {
  const auto declare = [](Options& options) {
    options.section("sharded state (ZeRO, FSDP)")
        .choice(
            "zero", {"1", "2", "3"}, "",
            "each rank keeps a shard: of the optimizer's state (1), also of gradients (2), also\n"
            "of parameters (3, the same as --fsdp full_shard)")
        .option("prefetch", "1", "units that are gathered ahead of the one that runs")
        .only_if({"prefetch"},
                 "belongs to --zero 3 and --fsdp, which gather parameters; leave it out",
                 gathers_parameters)
        .choice(
            "offload", {"optimizer", "all"}, "",
            "what lies in the host's memory: the optimizer's state, which the host updates; also\n"
            "shards of parameters, which come up before each gather")
        .only_if(
            {"offload"},
            "belongs to --zero and --fsdp, but not to modelled cores, which have no host; leave "
            "it out",
            offloads)
        .choice("accumulate-in", {"shards", "whole"}, "shards",
                "--accumulate: reduce the gradients of each batch, or keep them whole and reduce\n"
                "their sum")
        .only_if({"prefetch", "offload", "accumulate-in"},
                 "belongs to the form that overlaps, which --no-overlap turns off; leave one of "
                 "them out",
                 overlaps)
        .only_if({"accumulate-in"},
                 "belongs to --accumulate with --zero 2, --zero 3 or --fsdp; leave it out",
                 [](const Arguments& arguments) {
                   const bool sharded = arguments.given("zero") || arguments.given("fsdp");
                   const bool several =
                       arguments.given("accumulate") ||
                       (arguments.declared("global-batch") && arguments.given("global-batch"));
                   return sharded && !arguments.has("--zero 1") && several;
                 });
  };
  const char* buckets =
      "packs DDP's buckets, which --zero replaces by shards; leave one of them out";
  const char* stages =
      "combines with --zero 1 only: a stage uses its parameters for one micro-batch after the "
      "other, and their gradients add up; pass --zero 1, or leave one of them out";
  const char* servers =
      "does not combine with --zero: servers already hold a part of the parameters each; leave one "
      "of them out";
  return {
      .stem = "zero",
      .name = "ZeRO",
      .slot = Slot::reduction,
      .option = "zero",
      .declare = declare,
      .refuses = {{"compression", buckets},
                  {"pipeline", stages,
                   [](const Arguments& arguments) { return arguments.has("--zero 1"); }},
                  {"async", servers}},
      .reads = {"accumulate", "no-overlap"},
  };
}

}  // namespace lockstep::train
