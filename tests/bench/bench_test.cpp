// ./lab bench train: what it refuses, and what it makes of the numbers of two sides. The peer here
// is a script that says what a PyTorch would.
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/apps/bench_report.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

struct Bench {
  // A "Python" that has a PyTorch and answers with these losses and rates.
  // `before` are lines of shell that come first in each measured process.
  void make_peer(const std::string& first_loss, const std::string& early_loss,
                 const std::string& before = "") const {
    write_text(
        python(),
        "#!/bin/sh\n"
        "case \"$*\" in *--fastest*) echo '{\"products\": \"quick\"}'; exit ;; esac\n"
        "case \"$*\" in *import*) echo '{}'; exit ;; esac\n"
        "[ \"${RANK:-0}\" = 0 ] || exit 0\n" +
            before +
            "echo 'a line before'\n"
            "echo '{\"program\": \"Peer 1\", \"how\": \"'\"$*\"'\", \"steps_per_s\": [1, 4, 2],"
            " \"steps_per_cpu_s\": [2], \"peak_rss_bytes\": 2097152, \"ready_at_s\": 0,"
            " \"first_loss\": " +
            first_loss + ", \"early_loss\": " + early_loss + ", \"last_loss\": 1}'\n");
    fs::permissions(python(), fs::perms::owner_all);
  }
  fs::path python() const { return scratch.path() / "python's own"; }
  CommandResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), LOCKSTEP_BENCH);
    return run_command(words, scratch.path(), lockstep::test::patient);
  }
  std::vector<std::string> brief() const {
    return {"train",
            "--model",
            "mlp",
            "--peer",
            "torch",
            "--steps",
            "1",
            "--json",
            "--torch-python",
            python().string(),
            "--torch-script",
            "peer.py",
            "--repeats",
            "2"};
  }
  test::Scratch scratch;
};

}  // namespace

TEST_CASE("lab bench: wrong usage is refused with what to type") {
  const Bench bench;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const auto result = bench.run(words);
    CAPTURE(words);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, test::contains(part));
  };
  refused({}, "./lab bench train");
  refused({"trian"}, "./lab bench train");
  refused({"train", "--peer", "tensorflow"}, "torch");
  refused({"train", "--model", "gtp"}, "gpt-small");
  refused({"train", "--repeats", "0"}, "repeats");
  refused({"train", "--steps", "x"}, "steps");
  refused({"train", "--ranks", "0"}, "'0' is not a group size; pass numbers from 1");
  refused({"train", "--ranks", "2,x"}, "'x' is not a group size");
  refused({"train", "--ranks", ""}, "pass numbers such as 1 or 2,4");
  refused({"train", "--rounds", "3"}, "rounds");
  refused({"train", "--way", "horovod"}, "pass --ranks 2 or more");
  refused({"train", "--way", "zero"}, "horovod");
  for (const std::string way : {"both", "horovod"}) {
    refused({"train", "--ranks", "2", "--way", way, "--peer", "torch"}, "leave out --way");
  }
  refused({"train", "--ranks", "2", "--way", "both", "--peer", "ddp"}, "leave out --way");
  refused({"train", "--ranks", "2", "--peer", "ddp"}, "--peer ddp is DDP itself");
  refused({"train", "--ranks", "2", "--way", "tp"}, "pass --model gpt-small or gpt");
  refused({"train", "--ranks", "2", "--way", "tp", "--model", "gpt", "--peer", "ddp"},
          "trains all ranks on one batch");
}

TEST_CASE("lab bench: a missing PyTorch is said, with the way to give one") {
  const auto result = Bench().run({"train", "--peer", "torch", "--torch-python", "/bin/false"});
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.output, test::contains("'/bin/false' has no PyTorch"));
  CHECK_THAT(result.output, test::contains("TORCH_PYTHON="));
}

