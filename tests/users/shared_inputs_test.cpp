// What several ranks read: the same bytes on each, or a sentence.
#include "tests/catch.hpp"
#include "tests/users/program.hpp"

using namespace lockstep::test;

namespace {

const std::string gpt =
    "$bin/train --model gpt --layers 1 --width 16 --heads 2 --sequence 16 --steps 2 --batch-size "
    "2 ";
const std::string make_text =
    "for i in $(seq 200); do echo the ring turns and turns $i; done > text.txt\n";

}  // namespace

TEST_CASE("shared inputs: a text that can be read once is refused for several ranks, at once") {
  const Place place;
  REQUIRE(place.shell(make_text + "mkfifo fifo; ln -s fifo link").exit_code == 0);
  const std::vector<std::string> sources{"--data text:fifo",
                                         "--data text:link",
                                         "--data text:/dev/stdin < <(cat text.txt)",
                                         "--data text:<(cat text.txt)",
                                         "--data text:/dev/zero",
                                         "--data text:/dev/stdin < text.txt"};
  for (const std::string how : {"--ranks 2 ", "--pp 2 --layers 2 --micro-batches 2 "}) {
    for (const std::string& source : sources) {
      const auto ran = place.shell(gpt + how + source);
      CAPTURE(how, source, ran.output);
      CHECK(ran.exit_code == 2);
      CHECK_THAT(ran.output, contains("can be read once, and 2 ranks read the text") &&
                                 contains("write it to a file first"));
    }
  }
  const auto launched = place.shell("$bin/lockstep-run --ranks 2 -- " + gpt + "--data text:fifo");
  CHECK(launched.exit_code != 0);
  CHECK_THAT(launched.output, contains("can be read once, and 2 ranks"));
}

TEST_CASE("shared inputs: one rank, and simulated ranks, read a pipe") {
  const Place place;
  REQUIRE(place.shell(make_text).exit_code == 0);
  for (const std::string how : {"", "--backend sim --ranks 2 "}) {
    const auto ran = place.shell(gpt + how + "--data text:<(cat text.txt)");
    CAPTURE(how, ran.output);
    CHECK(ran.exit_code == 0);
  }
}

TEST_CASE("shared inputs: ranks that read different files are told apart before the first step") {
  const Place place;
  REQUIRE(
      place.shell(make_text + "mkdir 0 1; cp text.txt 0/a.txt; cp text.txt 1/a.txt").exit_code ==
      0);
  const std::string in_own_folder =
      "$bin/lockstep-run --ranks 2 -- bash -c 'cd $RANK; exec " + gpt + "--data text:a.txt' ";
  const std::string start = "export bin\n" + in_own_folder;
  CHECK(place.shell(start).exit_code == 0);
  REQUIRE(place.shell("echo more >> 1/a.txt").exit_code == 0);
  const auto longer = place.shell(start);
  CAPTURE(longer.output);
  CHECK(longer.exit_code != 0);
  CHECK_THAT(longer.output, contains("--data text:a.txt is not the same file on all ranks: rank 0 "
                                     "reads ") &&
                                contains("bytes, rank 1 reads") && !contains("trained in"));
  REQUIRE(place.shell("tr e E < 0/a.txt > 1/a.txt").exit_code == 0);
  const auto changed = place.shell(start);
  CHECK(changed.exit_code != 0);
  CHECK_THAT(changed.output, contains("rank 1 reads other bytes, as many"));
}

TEST_CASE("shared inputs: weights that differ between ranks are told apart") {
  const Place place;
  const std::string train = "$bin/train --data synthetic --steps 2 ";
  REQUIRE(place
              .shell("mkdir 0 1; for r in 0 1; do " + train +
                     "--seed $r --export $r/w.safetensors || exit 1; done")
              .exit_code == 0);
  const auto ran =
      place.shell("export bin; $bin/lockstep-run --ranks 2 -- bash -c 'cd $RANK; exec " + train +
                  "--init w.safetensors'");
  CAPTURE(ran.output);
  CHECK(ran.exit_code != 0);
  CHECK_THAT(ran.output, contains("--init w.safetensors is not the same file on all ranks"));
}

TEST_CASE("shared inputs: a text that is too short is told by the size of its file") {
  const Place place;
  for (const int bytes : {1, 17, 100, 160}) {
    const auto ran = place.shell("head -c " + std::to_string(bytes) +
                                 " " LOCKSTEP_ROOT "/lessons/00_the_lab/README.md > short.txt\n" +
                                 gpt + "--data text:short.txt");
    CAPTURE(bytes, ran.output);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, contains("text:short.txt has " + std::to_string(bytes) +
                                    (bytes == 1 ? " byte, " : " bytes, ")) &&
                               contains("a tenth is for testing") && contains("about 170 tokens"));
  }
}

TEST_CASE(
    "shared inputs: ranks that were given other options all end with 2, before a group exists") {
  const Place place;
  struct Apart {
    std::string words, told;
  };
  const std::vector<Apart> all{
      {"--batch-size $((RANK + 2))", "rank 0 has --batch-size 2, rank 1 has --batch-size 3"},
      {"--lr 0.0$((RANK + 1)) --zero 1", "rank 0 has --lr 0.01, rank 1 has --lr 0.02"},
      {"$([ $RANK = 0 ] || echo --pp 2)", "rank 0 has no --pp, rank 1 has --pp 2"},
      {"$([ $RANK = 0 ] || echo --transport gloo)", "rank 1 has --transport gloo"},
      {"--ranks $((RANK + 2))", "rank 0 has --ranks 2, rank 1 has --ranks 3"},
      {"--data text:$RANK", "rank 0 has --data text:0, rank 1 has --data text:1"},
  };
  for (const Apart& apart : all) {
    // Also where rank 0 hosts the store, and nobody stops the others.
    for (const std::string store : {"", "unset LOCKSTEP_STORE; "}) {
      const auto ran =
          place.shell("export bin; $bin/lockstep-run --ranks 2 -- bash -c '" + store +
                      "$bin/train --data synthetic --steps 2 " + apart.words + "; echo code $?'");
      CAPTURE(apart.words, store, ran.output);
      CHECK_THAT(ran.output, contains(apart.told + "; start every rank with the same command") &&
                                 contains("[rank 0] code 2") && contains("[rank 1] code 2"));
    }
  }
  const std::string same =
      "export bin; $bin/lockstep-run --ranks 2 -- bash -c 'exec $bin/train --data synthetic "
      "--steps "
      "2 $([ $RANK = 0 ] || echo --lr 5e-2 --ranks 2 --workers 1 --log log)'";
  CHECK(place.shell(same).exit_code == 0);
}
