// Ways to train as they declare themselves: which of them a command line chooses, and what is said
// of two that do not combine.
#include "engine/train/way.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "engine/train/precision.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using train::Slot;
using train::Way;
using Words = std::vector<std::string>;

namespace {

Arguments parsed(const Words& words, std::span<const Way> ways = train::declared_ways()) {
  std::vector<const char*> argv{"train"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return apps::train_options(ways).parse(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const Words& words, std::span<const Way> ways = train::declared_ways()) {
  try {
    parsed(words, ways);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// Words that choose a way; none where nothing has to be typed.
Words words_for(const Way& way) {
  static const std::map<std::string, std::string> values{
      {"compress", "fp16"}, {"pp", "2"}, {"zero", "3"}, {"fsdp", "full_shard"},
      {"tp", "2"},          {"cp", "2"}, {"ep", "2"}};
  if (way.option.empty()) return {};
  Words words{"--" + way.option};
  if (const auto value = values.find(way.option); value != values.end()) {
    words.push_back(value->second);
  }
  if (way.option == "ep") words.insert(words.end(), {"--experts", "4"});
  if (way.slot == Slot::axis) words.insert(words.end(), {"--model", "gpt"});
  return words;
}

// An option that both have with one value stands there once.
Words both(Words one, const Words& other) {
  const bool has_model = std::ranges::find(one, "--model") != one.end();
  const bool ends_so = other.size() > 2 && other[other.size() - 2] == "--model";
  one.insert(one.end(), other.begin(), other.end() - (has_model && ends_so ? 2 : 0));
  return one;
}

// An axis that only this test has.
Way axis(const std::string& stem, mesh::Axis of) {
  return {.stem = stem,
          .name = stem + " parallelism",
          .slot = Slot::axis,
          .option = stem,
          .axis = of,
          .declare = [stem](Options& options) {
            options.section(stem).option(stem, "1", "ranks that share a layer");
          }};
}

std::vector<Way> with(std::initializer_list<Way> more) {
  std::vector<Way> ways = train::declared_ways();
  ways.insert(ways.end(), more);
  return ways;
}

}  // namespace

TEST_CASE("ways: each has a name of its own, and is chosen by its option alone") {
  std::set<std::string> stems, names;
  for (const Way& way : train::declared_ways()) {
    CAPTURE(way.stem);
    CHECK(stems.insert(way.stem).second);
    CHECK(names.insert(way.name).second);
    const Arguments arguments = parsed(words_for(way));
    CHECK(way.chosen(arguments) == !way.option.empty());
    const auto chosen = train::ways_of(arguments, train::declared_ways());
    CHECK(std::ranges::any_of(chosen, [&](const Way* one) { return one->stem == way.stem; }));
    const bool added = way.slot == Slot::hook || way.slot == Slot::axis;
    CHECK(chosen.size() == (added ? 2 : 1));
  }
  CHECK(train::trainer_of(parsed({}), train::declared_ways()).stem == "ddp");
}

TEST_CASE("ways: two that do not combine are refused in either order, for one reason") {
  int refused = 0;
  const auto& ways = train::declared_ways();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ways[i].option.empty() || ways[j].option.empty()) continue;
      CAPTURE(ways[i].stem, ways[j].stem);
      const Words one = words_for(ways[i]), other = words_for(ways[j]);
      const std::string why = refusal(both(one, other));
      const bool combine =
          std::ranges::any_of(std::array{"plain", "pipeline", "zero", "fsdp", "tensor", "sequence"},
                              [&](const char* stem) { return stem == ways[j].stem; });
      const bool sharded = ways[j].stem == "zero" || ways[j].stem == "fsdp";
      // Sharded state has a plain form, too.
      const bool plain =
          ways[j].stem == "plain" && (ways[i].stem == "zero" || ways[i].stem == "fsdp");
      if (plain ||
          (ways[i].slot == Slot::axis && combine && !(ways[i].stem == "expert" && sharded))) {
        CHECK(why == "");
        continue;
      }
      CHECK(why == refusal(both(other, one)));
      CHECK_THAT(why, contains("--" + ways[i].option) || contains("--" + ways[j].option));
      CHECK(why.size() > 40);
      ++refused;
    }
  }
  CHECK(refused == 30);
}

TEST_CASE("ways: the sentence is the one that a way declares, for each of the other's options") {
  CHECK(refusal({"--async", "--compress", "fp16"}) ==
        "--compress belongs to DDP, which --async replaces; leave one of them out");
  CHECK(refusal({"--horovod", "--accumulate", "2"}) ==
        "--accumulate belongs to DDP, which --horovod replaces; with --horovod, pass "
        "--backward-passes");
  CHECK(refusal({"--no-overlap", "--accumulate", "1"}) ==
        "--accumulate needs DDP, which --no-overlap turns off; leave one of them out");
  const Words plain_shards{"--no-overlap", "--fsdp", "full_shard", "--accumulate", "2"};
  CHECK(refusal(plain_shards) == "");
  for (const Words& more : {Words{"--prefetch", "2"}, Words{"--offload", "optimizer"},
                            Words{"--accumulate-in", "whole"}, Words{"--shards", "rows"}}) {
    CHECK_THAT(refusal(both(plain_shards, more)),
               contains(more.front() + " belongs to the form that overlaps, which --no-overlap"));
  }
  CHECK(refusal({"--async", "--horovod"}) ==
        "--horovod and --async are two ways to share gradients; pass only one");
  CHECK_THAT(refusal({"--pp", "2", "--find-unused"}),
             contains("--find-unused does not combine with --pp: a stage has some of"));
  CHECK_THAT(refusal({"--join", "live", "--compress", "fp16"}),
             contains("--join and --compress do not combine: a rank that has run out"));
  CHECK_THAT(refusal({"--join", "live", "--static-graph"}),
             contains("--join and --static-graph do not combine"));
  CHECK_THAT(refusal({"--horovod", "--horovod-op", "adasum"}),
             contains("--horovod-op adasum is not built into this engine") &&
                 contains("; pass average or sum"));
  CHECK_THAT(refusal({"--modelled-compute", "--horovod"}), contains("which reads numbers"));
  CHECK_THAT(refusal({"--pp", "2", "--zero", "2"}), contains("combines with --zero 1 only"));
  const Words offload{"--zero", "2", "--offload", "optimizer"};
  CHECK_THAT(refusal({"--offload", "all"}), contains("--offload belongs to --zero and --fsdp"));
  CHECK(refusal(both(offload, {"--device", "cuda"})) == "");
  CHECK_THAT(refusal(both(offload, {"--modelled-compute"})),
             contains("modelled cores, which have no host"));
  CHECK(refusal({"--fsdp", "full_shard", "--offload", "all"}) == "");
  // What means the same with both is not refused.
  CHECK(refusal({"--pp", "2", "--accumulate", "2", "--bucket-mb", "1"}) == "");
  CHECK(refusal({"--async", "--accumulate", "2"}) == "");
  CHECK(refusal({"--pp", "2", "--dp", "2", "--schedule", "gpipe", "--zero", "1"}) == "");
  CHECK(refusal({"--pp", "2", "--schedule", "naive"}) == "");
  CHECK(refusal({"--pp", "2", "--schedule", "naive", "--micro-batches", "2"}) ==
        "--micro-batches is 1 with --schedule naive; leave one of them out");
}

// Each sharding, with each thing that may go with it, beside stages: the optimizer's state alone is
// sharded there. What is refused is told by one sentence, the same in every order.
TEST_CASE(
    "ways: of shards, masters and offload, stages take ZeRO 1 alone, and say why of the rest") {
  const std::vector<Words> shardings = {{},
                                        {"--zero", "1"},
                                        {"--zero", "2"},
                                        {"--zero", "3"},
                                        {"--fsdp", "no_shard"},
                                        {"--fsdp", "shard_grad_op"},
                                        {"--fsdp", "full_shard"},
                                        {"--fsdp", "hybrid_shard"}};
  const std::vector<Words> further = {{},
                                      {"--masters", "--dtype", "bfloat16"},
                                      {"--reduce-dtype", "float32"},
                                      {"--offload", "optimizer"},
                                      {"--offload", "all"}};
  for (const Words& sharding : shardings) {
    for (const Words& more : further) {
      CAPTURE(sharding, more);
      const Words stages{"--pp", "2"}, with = both(sharding, more);
      const std::string why = refusal(both(stages, with));
      CHECK(why == refusal(both(with, stages)));
      const bool takes = more.empty() && (sharding.empty() || sharding == Words{"--zero", "1"});
      CHECK((why == "") == takes);
      if (takes) continue;
      const std::string& named = !more.empty() && sharding == Words{"--zero", "1"} ? more[0] : "--";
      CHECK_THAT(why, Catch::Matchers::StartsWith(named));
      CHECK_THAT(why, contains("leave one of them out") || contains("leave it out"));
      CHECK(std::ranges::count(why, ';') == 1);
    }
  }
  CHECK_THAT(refusal({"--pp", "2", "--fsdp", "full_shard"}), contains("pass --zero 1 in place of"));
}

TEST_CASE("ways: mixed precision is of ways with replicas or shards, and of 16-bit passes") {
  const Words halves{"--dtype", "float16", "--masters"};
  const std::vector<Words> take = {{},
                                   {"--no-overlap"},
                                   {"--zero", "1"},
                                   {"--zero", "3"},
                                   {"--fsdp", "no_shard"},
                                   {"--reduce-dtype", "float32"},
                                   {"--loss-scale", "1024"}};
  for (const Words& way : take) CHECK(refusal(both(halves, way)) == "");
  CHECK(refusal(both(both(halves, {"--fsdp", "full_shard"}), {"--reduce-dtype", "float32"})) == "");
  for (const Words& way : std::vector<Words>{{"--horovod"}, {"--async"}, {"--pp", "2"}}) {
    CHECK_THAT(refusal(both(halves, way)), contains("--masters keeps float32 weights"));
    CHECK_THAT(refusal(both(way, {"--reduce-dtype", "bfloat16"})),
               contains("which " + way.front()));
  }
  CHECK_THAT(refusal({"--dtype", "float16"}), contains("--dtype float16 needs --masters"));
  CHECK_THAT(refusal({"--masters"}), contains("pass --dtype bfloat16 or float16, too"));
  CHECK_THAT(refusal({"--dtype", "bfloat16", "--masters", "--loss-scale", "8"}),
             contains("--loss-scale belongs to --dtype float16"));
  CHECK_THAT(refusal(both(halves, {"--join", "live"})),
             contains("lack the updates of the masters"));
  CHECK_THAT(refusal({"--no-overlap", "--reduce-dtype", "float32"}), contains("needs DDP"));
  CHECK_THAT(refusal({"--compress", "fp16", "--reduce-dtype", "bfloat16"}),
             contains("both say what gradients travel as"));
}

TEST_CASE("ways: a loss scale is dynamic or fixed, and 1 at least") {
  using Rule = train::LossScale::Rule;
  const auto scale = [](const char* typed) { return train::loss_scale_named(typed); };
  CHECK((scale("dynamic").rule == Rule::dynamic && scale("dynamic").first == 65536));
  CHECK((scale("dynamic:1e3").rule == Rule::dynamic && scale("dynamic:1e3").first == 1000));
  CHECK((scale("128").rule == Rule::fixed && scale("128").first == 128));
  for (const char* typed : {"", "0.5", "-1", "inf", "1e99", "nan", "dynamic:", "64x", "static:1"}) {
    CAPTURE(typed);
    CHECK_THROWS_WITH(scale(typed), contains("is no scale; pass dynamic, dynamic:65536"));
  }
}

TEST_CASE("ways: one that says nothing of its slot is refused beside the others in it") {
  const auto ways = with({{.stem = "other",
                           .name = "the other way",
                           .slot = Slot::reduction,
                           .option = "other",
                           .declare = [](Options& options) { options.flag("other", "another"); }}});
  CHECK(refusal({"--other"}, ways) == "");
  CHECK(refusal({"--other", "--bucket-mb", "2"}, ways) ==
        "--bucket-mb belongs to DDP, which --other replaces; leave one of them out");
  CHECK(refusal({"--other", "--horovod"}, ways) ==
        "--other and --horovod both say how gradients become one; leave one of them out");
}

TEST_CASE("ways: the program that a run needs is told from the command line alone") {
  const auto program = [](const Words& words) {
    const apps::Trainer trainer = apps::trainer_for(parsed(words));
    return trainer.program + (trainer.what.empty() ? "" : ": " + trainer.what);
  };
  CHECK(program({}) == "train");
  CHECK(program({"--no-overlap", "--ranks", "2"}) == "train");
  CHECK(program({"--compress", "none"}) == "train");
  CHECK(program({"--no-overlap", "--zero", "2"}) == program({"--zero", "2"}));
  CHECK(program({"--compress", "topk:0.1"}) == "train-compression: compression");
  CHECK(program({"--pp", "2"}) == "train-pipeline: pipeline parallelism");
  CHECK(program({"--backend", "nccl"}) == "train-all: NCCL");
  CHECK(program({"--backend", "nccl", "--horovod"}) == "train-all: NCCL and Horovod");
}

TEST_CASE("ways: axes combine with each other, and multiply the ranks that share a layer") {
  const auto& ways = train::declared_ways();
  const auto words_of = [](Words words) {
    return both(std::move(words), {"--experts", "8", "--model", "gpt"});
  };
  const auto ranks = [&](const Words& words) {
    return apps::ranks_of(parsed(words_of(words), ways), ways);
  };
  CHECK(train::ranks_of_axes(parsed(words_of({"--ep", "2", "--cp", "3"}), ways), ways) == 6);
  CHECK(ranks({}) == 1);
  CHECK(ranks({"--ep", "2", "--cp", "3", "--tp", "2"}) == 12);
  CHECK(ranks({"--ep", "2", "--pp", "3", "--dp", "2"}) == 12);
  CHECK(ranks({"--ep", "2", "--ranks", "8"}) == 8);
  CHECK(ranks({"--dp", "3"}) == 3);
  CHECK(ranks({"--tp", "2", "--dp", "3"}) == 6);
  CHECK(ranks({"--dp", "9999999999"}) == apps::ranks_max + 1);
  CHECK(ranks({"--ep", "60000", "--pp", "60000"}) == apps::ranks_max + 1);
  CHECK(train::ways_of(parsed(words_of({"--ep", "2", "--cp", "1"}), ways), ways).size() == 2);
  CHECK_THROWS_WITH(ranks({"--ep", "0"}), contains("--ep must be at least 1"));
}

TEST_CASE("ways: ranks that are left after the axes are dp, and the pipeline is an axis") {
  const auto& ways = train::declared_ways();
  const auto axes = [&](const Words& words, int ranks) {
    return train::axes_of(parsed(both(words, {"--experts", "8", "--model", "gpt"}), ways), ways,
                          ranks);
  };
  CHECK(axes({}, 6) == mesh::AxisSizes{.dp = 6});
  CHECK(axes({"--pp", "3"}, 6) == mesh::AxisSizes{.dp = 2, .pp = 3});
  CHECK(axes({"--cp", "2", "--ep", "2", "--pp", "2"}, 16) ==
        mesh::AxisSizes{.cp = 2, .ep = 2, .dp = 2, .pp = 2});
}

TEST_CASE("ways: a way in the slot axis says which, and no two ways have the same one") {
  Way nowhere = axis("one", mesh::Axis::ep);
  nowhere.axis.reset();
  CHECK_THROWS_WITH(apps::train_options(with({nowhere})),
                    contains("one parallelism is in the slot axis and says no axis"));
  CHECK_THROWS_WITH(apps::train_options(with({axis("one", mesh::Axis::cp)})),
                    contains("one parallelism has the axis cp, as context parallelism"));
}

TEST_CASE("ways: what does not combine with --tp is told in a sentence each") {
  const auto told = [](Words more) {
    more.insert(more.end(), {"--tp", "2", "--model", "gpt"});
    return refusal(more);
  };
  CHECK(told({"--sp"}) == "");
  CHECK(told({"--accumulate", "2", "--no-overlap"}) != "");
  CHECK(told({"--no-overlap"}) == "");
  CHECK(told({"--pp", "2"}) == "");
  CHECK(told({"--pp", "2", "--zero", "1"}) == "");
  CHECK(told({"--zero", "3"}) == "");
  CHECK_THAT(told({"--zero", "2", "--offload", "optimizer"}), contains("--offload does not"));
  CHECK_THAT(told({"--compress", "fp16"}), contains("what it leaves out differs"));
  CHECK_THAT(told({"--horovod"}), contains("Horovod decides by itself"));
  CHECK_THAT(told({"--async"}), contains("a worker's layers would need"));
  CHECK_THAT(told({"--masters", "--dtype", "bfloat16"}), contains("--masters does not combine"));
  CHECK_THAT(told({"--join", "live"}), contains("would have to run out of samples together"));
  CHECK_THAT(refusal({"--tp", "2"}), contains("--tp splits the layers of a transformer"));
  CHECK(refusal({"--tp", "1"}) == "");
  CHECK_THAT(refusal({"--sp", "--model", "gpt"}), contains("--sp cuts sequences among the ranks"));
}

TEST_CASE("ways: what does not combine with --cp is told in a sentence each") {
  const auto told = [](Words more) {
    more.insert(more.end(), {"--cp", "2", "--model", "gpt"});
    return refusal(more);
  };
  for (const Words& more : {Words{"--cp-kind", "zigzag"},
                            {"--tp", "2", "--sp"},
                            {"--no-overlap"},
                            {"--pp", "2", "--zero", "1"},
                            {"--zero", "3"},
                            {"--fsdp", "full_shard"}}) {
    CHECK(told(more) == "");
  }
  CHECK_THAT(told({"--zero", "2", "--offload", "optimizer"}), contains("--offload does not"));
  CHECK_THAT(told({"--compress", "fp16"}), contains("what it leaves out differs"));
  CHECK_THAT(told({"--horovod"}), contains("while attention waits"));
  CHECK_THAT(told({"--async"}), contains("a worker's attention would need"));
  CHECK_THAT(told({"--masters", "--dtype", "bfloat16"}), contains("--masters does not combine"));
  CHECK_THAT(told({"--join", "live"}), contains("would have to run out of samples together"));
  CHECK_THAT(refusal({"--cp", "2"}), contains("--cp cuts the sequences of a transformer"));
  CHECK_THAT(refusal({"--cp-kind", "zigzag", "--model", "gpt"}), contains("says how the ranks"));
}

TEST_CASE("ways: docs/training.md shows the options of train as they are declared") {
  std::ifstream file(std::string(LOCKSTEP_ROOT) + "/docs/training.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK_THAT(page, contains("```text\n" + apps::train_options().help() + "```\n"));
  for (const Way& way : train::declared_ways()) {
    CAPTURE(way.stem);
    CHECK_THAT(page, contains("| " + way.name + " |"));
  }
}

TEST_CASE("ways: one that refuses what nobody declares is told so") {
  const auto ways = with({{.stem = "other",
                           .name = "the other way",
                           .option = "horovod",
                           .refuses = {{"pipelines", "…"}}}});
  CHECK_THROWS_AS(apps::train_options(ways), ContractError);
  CHECK_THROWS_WITH(apps::train_options(ways), contains("refuses 'pipelines', which is neither"));
}
