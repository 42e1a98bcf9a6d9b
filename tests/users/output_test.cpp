// Success is said only when the output has arrived, and what is to be written is tried before the
// work.
#include "tests/catch.hpp"
#include "tests/users/program.hpp"

using namespace lockstep::test;

namespace {

const std::string train_a_little = "$bin/train --data synthetic --steps 2 ";

// Command lines that print something and succeed.
const std::vector<std::string>& talkative() {
  static const std::vector<std::string> all{
      train_a_little,
      train_a_little + "--ranks 2",
      train_a_little + "--backend sim --ranks 2",
      "$bin/train --help",
      "$bin/train-async --help",
      "$bin/train-pipeline --data synthetic --steps 2 --pp 2 --micro-batches 2",
      "$bin/generate --help",
      "$bin/sim --ranks 8 --json ring_all_reduce",
      "$bin/sim --ranks 8 ring_all_reduce",
      "$bin/sim --help",
      "$bin/lockstep-run --help",
      "$bin/lockstep-run --ranks 2 -- echo hi",
      "$bin/lockstep-run --ranks 2 -- $bin/smoke",
      "$bin/smoke --help",
      "$bin/lab-tool list",
      "$bin/lab-tool list --json",
      "$bin/lab-tool show exchange",
      "$bin/lab-tool overview",
      "$bin/lab-tool check --help",
      "$bin/lab-further myth",
      "$bin/lab-further trace --help",
      "$bin/lab-dev dev course",
      "$bin/bench-native --help",
      "$bin/what-moves values",
      "$bin/myth-largest_replica",
  };
  return all;
}

void check_lost_output(const std::vector<std::string>& commands) {
  const Place place;
  for (const std::string& command : commands) {
    const auto good = place.shell(command + " > good.txt");
    CAPTURE(command, good.output);
    REQUIRE(place.has("good.txt"));
    CHECK(good.exit_code == 0);
    const auto full = place.shell(command + " > /dev/full");
    CAPTURE(full.output);
    CHECK(full.exit_code != 0);
    CHECK_THAT(full.output, contains("standard output did not take all that was printed"));
  }
}

}  // namespace

TEST_CASE("output: a program whose output is lost says so in one sentence and fails") {
  check_lost_output(talkative());
}

TEST_CASE("output: so does the program that grades") {
  check_lost_output({"$bin/lab-grade grade --help", "$bin/lab-grade pack --help"});
}

TEST_CASE("output: it is looked at when a program fails, too, and told once") {
  const Place place;
  const auto ran = place.shell("$bin/sim --ranks 8 ring_all_reduce > /dev/full");
  CHECK(ran.exit_code == 3);
  const std::string sentence = "lab sim: standard output did not take";
  CHECK_THAT(ran.output, contains(sentence));
  CHECK(ran.output.find(sentence) == ran.output.rfind(sentence));
}

TEST_CASE("output: a sentence is one write, so that those of several processes stay whole") {
  const Place place;
  // Each write to a packet socket or a pipe in packet mode is read as one; strace is not
  // everywhere.
  const auto ran = place.shell(
      "python3 - <<'EOT'\n"
      "import os, subprocess\n"
      "r, w = os.pipe2(os.O_DIRECT)\n"
      "subprocess.run(['" LOCKSTEP_BIN
      "/train', '--data', 'nothing'], stderr=w)\n"
      "os.close(w)\n"
      "print(len([1 for _ in iter(lambda: os.read(r, 65536), b'')]), 'write')\n"
      "EOT");
  CHECK(ran.output == "1 write\n");
}

TEST_CASE("output: what a run will write is tried before its first step") {
  const Place place;
  fs::create_directories(place.path() / "folder.safetensors");
  fs::create_directories(place.path() / "folder.html");
  write_text(place.path() / "file", "kept");
  struct Wrong {
    std::string words, said;
  };
  const std::vector<Wrong> all{
      {"--export folder.safetensors", "--export: folder.safetensors is a folder"},
      {"--export missing/x.safetensors", "--export: the folder missing does not exist"},
      {"--export file/x.safetensors", "--export: file is no folder"},
      {"--export /dev/null", "--export: /dev/null is no regular file"},
      {"--export ''", "--export is empty"},
      {"--export folder.safetensors/", "is a folder"},
      {"--export /proc/x.safetensors", "--export: /proc is a folder in which no file can be made"},
      {"--trace missing/run.html", "--trace: the folder missing does not exist"},
      {"--trace folder.html", "--trace: folder.html is a folder"},
      {"--log missing/run.jsonl", "--log: the folder missing does not exist"},
      {"--log folder.html", "--log: folder.html is a folder"},
      {"--checkpoint file", "--checkpoint: "},
      {"--checkpoint file/deeper", "file is no folder"},
      {"--checkpoint /proc/run", "/proc is a folder in which no file can be made"},
  };
  for (const std::string ranks : {"1", "2"}) {
    for (const Wrong& wrong : all) {
      const auto ran =
          place.shell("$bin/train --data synthetic --steps 5 --ranks " + ranks + " " + wrong.words);
      CAPTURE(ranks, wrong.words, ran.output);
      CHECK(ran.exit_code == 2);
      CHECK_THAT(ran.output,
                 contains(wrong.said) && !contains("trained in") && !contains("rank 1"));
    }
  }
  CHECK(place.file("file") == "kept");
  CHECK(place.shell("$bin/train --data synthetic --steps 2 --log /dev/stdout").exit_code == 0);
  const auto gone = place.shell("mkdir gone; cd gone; rmdir ../gone; " + train_a_little +
                                "--export x.safetensors");
  CHECK_THAT(gone.output, contains("the current folder, which is gone") && !contains("trained in"));
}

TEST_CASE("output: a disk that fills up during the run is named with the file") {
  const Place place;
  const std::string full = "ulimit -f 8; trap '' XFSZ; ";
  struct Filled {
    std::string words, said;
  };
  const std::vector<Filled> all{
      {"--trace run.html --ranks 2 --transport gloo", "run.html.rank"},
      {"--export w.safetensors", "w.safetensors"},
      {"--checkpoint run", "model.safetensors"},
      {"--log run.jsonl", "the log run.jsonl cannot be written"},
  };
  for (const Filled& filled : all) {
    const auto ran = place.shell(full + "$bin/train --data synthetic --steps 200 " + filled.words);
    CAPTURE(filled.words, ran.output);
    CHECK(ran.exit_code != 0);
    CHECK_THAT(ran.output, contains(filled.said) && !contains("exception"));
  }
}

TEST_CASE("output: logs that are not whole are no success") {
  const Place place;
  const auto ran = place.shell(
      "ulimit -f 8; trap '' XFSZ; $bin/lockstep-run --ranks 2 --log-dir logs -- seq 20000 > "
      "/dev/null");
  CAPTURE(ran.output);
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, contains("the logs are not whole"));
}
