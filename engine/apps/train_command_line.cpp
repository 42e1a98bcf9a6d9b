#include "engine/apps/train_command_line.hpp"

#include <algorithm>
#include <vector>

#include "engine/apps/computing.hpp"
#include "engine/base/error.hpp"
#include "engine/collectives/all_reduce.hpp"
#include "engine/data/dataset.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/train/precision.hpp"
#include "engine/train/run_arguments.hpp"

namespace lockstep::apps {
namespace {

void what_to_train(Options& options) {
  options.section("what to train")
      .choice("model", {"mlp", "gpt"}, "mlp", "the model")
      .option("data", "", "fashion-mnist (mlp), lessons (gpt), synthetic, or text:FILE")
      .otherwise(data_name)
      .option("data-folder", data::fashion_mnist_folder, "the folder with the Fashion-MNIST files")
      .shared(Shared::nothing)  // what was read from it is compared
      .only_if({"data-folder"}, "belongs to --data fashion-mnist; leave it out",
               [](const Arguments& arguments) {
                 const std::string data = data_name(arguments);
                 return data != "synthetic" && data != "lessons" && !data.starts_with("text:");
               })
      .choice("dtype", {"float32", "float64", "bfloat16", "float16"}, "float32",
              "type of parameters, optimizer state and inputs; with --masters, of passes alone")
      .only_if(
          {"dtype"},
          "float16 needs --masters: a learning rate times a gradient is often below 2^-24, the "
          "smallest number that it has",
          [](const Arguments& arguments) {
            return !arguments.has("--dtype float16") || arguments.flag("masters");
          });
  train::declare_precision(options);
}

void language_model(Options& options) {
  options.section("language model", "--model gpt")
      .option("layers", "4", "number of blocks")
      .option("width", "128", "number of channels")
      .option("heads", "4", "number of attention heads")
      .option("sequence", "64", "tokens per sample")
      .option("stride", "",
              "tokens from the start of one sample to the next (default --sequence / 16)")
      .otherwise([](const auto& typed) {
        return text(std::max<std::int64_t>(typed.integer("sequence", 1) / 16, 1));
      })
      .choice("tokenizer", {"bytes", "bpe"}, "bytes", "how text becomes tokens")
      .option("vocab", "", "vocabulary size of bpe (default 512)")
      .otherwise([](const auto& typed) {
        return typed.has("--tokenizer bytes") && train::has_numbers(typed) ? "256" : "512";
      })
      .flag("untied", "a separate output matrix, not the embedding's")
      .option("dropout", "0", "fraction of activations to drop")
      .flag("recompute", "keep only the inputs of blocks, and recompute the rest");
}

void ranks_and_world(Options& options) {
  options.section("ranks and their world")
      .option("ranks", "1", "number of processes that train together")
      .shared(Shared::nothing)  // compared with how many were launched (launch::join_alike)
      .option("dp", "",
              "replicas, each on samples of its own: --ranks / (tp * cp * pp * ep) (default: what\n"
              "--ranks leaves)")
      .choice("backend", {"gloo", "nccl", "sim"}, "gloo",
              "gloo: one process per rank; nccl: one process and one GPU per rank; sim: simulated\n"
              "ranks, all in one process")
      .choice("transport", {"auto", "gloo", "shm"}, "auto",
              "--backend gloo: TCP (gloo), shared memory (shm), or the best that works (auto)")
      .flag("modelled-compute",
            "--backend gloo: wait as long as one core would compute; tensors have no numbers, but\n"
            "messages travel. For more ranks than cores")
      .only_with({"transport", "modelled-compute"}, "--backend gloo");
}

// Options that say nothing about a GPU, or do not run on one yet, are refused if another option
// asks for one.
void where_to_compute(Options& options) {
  const auto on_cpu = [](const Arguments& arguments) { return !uses_gpu(arguments); };
  options.section("where to compute");
  add_device(options)
      .only_if(
          {"device"},
          "cuda computes on one GPU, and several ranks need one each: pass --backend nccl instead",
          [](const Arguments& arguments) {
            return !arguments.has("--device cuda") || ranks_of(arguments) == 1 ||
                   !arguments.has("--backend gloo");
          })
      .only_if({"device"}, "cuda is no simulated device; leave out --backend sim",
               [](const Arguments& arguments) {
                 return !arguments.has("--device cuda") || !arguments.has("--backend sim");
               })
      .only_if({"device"},
               "cpu has no memory that NCCL reads; leave it out, or leave out --backend nccl",
               [](const Arguments& arguments) {
                 return !arguments.has("--device cpu") || !arguments.has("--backend nccl");
               })
      .only_if({"modelled-compute"}, "stands for a computation; leave out --device cuda", on_cpu)
      .only_if(
          {"trace"},
          "shows when the host asks for work, which says little about a GPU; leave it out, or add "
          "--paper, which notes what it carries out",
          [on_cpu](const Arguments& arguments) {
            return on_cpu(arguments) || arguments.flag("paper");
          });
}

void simulated_ranks(Options& options) {
  options.section("simulated ranks", "--backend sim")
      .option("cluster", "laptop",
              "a .toml file, or a built-in cluster:\n" + sim::list_of_clusters(2))
      .flag("sizes-only", "tensors with shapes but no numbers; 3 steps, no loss")
      .list("fault",
            "kill:RANK@TIME, kill:RANK@step:K, kill:RANK@call:K, link:A-B:slow:F, link:A-B:cut")
      .list("slow", "RANK:FACTOR slows this rank's computation by FACTOR")
      .option("jitter", "0", "lengthen each latency by a random fraction, up to this value")
      .only_if(
          {"data", "data-folder", "tokenizer", "stride", "workers", "checkpoint", "export", "init"},
          train::needs_numbers, train::has_numbers);
}

// Ways to train follow in the same section, and in sections of their own.
void data_parallel(Options& options) {
  options.section("data parallelism (DDP)")
      .choice("all-reduce", collectives::all_reduce_names(), "native",
              "the algorithm that sums gradients");
}

void optimizer_and_rate(Options& options) {
  options.section("optimizer and learning rate")
      .choice("optimizer", {"sgd", "adam", "adamw"}, "", "update rule (default sgd; gpt: adamw)")
      .otherwise(optimizer_name)
      .option("momentum", "0.9", "sgd: momentum")
      .only_if({"momentum"}, "belongs to --optimizer sgd; leave it out",
               [](const Arguments& arguments) { return optimizer_name(arguments) == "sgd"; })
      .option("weight-decay", "", "weight decay (default 0; adamw: 0.01, on matrices only)")
      .otherwise([](const auto& typed) { return optimizer_name(typed) == "adamw" ? "0.01" : "0"; })
      .option("clip", "", "maximum gradient norm; 0: no limit (default 0; gpt: 1)")
      .otherwise([](const auto& typed) { return train::is_gpt(typed) ? "1" : "0"; })
      .option("lr", "", "learning rate (default 0.05 for sgd, 0.001 for adam and adamw)")
      .otherwise(
          [](const auto& typed) { return optimizer_name(typed) == "sgd" ? "0.05" : "0.001"; })
      .choice("lr-schedule", {"constant", "cosine", "linear"}, "cosine", "learning-rate schedule")
      .option("warmup", "0", "optimizer steps until the rate reaches --lr, or its scaled value")
      .choice("lr-scaling", {"linear", "sqrt"}, "",
              "scale --lr with the global batch; --lr was tuned for --base-batch samples")
      .option("base-batch", "", "the batch that --lr was tuned for (default --batch-size)")
      .otherwise([](const auto& typed) {
        return typed.given("lr-scaling") ? typed.value("batch-size") : "";
      })
      .only_with({"base-batch"}, "--lr-scaling");
}

void length_of_run(Options& options) {
  options.section("run")
      .option("batch-size", "", "samples per rank and step (default 64; gpt: 16)")
      .otherwise([](const auto& typed) { return train::is_gpt(typed) ? "16" : "64"; })
      .option("global-batch", "",
              "samples per step over all ranks, however many they are: --accumulate follows,\n"
              "and ranks that cannot share them stand by")
      .exclude({"global-batch", "accumulate"},
               "both say how many batches a step has; pass only one")
      .exclude({"global-batch", "dp"},
               "both say how many replicas train; leave --dp out, and as many train as can")
      .only_if({"global-batch"},
               "is shared out by ranks that take their steps together, and those of --async do not",
               [](const Arguments& arguments) {
                 return !arguments.declared("async") || !arguments.flag("async");
               })
      .only_if({"global-batch"},
               "would sum other numbers of passes with other numbers of ranks: Horovod does not "
               "divide by --backward-passes; leave one of them out",
               [](const Arguments& arguments) {
                 return !arguments.declared("horovod") || !arguments.flag("horovod");
               })
      .option("workers", "0", "workers per rank that read batches ahead")
      .shared(Shared::nothing)  // as each rank's processors allow; the samples stay the same
      .option("epochs", "3", "number of passes over the data")
      .option("steps", "", "number of optimizer steps, instead of --epochs")
      .exclude({"epochs", "steps"}, "both say when to stop; pass only one")
      .option("seed", "0", "seed of initial weights, sample order and dropout");
}

void files(Options& options) {
  const auto has_folder = [](const Arguments& arguments) { return arguments.has("--checkpoint"); };
  options.section("files")
      .option("checkpoint", "", "folder for checkpoints; the run writes one at its end")
      .shared(Shared::presence)  // machines may have other names, but all ranks write together
      .only_if({"checkpoint"}, "is empty; pass a folder", has_folder)
      .option("save-every", "0", "steps between checkpoints; 0: only at the end")
      .choice("save", {"dense", "sharded"}, "dense",
              "who writes a checkpoint: rank 0, which gathers it; or each rank a share of it")
      .flag("save-async", "write checkpoints while training goes on, from a copy in memory")
      .flag("resume", {"auto"},
            "continue from the latest checkpoint in --checkpoint, which must be there; auto: from "
            "the\nnewest that is whole, or begin if there is none. After a restart, auto is the "
            "default")
      .only_if({"resume", "save-every", "save", "save-async"}, "needs --checkpoint FOLDER",
               has_folder)
      .option("init", "", "read the initial weights from a .safetensors file")
      .shared(Shared::presence)  // what was read is compared
      .only_if(
          {"init"},
          "and --resume both say which weights to start with; pass only one, or --resume auto, "
          "which reads --init if there is no checkpoint",
          [](const Arguments& arguments) { return !arguments.flag("resume"); })
      .option("export", "", "write the final weights to a .safetensors file")
      .shared(Shared::presence)
      .option("log", "", "write one JSON object per step and epoch to this file")
      .shared(Shared::nothing)  // one rank writes it, from what it knows
      .option("trace", "", "write the timeline: FILE.html for a browser, FILE.json for Perfetto")
      .shared(Shared::presence);
}

void parts(Options& options) {
  options.section("parts")
      .choice("with", {"work"}, "", "use your own parts, if they pass, instead of the references")
      .option("break", "",
              "train twice, the second time with a part that is wrong on purpose; 'list' shows "
              "them all")
      .only_if({"break"}, "needs a name; ./lab train --break list lists them",
               [](const Arguments& arguments) { return arguments.has("--break"); })
      .exclude({"with", "break"}, "both say which parts to train with; pass only one")
      .flag("json", "print one JSON document instead of the chart of --break")
      .only_with({"json"}, "--break");
}

}  // namespace

Options train_options(std::span<const train::Way> ways) {
  Options options("lab train",
                  "Trains a model. Every rank holds a replica and reads its own samples.");
  what_to_train(options);
  language_model(options);
  ranks_and_world(options);
  where_to_compute(options);
  simulated_ranks(options);
  data_parallel(options);
  train::declare_ways(options, ways);
  optimizer_and_rate(options);
  length_of_run(options);
  files(options);
  parts(options);
  return options;
}

std::int64_t ranks_of(const Arguments& arguments, std::span<const train::Way> ways) {
  if (arguments.given("ranks")) return arguments.integer("ranks", 1);
  return train::ranks_asked_for(arguments, ways, ranks_max);
}

Trainer trainer_for(const Arguments& arguments, std::span<const train::Way> ways) {
  std::vector<const train::Way*> asked;
  for (const train::Way* way : train::ways_of(arguments, ways)) {
    if (way->built == train::Way::Built::when_asked) asked.push_back(way);
  }
  const bool nccl = arguments.has("--backend nccl");
  if (asked.empty() && !nccl) return {};
  if (asked.size() == 1 && !nccl) return {"train-" + asked.front()->stem, asked.front()->name};
  std::string what = nccl ? "NCCL" : "";
  for (const train::Way* way : asked) what += (what.empty() ? "" : " and ") + way->name;
  return {"train-all", what};
}

std::string data_name(const Arguments& arguments) {
  if (arguments.given("data")) return arguments.get("data");
  return train::is_gpt(arguments) ? "lessons" : "fashion-mnist";
}

std::string optimizer_name(const Arguments& arguments) {
  if (arguments.given("optimizer")) return arguments.get("optimizer");
  return train::is_gpt(arguments) ? "adamw" : "sgd";
}

}  // namespace lockstep::apps
