// What a launcher's restart finds, as people start a run that shall survive one: with one command.
#include "tests/catch.hpp"
#include "tests/users/program.hpp"

using namespace lockstep::test;

namespace {

const std::string train_line =
    "$bin/train --data synthetic --batch-size 8 --optimizer adamw --lr-schedule constant ";

// Two ranks that are restarted twice at most. In the first attempt they take four steps, and rank 1
// fails when they have ended, after `between`; the others take as many as `steps` says.
std::string restarted(const std::string& between, const std::string& options,
                      const std::string& steps = "9") {
  return "export bin; $bin/lockstep-run --ranks 2 --max-restarts 2 --prefix none -- bash -c '"
         "steps=" +
         steps + "; [ $TORCHELASTIC_RESTART_COUNT != 0 ] || steps=4\n" + train_line +
         "--steps $steps --save-every 1 --checkpoint run " + options + " || exit $?\n" +
         "[ $RANK$TORCHELASTIC_RESTART_COUNT != 10 ] || { " + between + " exit 7; }'";
}

int times(const std::string& text, const std::string& words) {
  int found = 0;
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("restarts: a run goes on from what it saved, to the weights of one that never failed") {
  const Place place;
  REQUIRE(place.shell(train_line + "--ranks 2 --steps 9 --export whole.safetensors").exit_code ==
          0);
  struct Between {
    std::string name, lines, begins;
  };
  const std::vector<Between> all{
      {"nothing", "", "continues at step 4:"},
      {"an interrupted save", "rm run/step_000004/index.json;", "continues at step 3:"},
      {"no commit", "rm -r run;", "no checkpoint in run yet: begins at the first step"},
      {"a changed byte",
       "printf \"\\377\" | dd of=run/step_000004/model.safetensors bs=1 seek=99999 conv=notrunc "
       "status=none;",
       "run/step_000004 is damaged (run/step_000004/model.safetensors: bytes "},
      {"a file that is cut off", "truncate -s 900 run/step_000004/optimizer.safetensors;",
       "run/step_000004 is damaged (run/step_000004/optimizer.safetensors has 900 bytes"}};
  for (const Between& one : all) {
    for (const std::string options : {"", "--resume auto --save sharded"}) {
      if (!options.empty() && one.lines.find("safetensors") != std::string::npos) continue;
      const auto ran = place.shell("rm -rf run w.safetensors\n" +
                                   restarted(one.lines, options + " --export w.safetensors"));
      CAPTURE(one.name, options, ran.output);
      REQUIRE(ran.exit_code == 0);
      CHECK_THAT(ran.output, contains(one.begins) && contains("attempt 0 of 2: rank 1 of 2") &&
                                 !contains("attempt 1 of 2"));
      CHECK((place.file("w.safetensors") == place.file("whole.safetensors")));
    }
  }
}

TEST_CASE("restarts: a run that had taken all its steps ends well, and exports") {
  const Place place;
  for (const std::string options : {"", "--export w.safetensors"}) {
    const auto ran = place.shell("rm -rf run w.safetensors\n" + restarted("", options, "4"));
    CAPTURE(options, ran.output);
    CHECK(ran.exit_code == 0);
    CHECK_THAT(ran.output, contains("had taken its 4 steps before; nothing is trained"));
    CHECK((place.has("w.safetensors") != options.empty()));
  }
  const auto again = place.shell(
      train_line + "--ranks 2 --steps 4 --checkpoint run --resume auto --export v; cmp v w.*");
  CAPTURE(again.output);
  CHECK(again.exit_code == 0);
}

TEST_CASE("restarts: a run that begins with the weights of a file goes on from its own") {
  const Place place;
  const std::string init = " --init first.safetensors --export w.safetensors";
  REQUIRE(place
              .shell(train_line + "--steps 2 --seed 3 --export first.safetensors\n" + train_line +
                     "--ranks 2 --steps 9 --init first.safetensors --export whole.safetensors")
              .exit_code == 0);
  for (const std::string resume : {"", "--resume auto"}) {
    const auto ran = place.shell("rm -rf run\n" + restarted("", resume + init));
    CAPTURE(resume, ran.output);
    CHECK(ran.exit_code == 0);
    CHECK_THAT(ran.output, contains("continues at step 4:"));
    CHECK((place.file("w.safetensors") == place.file("whole.safetensors")));
  }
  const auto fewer =
      place.shell(train_line + "--ranks 2 --steps 5 --resume auto --checkpoint run --export w");
  CHECK(fewer.exit_code == 0);
  CHECK_THAT(fewer.output, contains("taken 9 steps before, more than the 5 of now; nothing is"));
}

TEST_CASE("restarts: what is refused is refused once, with code 2") {
  const Place place;
  REQUIRE(place.shell(train_line + "--steps 2 --checkpoint run; cp -r run kept").exit_code == 0);
  struct Refusal {
    std::string lines, sentence;
  };
  const std::vector<Refusal> all{
      {restarted("", ""), "step_000002 belongs to an earlier run; pass --resume"},
      {"rm -r run\n" + restarted("", "--resume"), "there is no checkpoint in"},
      {"rm -rf run\n" + restarted("", "--seed $TORCHELASTIC_RESTART_COUNT"),
       "has --seed 0, but this one has 1"},
      {"rm -rf run\n" +
           restarted("",
                     "--optimizer $([ $TORCHELASTIC_RESTART_COUNT = 0 ] && echo sgd || echo adam)"),
       "is the state of \"sgd\", but this run has \"adam\""},
      {"rm -rf run\n" + restarted("rm -rf run; cp -r kept run;", ""),
       "step_000002 is not known to be of this run"}};
  for (const Refusal& one : all) {
    const auto ran = place.shell(one.lines);
    CAPTURE(one.sentence, ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, contains(one.sentence) && contains("nothing is started again"));
    CHECK(times(ran.output, "lab train: ") <= 2);  // once for each rank
  }
}

TEST_CASE("restarts: ranks with folders of their own are told so before the first step") {
  const Place place;
  const std::string each =
      "export bin; mkdir -p 0 1; $bin/lockstep-run --ranks 2 $LAUNCHED -- bash -c 'cd "
      "$RANK; exec " +
      train_line + "--checkpoint run ";
  const auto refused = [&](const std::string& options, const std::string& sentence) {
    const auto ran = place.shell(each + options + "'");
    CAPTURE(options, ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, contains(sentence) && contains("do the ranks share that folder?") &&
                               contains("exited with code 2") && !contains("leave out --resume"));
  };
  refused("--steps 2 --save sharded", "rank 0 has made run/.job, and rank 1 does not see it");
  const auto restartable =
      place.shell("export LAUNCHED='--max-restarts 2'\n" + each + "--steps 2'");
  CAPTURE(restartable.output);
  CHECK(restartable.exit_code == 1);
  CHECK_THAT(restartable.output, contains("and rank 1 does not see it: do the ranks share"));
  CHECK(place.shell(each + "--steps 2'").exit_code == 0);
  for (const std::string resume : {"--resume", "--resume auto"}) {
    refused("--steps 4 " + resume, "rank 0 sees checkpoint run/step_000002, rank 1 sees none");
  }
  REQUIRE(place.shell("mv 0/run 1/run").exit_code == 0);
  for (const std::string resume : {"", "--resume auto"}) {
    refused("--steps 4 " + resume, "rank 0 sees no checkpoint, rank 1 sees checkpoint run/step_");
  }
}

TEST_CASE("restarts: a checkpoint that is damaged inside is told with what to type") {
  const Place place;
  const auto ran = place.shell(
      train_line +
      "--steps 8 --save-every 1 --checkpoint run > out\n"
      "printf '\\377' | dd of=run/step_000008/model.safetensors bs=1 seek=99999 conv=notrunc "
      "status=none\n" +
      train_line + "--steps 9 --resume --checkpoint run; echo code $?\n" + train_line +
      "--steps 9 --resume auto --checkpoint run; echo code $?; ls run");
  CAPTURE(ran.output);
  CHECK_THAT(ran.output, contains("run/step_000007 is whole: to continue from it, type --resume "
                                  "auto in place of --resume\ncode 1") &&
                             contains("continues at step 7:") &&
                             contains("code 0\nstep_000007\nstep_000008\nstep_000009"));
}

TEST_CASE("restarts: sentences name what is typed, a folder in quotes, and --experts") {
  const Place place;
  const auto ran = place.shell(
      "seq 400 > text.txt; gpt() { $bin/train --model gpt --data text:text.txt --layers 1 --width "
      "16 "
      "--heads 2 --sequence 8 --batch-size 4 --checkpoint 'my run' \"$@\"; echo code $?; }\n"
      "gpt --steps 1; gpt --steps 2 --resume --experts 2; gpt --steps 2 --resume atuo");
  CAPTURE(ran.output);
  CHECK_THAT(ran.output, contains("./lab generate --checkpoint 'my run' --prompt") &&
                             contains("has no experts, but this one has --experts 2; pass the "
                                      "values of the first run\ncode 2") &&
                             contains("--resume atuo is not known; did you mean auto?"));
}
