// Parts that are wrong on purpose: each one's run shows what its manifest says it shows, beside a
// sound run that shows nothing of the kind.
#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "grader/course/compile/command.hpp"
#include "grader/course/proofs/broken.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/curve_chart.hpp"
#include "grader/further/training_log.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string root_of_lab = LOCKSTEP_ROOT;

std::string epoch_line(const std::string& hashes) {
  return R"({"event":"epoch","test_loss":0.5,"test_accuracy":0.9,"parameters_hash":[)" + hashes +
         "]}\n";
}

// A log of epochs with these losses.
std::string log_of(const std::vector<std::vector<double>>& epochs) {
  std::string log = "{\"event\":\"start\"}\n";
  for (const auto& losses : epochs) {
    for (const double loss : losses) {
      log += nlohmann::json{{"event", "step"}, {"loss", loss}}.dump() + "\n";
    }
    log += epoch_line(R"("a","a","b")");
  }
  return log;
}

TrainingRun run_with(const std::string& log, const CommandResult& result = {}) {
  const test::Scratch scratch;
  write_text(scratch.path() / "log", log);
  return training_run(scratch.path() / "log", result);
}

CommandResult broken_run(std::vector<std::string> words) {
  words.insert(words.begin(), {LOCKSTEP_TOOL, "--root", root_of_lab, "train", "--break"});
  words.emplace_back("--json");
  return run_command(words, root_of_lab, lockstep::test::patient);
}

nlohmann::json report_of(const CommandResult& result) {
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output.substr(result.output.find('{')));
}

std::string lesson_of(const Broken& broken) { return broken.part->address().substr(0, 2); }

const std::set<std::string> lessons_below{"04", "05", "07", "08", "10", "11",
                                          "12", "13", "14", "15", "17"};

// Makes the broken runs of a lesson's parts, of which there are so many.
void check_lesson(const std::string& lesson, std::ptrdiff_t runs) {
  REQUIRE(lessons_below.contains(lesson));
  const Course course = read_course(root_of_lab + "/exercises/course.toml");
  auto all = broken_parts(root_of_lab, course);
  CHECK(std::ranges::count(all, lesson, lesson_of) >= runs);
  if (LOCKSTEP_SANITIZED) return;  // the trainer is linked anew without its flags
  for (const Broken& broken : all) {
    if (lesson_of(broken) != lesson) continue;
    INFO(broken.name);
    const auto report = report_of(broken_run({broken.name}));
    CHECK(report.at("visible") == true);
    CHECK(report.at("sound").at("losses").size() > 50);
  }
}

const std::vector<double> noisy{2.0, 1.5, 1.9, 1.2, 1.7, 1.1, 1.6, 1.0, 1.5, 0.9, 1.3, 0.8};

}  // namespace

TEST_CASE("a broken run: each lesson whose parts can be broken has a test below") {
  const Course course = read_course(root_of_lab + "/exercises/course.toml");
  std::set<std::string> lessons;
  for (const Broken& broken : broken_parts(root_of_lab, course)) lessons.insert(lesson_of(broken));
  CHECK(lessons == lessons_below);
}

TEST_CASE("a broken run: each of lesson 04 shows what it is said to show") {
  check_lesson("04", 2);
}

TEST_CASE("a broken run: each of lesson 05 shows what it is said to show") {
  check_lesson("05", 4);
}

TEST_CASE("a broken run: each of lesson 07 shows what it is said to show") {
  check_lesson("07", 3);
}

TEST_CASE("a broken run: each of lesson 08 shows what it is said to show") {
  check_lesson("08", 1);
}

TEST_CASE("a broken run: each of lesson 10 shows what it is said to show") {
  check_lesson("10", 3);
}

TEST_CASE("a broken run: each of lesson 11 shows what it is said to show") {
  check_lesson("11", 2);
}

TEST_CASE("a broken run: each of lesson 12 shows what it is said to show") {
  check_lesson("12", 1);
}

TEST_CASE("a broken run: each of lesson 13 shows what it is said to show") {
  check_lesson("13", 3);
}

TEST_CASE("a broken run: each of lesson 14 shows what it is said to show") {
  check_lesson("14", 2);
}

TEST_CASE("a broken run: each of lesson 15 shows what it is said to show") {
  check_lesson("15", 1);
}

TEST_CASE("a broken run: each of lesson 17 shows what it is said to show") {
  check_lesson("17", 5);
}

TEST_CASE("a broken run: both runs resume where the run before them ended") {
  if (LOCKSTEP_SANITIZED) return;  // the trainer is linked anew without its flags
  const auto report = report_of(broken_run({"broadcast_without_state"}));
  const auto &sound = report.at("sound").at("losses"), &broken = report.at("broken").at("losses");
  CHECK(sound.size() == 65);
  CHECK(broken.size() == 65);
  CHECK(sound.at(0) == broken.at(0));
  CHECK(sound.at(2) != broken.at(2));
  const CommandResult refused = broken_run({"broadcast_without_state", "--checkpoint", "x"});
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.output, test::contains("has checkpoints of its own"));
}

