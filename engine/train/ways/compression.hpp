// Gradients that travel in fewer bytes: a communication hook on the buckets of DDP.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way compression_way() {
  const auto declare = [](Options& options) {
    options.section("data parallelism (DDP)")
        .option("compress", "none",
                "what gradients travel as: none, fp16, bf16, int8, topk:F, randomk:F (F of the\n"
                "entries), powersgd:R (matrices of rank R)")
        .flag("no-error-feedback",
              "topk and powersgd forget what they leave out, and do not add it to the next step")
        .only_if({"no-error-feedback"},
                 "belongs to --compress topk:F and powersgd:R, which add what they leave out to "
                 "the next step; leave it out",
                 [](const Arguments& arguments) {
                   return arguments.has("--compress topk:") ||
                          arguments.has("--compress powersgd:");
                 })
        .exclude({"join", "compress"},
                 "do not combine: a rank that has run out brings zeros, but compressors send what "
                 "they left out before; pass only one");
  };
  return {.stem = "compression",
          .name = "compression",
          .slot = Slot::hook,
          .option = "compress",
          .declare = declare,
          .refuses = {
              {"reduce-dtype", "and --compress both say what gradients travel as; pass only one"}}};
}

}  // namespace lockstep::train
