// Pipeline parallelism: the model's layers are dealt to stages, each of which is a rank.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way pipeline_way() {
  const auto declare = [](Options& options) {
    options.section("pipeline parallelism")
        .option("pp", "", "stages that the model's layers are dealt to; each is a rank")
        .choice("schedule", {"naive", "gpipe", "1f1b", "interleaved", "zero-bubble"}, "1f1b",
                "the order of a stage's passes, or naive, without\nmicro-batches")
        .option("micro-batches", "",
                "parts of a batch, which pass through the stages one after the other\n"
                "(default: the smallest number from --pp on that divides the batch)")
        .option("chunks", "",
                "--schedule interleaved: parts of the model on each stage (default 2)")
        .only_if({"micro-batches"}, "is 1 with --schedule naive; leave one of them out",
                 [](const Arguments& arguments) { return !arguments.has("--schedule naive"); })
        .only_with({"schedule", "micro-batches", "chunks"}, "--pp")
        .only_if(
            {"chunks"}, "belongs to --schedule interleaved; leave it out",
            [](const Arguments& arguments) { return arguments.has("--schedule interleaved"); });
  };
  const auto ranks = [](const Arguments& arguments) { return arguments.integer("pp", 1); };
  const char* whole =
      "does not combine with --pp: a stage has some of the parameters, and several passes over "
      "them in a step; leave one of them out";
  return {
      .stem = "pipeline",
      .name = "pipeline parallelism",
      .slot = Slot::execution,
      .option = "pp",
      .axis = mesh::Axis::pp,
      .declare = declare,
      .refuses = {{"masters",
                   "keeps float32 weights beside 16-bit ones, which stages do not do; leave one of "
                   "them out"},
                  {"reduce-dtype",
                   "is of DDP's buckets and of shards, which --pp does not have; leave one of them "
                   "out"},
                  {"offload",
                   "keeps state in the host's memory, which stages do not do; leave one of them "
                   "out"},
                  {"plain", whole},
                  {"ddp", whole},
                  {"compression", whole},
                  {"horovod", whole},
                  {"async", whole}},
      .reads = {"accumulate", "bucket-mb"},
      .ranks = ranks,
  };
}

}  // namespace lockstep::train