TEST_CASE("lab bench save: the peer saves as much at the same rate, and its rows follow ours") {
  const test::Scratch scratch;
  const fs::path python = scratch.path() / "python";
  const auto peer = [&](const std::string& said) {
    write_text(python,
               "#!/bin/sh\ncase \"$*\" in *import*) echo '{}'; exit ;; esac\n"
               "[ \"${RANK:-0}\" = 0 ] || exit 0\necho \"$*\" >told\necho '" +
                   said + "'\n");
    fs::permissions(python, fs::perms::owner_all);
    const fs::path program = fs::path(LOCKSTEP_BENCH).parent_path() / "bench-save";
    return run_command(
        {program.string(), "--mb", "1", "--mb-s", "10", "--batch-size", "2", "--peer", "torch",
         "--torch-script", "peer.py", "--torch-python", python.string()},
        scratch.path(), lockstep::test::patient);
  };
  const auto result = peer(R"({"saves":[{"name":"Peer 1","steps_s":[0.25,0.75,0.5],"call_s":0.125,)"
                           R"("committed_s":3.5,"memory_bytes":2500000}]})");
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output.substr(result.output.find("sharded, beside")),
             Catch::Matches("(.|\n)*Peer 1 +3 +0.500 s +0.750 s +0.125 s +3.50 s +2.5 MB\n"));
  CHECK_THAT(read_text(scratch.path() / "told"),
             test::contains("peer.py --meet ") && test::contains(" --hidden 75 --batch 2 ") &&
                 test::contains(" --bytes-per-s 1e+07 --save-s 0.1"));
  const auto failed = peer(R"({"saves":[{"name":"Peer 1"}]})");
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.output, test::contains("the peer did not print the fields of a save") &&
                                test::contains("steps_s"));
}

TEST_CASE("lab bench: a round's ratio is ours over the peer's, of the variant that is fastest") {
  const Bench bench;
  const auto alone = bench.run({"train", "--model", "mlp", "--steps", "1", "--repeats", "1"});
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.output, test::contains("mlp        1      first loss"));
  CHECK_THAT(alone.output, !test::contains("hidden"));
  // The first loss of the model is fixed by the rule that draws weights and batch.
  bench.make_peer("2.310949", "2.229050");
  const auto result = bench.run(bench.brief());
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK(json.at("bench") == "train");
  CHECK(json.at("rounds") == 2);
  CHECK(json.at("machine").at("cores") >= 1);
  REQUIRE(json.at("rows").size() == 7);
  CHECK_FALSE(json.contains("partial"));
  CHECK_THAT(result.output, test::contains("[1/5] mlp: looking for PyTorch's fastest variant\n") &&
                                test::contains("[5/5] mlp, 1 rank: round 2 of 2, ours\n"));
  for (const auto& row : json.at("rows")) {
    CHECK_THAT(row.at("peer_is").get<std::string>(), test::contains("--products quick"));
    CHECK(row.at("ratio_min") <= row.at("ratio_median"));
    CHECK(row.at("ratio_median") <= row.at("ratio_max"));
  }
  const auto& speed = json.at("rows").at(0);
  CHECK(speed.at("case") == "mlp, speed");
  CHECK(speed.at("unit") == "steps/s");
  CHECK(speed.at("peer") == 2);  // the median of a process's repetitions
  CHECK(speed.at("ours") > 0);
  CHECK(json.at("rows").at(2).at("peer") == 2);  // MiB
}

TEST_CASE(
    "lab bench: ranks train data parallel, and the peer's ranks meet in a new file each time") {
  const Bench bench;
  bench.make_peer("2.310949", "2.261997");
  std::vector<std::string> words = bench.brief();
  words.insert(words.end(), {"--ranks", "2"});
  const auto result = bench.run(words);
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK(json.at("ranks") == nlohmann::json::array({2}));
  REQUIRE(json.at("rows").size() == 8);
  const auto& hidden = json.at("rows").at(4);
  CHECK(hidden.at("case") == "mlp, communication hidden");
  CHECK(hidden.at("ranks") == 2);
  CHECK(hidden.at("ours") >= 0);
  CHECK(hidden.at("ours") <= 100);
  CHECK(hidden.at("peer").is_null());
  CHECK_THAT(hidden.at("peer_is").get<std::string>(), test::contains("--meet"));
}

