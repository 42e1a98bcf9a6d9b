// Context parallelism: several ranks share each sequence, and each computes its own tokens.
#pragma once

#include "engine/train/run_arguments.hpp"
#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way sequence_way() {
  const auto declare = [](Options& options) {
    options.section("context parallelism")
        .option("cp", "1", "ranks that share each sequence, each with its own tokens")
        .choice(
            "cp-kind", {"ring", "zigzag", "ulysses"}, "ring",
            "how the ranks of --cp attend: keys and values go round a ring of slices; or of two\n"
            "chunks each, so that all have equal work; or tokens are exchanged for heads")
        .only_if({"cp-kind"}, "says how the ranks of --cp attend; pass --cp 2 or more",
                 [](const Arguments& arguments) { return arguments.integer("cp", 1) > 1; })
        .only_if({"cp"}, "cuts the sequences of a transformer; pass --model gpt, or leave it out",
                 [](const Arguments& arguments) {
                   return is_gpt(arguments) || arguments.integer("cp", 1) == 1;
                 });
  };
  const char* buckets =
      "does not combine with --cp yet: what it leaves out differs between the ranks of a sequence; "
      "leave one of them out";
  const char* queues =
      "does not combine with --cp: Horovod decides by itself when gradients travel, while "
      "attention waits for other ranks; leave one of them out";
  const char* servers =
      "does not combine with --cp: a worker's attention would need the other ranks' tokens of the "
      "same step; leave one of them out";
  return {
      .stem = "sequence",
      .name = "context parallelism",
      .slot = Slot::axis,
      .option = "cp",
      .axis = mesh::Axis::cp,
      .declare = declare,
      .refuses = {{"compression", buckets},
                  {"horovod", queues},
                  {"async", servers},
                  {"offload",
                   "does not combine with --cp yet: keys and values go round on the device alone; "
                   "leave one of them out"},
                  {"masters",
                   "does not combine with --cp yet: ranks of a sequence would have to agree on the "
                   "scale of the loss; leave one of them out"},
                  {"join",
                   "does not combine with --cp yet: ranks of a sequence would have to run out of "
                   "samples together; leave one of them out"}},
  };
}

}  // namespace lockstep::train
