// Tensor parallelism: several ranks compute each layer together, and hold a share of its weights.
#pragma once

#include "engine/train/run_arguments.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way tensor_way() {
  const auto declare = [](Options& options) {
    options.section("tensor parallelism")
        .option("tp", "1",
                "ranks that compute each layer together, each with its heads and columns")
        .flag("sp", "between the layers, a rank has its part of each sequence (Megatron's)")
        .only_if({"sp"}, "cuts sequences among the ranks of --tp; pass --tp 2 or more",
                 [](const Arguments& arguments) { return arguments.integer("tp", 1) > 1; })
        .only_if({"tp"}, "splits the layers of a transformer; pass --model gpt, or leave it out",
                 [](const Arguments& arguments) {
                   return is_gpt(arguments) || arguments.integer("tp", 1) == 1;
                 });
  };
  const char* buckets =
      "does not combine with --tp yet: what it leaves out differs between the ranks of a layer; "
      "leave one of them out";
  const char* queues =
      "does not combine with --tp: Horovod decides by itself when gradients travel, while layers "
      "wait for each other; leave one of them out";
  const char* servers =
      "does not combine with --tp: a worker's layers would need the other ranks' weights of the "
      "same step; leave one of them out";
  return {
      .stem = "tensor",
      .name = "tensor parallelism",
      .slot = Slot::axis,
      .option = "tp",
      .axis = mesh::Axis::tp,
      .declare = declare,
      .refuses = {{"compression", buckets},
                  {"horovod", queues},
                  {"async", servers},
                  {"offload",
                   "does not combine with --tp yet: sums between the ranks of a layer are made on "
                   "the device; leave one of them out"},
                  {"masters",
                   "does not combine with --tp yet: the masters of a share would be saved as the "
                   "whole; leave one of them out"},
                  {"join",
                   "does not combine with --tp yet: ranks of a layer would have to run out of "
                   "samples together; leave one of them out"}},
  };
}

}  // namespace lockstep::train
