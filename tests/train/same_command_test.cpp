// The options of a run, compared by its ranks: every option that the parser has, set apart on one
// rank of several ways to train, and what ranks may differ in.
#include "engine/launch/same_command.hpp"

#include <map>
#include <set>
#include <thread>

#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "tests/catch.hpp"
#include "tests/launch/lookup.hpp"

using namespace lockstep;
using lockstep::test::contains;
using Words = std::vector<std::string>;
using Lines = std::vector<std::string>;

namespace {

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Options& options() {
  static const Options all = apps::train_options();
  return all;
}

Arguments command_of(const Words& words) {
  std::vector<const char*> argv{"train"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return options().parse(static_cast<int>(argv.size()), argv.data());
}

Lines lines_of(const Words& words) {
  return launch::shared_options(command_of(words), options().names());
}

// What each rank throws, each in a thread of its own; empty: nothing.
std::vector<std::string> told(const std::vector<Lines>& ranks) {
  const auto store = comm::make_memory_store();
  std::vector<std::string> sentences(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          launch::check_same_command(*store, static_cast<int>(rank), static_cast<int>(ranks.size()),
                                     ranks[rank]);
        } catch (const UsageError& error) {
          sentences[rank] = error.what();
        }
      });
    }
  }
  return sentences;
}

// Values of an option that may be others than its own: its choices, which its refusal lists, or
// numbers.
Words values_for(const std::string& name) {
  try {
    command_of({"--" + name + "=no such value"});
  } catch (const UsageError& error) {
    const std::string words = error.what();
    const std::string before = "(choices: ";
    if (words.starts_with("cannot") || words.find(before) == std::string::npos) return {"7", "5"};
    Words choices;
    std::string rest = words.substr(words.find(before) + before.size());
    rest.pop_back();
    for (std::size_t comma = 0; comma != std::string::npos;) {
      comma = rest.find(", ");
      choices.push_back(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 2);
    }
    return choices;
  }
  return {"7", "5"};
}

// The option set apart: words that are parsed in this run, and make other lines than its own,
// `before`; none: the option means nothing in this run, or nothing else.
Words set_apart(const Words& run, const Lines& before, const std::string& name) {
  static std::map<std::string, Words> values;
  if (!values.contains(name)) values[name] = values_for(name);
  std::vector<Words> tries{{"--" + name}, {"--" + name + "=false"}};
  for (const std::string& value : values.at(name)) tries.push_back({"--" + name + "=" + value});
  for (const Words& words : tries) {
    try {
      if (lines_of(run + words) != before) return run + words;
    } catch (const UsageError&) {
    }
  }
  return {};
}

struct Run {
  std::string way;
  Words words;
};

const Words gpt{"--model", "gpt"};

// Six ways, and what the options need that these have no use for.
const std::vector<Run>& runs() {
  static const std::vector<Run> all{
      {"plain DDP", {}},
      {"FSDP", gpt + Words{"--fsdp", "full_shard"}},
      {"ZeRO", {"--zero", "1"}},
      {"tensor", gpt + Words{"--tp", "2"}},
      {"pipeline", {"--pp", "2"}},
      {"context", gpt + Words{"--cp", "2"}},
      {"experts", gpt + Words{"--experts", "4", "--ep", "2"}},
      {"servers", {"--async"}},
      {"Horovod", {"--horovod"}},
      {"compressed", {"--compress", "topk:0.1"}},
      {"interleaved", {"--pp", "2", "--schedule", "interleaved"}},
      {"by node", {"--fsdp", "hybrid_shard"}},
      {"whole", {"--zero", "2", "--accumulate", "2"}},
      {"experts with slots", gpt + Words{"--experts", "4", "--capacity", "2"}},
      {"in bfloat16", {"--dtype", "bfloat16"}},
      {"GPT in halves", gpt + Words{"--dtype", "float16", "--masters"}},
      {"on a GPU", {"--device", "cuda"}},
      {"with files", {"--checkpoint", "c", "--lr-scaling", "linear"}},
      {"counted in steps", {"--steps", "3"}},
      {"simulated", {"--backend", "sim"}},
      {"simulated experts", gpt + Words{"--backend", "sim", "--sizes-only", "--experts", "4"}},
      {"broken", {"--break", "list"}},
  };
  return all;
}

}  // namespace