TEST_CASE("a broken run: each program resumes from what its own first run has left") {
  if (LOCKSTEP_SANITIZED) return;  // the trainer is linked anew without its flags
  const auto report = report_of(broken_run({"no_place"}));
  // Both go on with step 16; one of them begins the epoch anew.
  const auto &sound = report.at("sound").at("losses"), &broken = report.at("broken").at("losses");
  CHECK(broken.size() == sound.size() + 15);
  CHECK(report.at("visible") == true);
  const auto half = report_of(broken_run({"index_first"}));
  CHECK_THAT(half.at("broken").at("words"), test::contains("model.safetensors is missing"));
  CHECK(half.at("broken").at("losses").empty());
  CHECK(half.at("visible") == true);
}

TEST_CASE("a broken run: a collective that one rank enters alone is named, and so are both ranks") {
  if (LOCKSTEP_SANITIZED) return;  // the trainer is linked anew without its flags
  const auto report = report_of(broken_run({"rank_0_only"}));
  CHECK_THAT(report.at("broken").at("words"),
             test::contains("rank 0") && test::contains("rank 1") && test::contains("barrier"));
  CHECK(report.at("broken").at("losses").size() == 20);
  CHECK(report.at("visible") == true);
}

TEST_CASE("a broken run: the program of one stays whole while another one links the same") {
  if (LOCKSTEP_SANITIZED) return;  // the trainer is linked anew without its flags
  const std::vector<std::string> mistake{"no_average", "--steps", "2"};
  report_of(broken_run(mistake));
  const auto build = std::filesystem::path(LOCKSTEP_TOOL).parent_path().parent_path();
  const std::string program = build / "students/train.no_average";
  auto another = std::async(std::launch::async, [&] { return broken_run(mistake); });
  while (another.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    REQUIRE_NOTHROW(run_command({program, "--help"}, root_of_lab, {}));
  }
  report_of(another.get());
}

TEST_CASE("a broken run: the sound run has the options that its manifest gives it alone") {
  const auto report = report_of(broken_run({"randomk_diverges", "--steps", "60"}));
  const auto has = [&](const char* run, const char* option) {
    return std::ranges::count(report.at(run).get<std::vector<std::string>>(), option);
  };
  CHECK(has("sound_run", "topk:0.01") == 1);
  CHECK(has("sound_run", "randomk:0.01") == 0);
  CHECK(has("run", "randomk:0.01") == 1);
  CHECK(report.at("sound").at("ended") == false);
  CHECK(report.at("broken").at("ended") == true);
}

TEST_CASE("a training log: a run without its last line ended early, and says why") {
  CHECK_FALSE(run_with(log_of({{1, 2}}) + "{\"event\":\"end\"}\n").ended);
  const TrainingRun cut = run_with(
      log_of({{1, 2}}) + "{\"event\":\"st",
      {.exit_code = 1, .output = "[rank 2] lab train: the loss became nan\n[rank 1] bye\n"});
  CHECK(cut.ended);
  CHECK(cut.words == "the loss became nan");
  CHECK(cut.losses == std::vector<double>{1, 2});
  CHECK(cut.replicas == 3);
  CHECK(cut.different == 2);
}

TEST_CASE("a training log: ranks that hold parts of one model do not hold different models") {
  const std::string log = log_of({{1, 2}});
  const TrainingRun parts = run_with(log + "{\"event\":\"end\",\"replicas_equal\":true}\n");
  CHECK(parts.parts);
  CHECK(parts.different == 1);
  const TrainingRun apart = run_with(log + "{\"event\":\"end\",\"replicas_equal\":false}\n");
  CHECK_FALSE(apart.parts);
  CHECK(apart.different == 2);
}

TEST_CASE("a training log: repetition tells the same batches from batches mixed anew") {
  std::vector<double> lower;
  for (const double loss : noisy) lower.push_back(loss * 0.3);
  std::vector<double> mixed(noisy.rbegin(), noisy.rend());
  CHECK(*repetition(run_with(log_of({noisy, lower}))) > 0.999);
  CHECK(*repetition(run_with(log_of({noisy, mixed}))) < 0.5);
  CHECK_FALSE(repetition(run_with(log_of({noisy}))).has_value());
  CHECK_FALSE(repetition(run_with(log_of({noisy, {1, 2, 3}}))).has_value());
}

TEST_CASE("a chart: two curves in as many lines and columns as asked, with both ends labelled") {
  CHECK(chart_of({'o', {3, 2, 1}}, {'x', {3, 3, 3}}, 40, 3) ==
        "      3 |#xx\n"
        "      2 | o\n"
        "      1 |  o\n"
        "        +---\n"
        "         1 3\n");
  const std::string wide =
      chart_of({'o', std::vector<double>(1000, 1.0)}, {'x', std::vector<double>(500, 2.0)}, 60, 4);
  CHECK(wide.find(std::string(51, 'o') + "\n") != std::string::npos);
  CHECK(wide.find(" " + std::string(26, 'x') + "\n") == std::string::npos);  // the bar is before it
  CHECK(wide.find("|" + std::string(26, 'x') + "\n") != std::string::npos);
}

TEST_CASE("a chart: what is not finite is left out, and a large range is drawn in powers") {
  CHECK(chart_of({'o', {NAN, INFINITY}}, {'x', {}}, 40, 3).empty());
  CHECK(chart_of({'o', {100, 10, 1}}, {'x', {NAN}}, 40, 3) ==
        "    100 |o\n"
        "     10 | o\n"
        "      1 |  o\n"
        "        +---\n"
        "         1 3\n");
}