TEST_CASE("lab bench: Horovod is measured beside DDP, in turns, and both train the same") {
  const Bench bench;
  const auto result = bench.run({"train", "--model", "mlp", "--ranks", "2", "--way", "both",
                                 "--steps", "2", "--repeats", "2", "--json"});
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, test::contains("[3/4] mlp, 2 ranks: round 2 of 2, the peer\n"));
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK_THAT(json.at("ours_is").get<std::string>(), test::contains("by Horovod"));
  REQUIRE(json.at("rows").size() == 8);
  for (const auto& row : json.at("rows")) {
    CHECK_THAT(row.at("peer_is").get<std::string>(), test::contains("by DDP"));
    CHECK_FALSE(row.contains("disagreement"));
  }
  for (const std::size_t side : {std::size_t{0}, std::size_t{2}}) {  // speed and memory
    CHECK(json.at("rows").at(side).at("ratio_median") > 0);
  }
  const auto& hidden = json.at("rows").at(4);
  CHECK(hidden.at("case") == "mlp, communication hidden");
  CHECK(hidden.at("ours") >= 0);
  CHECK(hidden.at("ours") <= 100);
}

TEST_CASE("lab bench: FSDP is measured beside DDP, in turns, and both train the same") {
  const Bench bench;
  for (const std::string model : {"mlp", "gpt-small"}) {
    const auto result = bench.run({"train", "--model", model, "--ranks", "2", "--way", "fsdp",
                                   "--peer", "ddp", "--steps", "2", "--repeats", "1", "--json"});
    CAPTURE(result.output);
    CHECK(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
    CHECK_THAT(json.at("ours_is").get<std::string>(), test::contains("by FSDP"));
    for (const auto& row : json.at("rows")) {
      CHECK_THAT(row.at("peer_is").get<std::string>(), test::contains("by DDP"));
      CHECK_FALSE(row.contains("disagreement"));
    }
  }
}

TEST_CASE("lab bench: ranks that share layers train on one batch as one rank does") {
  const Bench bench;
  bench.make_peer("5.731840", "5.174808");  // one process's
  std::vector<std::string> words = bench.brief();
  words[2] = "gpt-small";
  words.insert(words.end(), {"--ranks", "2", "--way", "tp"});
  const auto result = bench.run(words);
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK_THAT(json.at("ours_is").get<std::string>(), test::contains("by tensor parallelism"));
  for (const auto& row : json.at("rows")) {
    CHECK_THAT(row.at("peer_is").get<std::string>(), test::contains("--way tp"));
    CHECK_FALSE(row.contains("disagreement"));
  }
}

TEST_CASE("lab bench: sides that trained differently are no comparison") {
  const Bench bench;
  bench.make_peer("2.3125", "2.1");
  const auto result = bench.run(bench.brief());
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, test::contains("trained differently"));
}

TEST_CASE(
    "lab bench: sides that part after the warm-up, when rounding has grown, did train the same") {
  const Bench bench;
  bench.make_peer("2.310949", "2.229050");  // and 1 after a repetition
  CHECK(bench.run(bench.brief()).exit_code == 0);
}

TEST_CASE("lab bench: a model whose losses differ is marked, and the other rows stand") {
  const Bench bench;
  bench.make_peer("2.310949", "2.229050");  // right for one rank, not for the mean of two
  std::vector<std::string> words = bench.brief();
  words.insert(words.end(), {"--ranks", "1,2"});
  auto result = bench.run(words);
  CAPTURE(result.output);
  CHECK(result.exit_code == 1);
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  for (const auto& row : json.at("rows")) {
    CHECK(row.contains("disagreement") == (row.at("ranks") == 2));
    CHECK(row.contains("ratio_median"));
  }
  std::erase(words, "--json");
  result = bench.run(words);
  CHECK_THAT(result.output, test::contains("≠ mlp, 2 ranks: the two sides trained differently") &&
                                !test::contains("≠ mlp, 1 rank"));
}