TEST_CASE("one command: an option that ranks must share is refused where one rank has another") {
  // By option, the ways in which it was set apart.
  std::map<std::string, std::set<std::string>> table;
  for (const Run& run : runs()) {
    const Lines all = lines_of(run.words);
    for (const std::string& name : options().names()) {
      const Words words = name == "help" ? Words{} : set_apart(run.words, all, name);
      if (words.empty()) continue;
      const Lines other = lines_of(words);
      CAPTURE(run.way, name, words);
      // The odd one is rank 1 of two, and then rank 0 of three.
      for (const auto& [ranks, odd] :
           {std::pair(std::vector{all, other}, 1), std::pair(std::vector{other, all, all}, 0)}) {
        const auto sentences = told(ranks);
        for (const std::string& sentence : sentences) CHECK(sentence == sentences.front());
        CHECK_THAT(sentences.front(),
                   contains("rank 0 has ") && contains(", rank 1 has ") && contains("--" + name));
        const auto at = std::ranges::mismatch(all, other).in1 - all.begin();
        CHECK_THAT(sentences.front(), contains(all[static_cast<std::size_t>(at)]) &&
                                          contains(other[static_cast<std::size_t>(at)]));
      }
      table[name].insert(run.way);
    }
  }
  // An option that is declared tomorrow is compared by itself; where this fails, it means nothing
  // in any of the runs above: add one in which it does.
  for (const std::string& name : options().names()) {
    CAPTURE(name);
    const bool compared = command_of({}).shared(name) != Shared::nothing && name != "help";
    CHECK(table.contains(name) == compared);
  }
  for (const char* name : {"lr", "seed", "batch-size", "steps", "epochs", "dtype", "lr-schedule",
                           "warmup", "all-reduce", "transport", "backend", "checkpoint"}) {
    CAPTURE(name);
    for (std::size_t six = 0; six < 6; ++six) {
      const bool refused = name == std::string("all-reduce") || runs()[six].way == "tensor";
      if (!refused) CHECK(table[name].contains(runs()[six].way));
    }
  }
}

TEST_CASE("one command: what is typed and what is so by default is the same") {
  for (const Run& run : runs()) {
    const Lines all = lines_of(run.words);
    for (const std::string& name : options().names()) {
      const std::string value = command_of(run.words).value(name);
      if (value.empty() || command_of(run.words).given(name)) continue;
      Lines typed;
      try {
        typed = lines_of(run.words + Words{"--" + name + "=" + value});
      } catch (const UsageError&) {
        continue;  // it means nothing in this run
      }
      CAPTURE(run.way, name, value);
      // Of a name of a file, the presence counts.
      if (command_of({}).shared(name) != Shared::presence) CHECK(typed == all);
    }
  }
  const auto same = [](const Words& one, const Words& other) {
    return told({lines_of(one), lines_of(other)}).back().empty();
  };
  CHECK(same({"--lr", "1e-3", "--momentum", "0.90"}, {"--lr=0.001"}));
  CHECK(same(gpt + Words{"--lr", "0.001", "--clip", "1", "--batch-size", "16"}, gpt));
  CHECK_FALSE(same({"--seed", "9007199254740993"}, {"--seed", "9007199254740992"}));
  CHECK_FALSE(same({"--steps", "3"}, {"--epochs", "3"}));
}

TEST_CASE("one command: ranks may differ in what each has for itself, and in names of files") {
  const Lines one = lines_of({"--checkpoint", "here", "--log", "a.jsonl", "--workers", "2"});
  const Lines other = lines_of({"--checkpoint", "there", "--data-folder", "elsewhere"});
  CHECK(told({one, other, one}) == std::vector<std::string>(3));
  CHECK_THAT(told({one, lines_of({})}).front(),
             contains("rank 0 has --checkpoint, rank 1 has no --checkpoint"));
}

TEST_CASE("one command: all that differs is told, of the lowest rank that does") {
  const auto sentences = told({{"--a 1", "--b 2", "no --c"},
                               {"--a 1", "--b 2", "no --c"},
                               {"--a 1", "--b 3", "--c"},
                               {"--a 4", "--b 2", "no --c"}});
  CHECK(sentences == std::vector<std::string>(
                         4,
                         "the ranks of a run need the same options: rank 0 has --b 2 and no --c, "
                         "rank 2 has --b 3 and --c; start every rank with the same command"));
  // A program that is older knows fewer.
  CHECK_THAT(told({{"--a 1", "--b 2"}, {"--a 1"}}).back(),
             contains("rank 0 has --b 2, rank 1 has none of these"));
}

TEST_CASE("one command: a rank that does not come is named") {
  const auto store = comm::make_memory_store();
  try {
    launch::check_same_command(*store, 1, 3, {}, 0.01);
    FAIL("nobody is missed");
  } catch (const comm::RanksMissing& error) {
    CHECK(error.ranks == std::vector<int>{0, 2});
  }
  const Lines lines{"--a 1"};
  launch::check_same_command(*store, 0, 1, lines);  // alone
}

TEST_CASE("one command: variables of another launcher are named when its other ranks do not come") {
  const std::map<std::string, std::string> left_over{{"RANK", "0"},
                                                     {"WORLD_SIZE", "3"},
                                                     {"LOCAL_RANK", "0"},
                                                     {"LOCAL_WORLD_SIZE", "3"},
                                                     {"MASTER_ADDR", "localhost"},
                                                     {"MASTER_PORT", "29511"}};
  CHECK_THROWS_WITH(launch::join_alike(lockstep::test::lookup_in(left_over), command_of({}),
                                       options().names(), 0.01),
                    contains("WORLD_SIZE=3") && contains("env -u RANK -u WORLD_SIZE"));
}