TEST_CASE("lab bench: a model that cannot be measured does not hide the others") {
  const Bench bench;
  bench.make_peer("2.310949", "2.229050", "[ -z \"$WORLD_SIZE\" ] || exit 7\n");
  std::vector<std::string> words = bench.brief();
  words.insert(words.end(), {"--ranks", "2,1"});
  const auto result = bench.run(words);
  CAPTURE(result.output);
  CHECK(result.exit_code == 1);
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK(json.at("ranks") == nlohmann::json::array({1}));
  REQUIRE(json.at("failed").size() == 1);
  CHECK_THAT(json.at("failed").at(0).get<std::string>(),
             test::contains("mlp, 2 ranks: a measured process failed (exited with code"));
}

TEST_CASE("lab bench: when it is ended, what was measured is printed, and nothing stays behind") {
  const std::string signal = GENERATE("INT", "TERM", "HUP");
  const Bench bench;
  const std::string folder = bench.scratch.path().string();
  // In the second round the peer says who it is and takes its time.
  bench.make_peer("2.310949", "2.229050",
                  "cd '" + folder +
                      "'\n[ ! -e once ] || { echo $$ > slow; exec sleep 60; }\n"
                      ": > once\n");
  std::string line = "mkdir temporary; TMPDIR=$PWD/temporary '" LOCKSTEP_BENCH "'";
  for (const std::string& word : bench.brief()) line += " \"" + word + "\"";
  line += " & while [ ! -s slow ]; do sleep 0.01; done; ls temporary > then; kill -" + signal +
          " $!; wait $!";
  const auto result = run_command({"sh", "-c", line}, folder, lockstep::test::patient);
  CAPTURE(result.output);
  CHECK(result.exit_code == 1);
  const auto json = nlohmann::json::parse(result.output.substr(result.output.find("{\n")));
  CHECK(json.at("partial") == "interrupted by SIG" + signal);
  CHECK(json.at("rounds") == 1);
  CHECK(json.at("rows").size() == 7);
  CHECK_FALSE(read_text(folder + "/then").empty());
  CHECK(fs::is_empty(folder + "/temporary"));
  const std::string slow = read_text(folder + "/slow");
  CHECK_FALSE(fs::exists("/proc/" + slow.substr(0, slow.find('\n'))));
}

TEST_CASE("lab bench: a side that fails is named with its command") {
  const Bench bench;
  write_text(bench.python(),
             "#!/bin/sh\ncase \"$*\" in *import*) echo '{}'; exit ;; esac\nexit 7\n");
  fs::permissions(bench.python(), fs::perms::owner_all);
  const auto result = bench.run(bench.brief());
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, test::contains("a measured process failed"));
  CHECK_THAT(result.output, test::contains("peer.py"));
}

TEST_CASE("lab bench: a side that lacks a field is named with its command and the field") {
  const Bench bench;
  write_text(
      bench.python(),
      "#!/bin/sh\ncase \"$*\" in *--fastest*) echo '{\"products\": \"quick\"}'; exit ;; esac\n"
      "echo '{\"program\": \"Peer 1\"}'\n");
  fs::permissions(bench.python(), fs::perms::owner_all);
  auto result = bench.run(bench.brief());
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, test::contains("peer.py") && test::contains("'how' not found"));
  write_text(bench.python(), "#!/bin/sh\necho '{}'\n");
  result = bench.run(bench.brief());
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, test::contains("no \"products\" but {}"));
}

TEST_CASE("lab bench: the processor's name is found, or left empty where none is given") {
  const auto name = [](const std::string& about) {
    std::istringstream in(about);
    return bench::processor_in(in);
  };
  CHECK(name("vendor\t: x\nmodel name\t: Chip 9000\nmodel name\t: other\n") == "Chip 9000");
  CHECK(name("model name\t:").empty());
  CHECK(name("model name\t: \n").empty());
  CHECK(name("model name\n").empty());
  CHECK(name("").empty());
}
