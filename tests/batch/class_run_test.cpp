// A class with injected judges: who is judged again, who waits, and whom the lab failed.
#include "grader/batch/run/class_run.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/reports/grades.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

const std::string passed = R"({"verdict": "pass", "points": 10, "max_points": 10, "cause": "",
                               "report": {"message": ""}, "seconds": {}})";
const std::string killed = R"({"verdict": "crash", "points": 0, "max_points": 10, "cause": "killed",
  "report": {"message": "rank 1 crashed: SIGKILL: killed from outside"}, "seconds": {}})";
const std::string out_of_time =
    R"({"verdict": "time", "points": 0, "max_points": 10, "cause": "time",
        "report": {"message": "rank 0 ran for more than 3 s"}, "seconds": {}})";

// The content of a file is what its judge does.
struct SmallClass {
  SmallClass() {
    limits.submission_s = 200;
    surroundings.idle_clock = [this] { return idle_share * monotonic_s(); };
    surroundings.scratch = scratch.path();
    surroundings.judge = [this](const GradingUnit& unit, const std::filesystem::path&) {
      return judge(unit);
    };
  }

  // `student` hands in these, each for an exercise of its own, in the order of the course.
  void student(const std::string& name, const std::vector<std::string>& contents) {
    json answers = json::object();
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (exercises.size() <= i) {
        exercises.push_back(std::make_unique<Exercise>());
        exercises.back()->name = "part_" + std::to_string(i);
        exercises.back()->lesson = "01_x";
        exercises.back()->points = 10;
      }
      const std::string address = exercises[i]->address();
      answers[address] = {{"sha256", contents[i]}};
      const auto same = [&](const PlannedUnit& unit) {
        return unit.sha256 == contents[i] && unit.unit.exercise == exercises[i].get();
      };
      if (std::none_of(units.begin(), units.end(), same)) {
        units.push_back({{exercises[i].get(), contents[i], 1}, contents[i]});
      }
    }
    students.push_back({{"student", name},
                        {"cause", ""},
                        {"reason", ""},
                        {"on_roster", true},
                        {"answers", std::move(answers)}});
  }

  json plan() const {
    json course = json::array();
    for (const auto& exercise : exercises) {
      course.push_back({{"exercise", exercise->address()}, {"points", 10}});
    }
    return {{"record", "plan"}, {"exercises", course}, {"students", students}};
  }

  void run() {
    Budgets budgets(limits.student_s, plan(), {});
    run_class(
        units, limits, surroundings, budgets, [&](const json& record) { keep(record); },
        [](std::size_t, std::size_t, const json&) {});
  }
  virtual void keep(const json& record) { records.push_back(record); }
  virtual ~SmallClass() = default;

  const json& record(const std::string& content) const {
    for (const json& record : records) {
      if (record.at("sha256") == content) return record;
    }
    FAIL("no record of " + content);
    return records.front();
  }
  std::string csv() const {
    std::vector<json> journal{{{"record", "settings"},
                               {"seed_sha256", ""},
                               {"limits", {{"student_s", limits.student_s}}}},
                              plan()};
    journal.insert(journal.end(), records.begin(), records.end());
    return grades_csv(grades_of(journal));
  }

  // How often a content has been judged, this time included.
  int time_of(const std::string& content) const {
    const auto file = scratch.path() / content;
    std::ofstream(file, std::ios::app) << "x";
    return static_cast<int>(std::filesystem::file_size(file));
  }
  int times(const std::string& content) const {
    const auto file = scratch.path() / content;
    return std::filesystem::exists(file) ? static_cast<int>(std::filesystem::file_size(file)) : 0;
  }

  static void use_processor(double seconds) {
    const auto end = ::clock() + static_cast<clock_t>(seconds * CLOCKS_PER_SEC);
    for (volatile unsigned turns = 0; ::clock() < end;) turns = turns + 1;
  }

  std::string judge(const GradingUnit& unit) const {
    const std::string& does = unit.content;
    const int time = time_of(does);
    if (does == "throws") throw Error("\x1b[31m/tmp/lockstep-grade-aB3dE6/unit-3/player is gone");
    if (does == "aborts") ::raise(SIGKILL);
    if (does == "floods") return std::string(9 << 20, 'x');
    if (does == "nonsense") return "{\"verdict\": \"pass\"";
    if (does == "lacks_points") return R"({"verdict": "pass", "cause": "", "report": {}})";
    if (does == "text_as_points") {
      return R"({"verdict": "pass", "points": "10", "max_points": 10, "cause": "", "report": {},
                 "seconds": {}})";
    }
    if (does == "dies_twice" && time < 3) ::raise(SIGKILL);
    if (does == "slow_at_first" && time == 1) use_processor(100);
    if (does == "late_at_first" && time == 1) {
      use_processor(0.5);
      return out_of_time;
    }
    if (does == "sleeps") ::sleep(100);
    if (does == "is_killed_once" && time == 1) return killed;
    if (does == "kills_itself") return killed;
    if (does.starts_with("uses_a_second")) use_processor(1);
    return passed;
  }

  static double monotonic_s() {
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }

  double idle_share = 1;  // of one processor, while units are judged
  test::Scratch scratch;
  std::vector<std::unique_ptr<Exercise>> exercises;
  std::vector<PlannedUnit> units;
  json students = json::array();
  ClassLimits limits;
  ClassSurroundings surroundings;
  std::vector<json> records;
};

const std::string heading =
    "student,exercise,verdict,points,max_points,cause,reason,judged_points,note,comment\n";
const std::string beyond_budget =
    "time,0,10,student_budget,"
    "the files before it used up the student's processor time (--limits student),0,,";

}  // namespace

TEST_CASE("class: a unit that fails three times is infrastructure, and the others are judged") {
  SmallClass all;
  const std::vector<std::string> broken{"throws",   "aborts",       "floods",
                                        "nonsense", "lacks_points", "text_as_points"};
  for (const std::string& does : broken) all.student(does, {does});
  all.student("right", {"right"});
  all.student("dies_twice", {"dies_twice"});
  all.limits.jobs = GENERATE(1, 3);
  all.run();
  REQUIRE(all.records.size() == broken.size() + 2);
  for (const std::string& does : broken) {
    INFO(does);
    CHECK(all.times(does) == 3);
    const json& record = all.record(does);
    CHECK(record.at("verdict") == "infrastructure");
    CHECK(record.at("cause") == "lab_failed");
    CHECK(record.at("points") == 0);
    CHECK(record.at("charge_s") == 0);
    CHECK(record.at("report").at("message") != "");
  }
  CHECK(all.record("throws").at("report").at("message") == "?[31mplayer is gone");
  CHECK(all.record("right").at("verdict") == "pass");
  CHECK(all.record("dies_twice").at("verdict") == "pass");
  CHECK(all.record("dies_twice").at("attempts") == 3);
}

TEST_CASE("class: what runs out of time beside others is judged again alone") {
  SmallClass all;
  for (const char* does : {"slow_at_first", "late_at_first", "right"}) all.student(does, {does});
  all.idle_share = 0;
  all.limits.submission_s = 2;
  all.limits.jobs = 2;
  all.run();
  for (const char* does : {"slow_at_first", "late_at_first"}) {
    CHECK(all.record(does).at("verdict") == "pass");
    CHECK(all.times(does) == 2);
  }
  CHECK(all.times("right") == 1);
}

TEST_CASE("class: a file that sleeps until its time is over gets no second one") {
  SmallClass all;
  for (const char* does : {"sleeps", "right"}) all.student(does, {does});
  all.limits.submission_s = 2;
  all.limits.jobs = 2;
  all.run();
  CHECK(all.record("sleeps").at("verdict") == "time");
  CHECK(all.record("sleeps").at("cause") == "submission_time");
  CHECK(all.times("sleeps") == 1);
  CHECK(all.record("sleeps").at("charge_s").get<double>() > 0.2 * 1.9);
}

TEST_CASE("budget: a file is charged for sleeping, and never for a machine that is busy") {
  CHECK(charge_of({.wall_s = 4, .processor_s = 3, .idle_s = 5}) == 3);
  CHECK(charge_of({.wall_s = 60, .processor_s = 2, .idle_s = 90}) == 12);
  CHECK(charge_of({.wall_s = 60, .processor_s = 2, .idle_s = 5}) == 2);
  CHECK(charge_of({.wall_s = 300, .processor_s = 2, .idle_s = 0}) == 60);
  CHECK(slept({.wall_s = 60, .processor_s = 2, .idle_s = 90}));
  CHECK(slept({.wall_s = 300, .processor_s = 2, .idle_s = 0}));
  CHECK_FALSE(slept({.wall_s = 60, .processor_s = 2, .idle_s = 5}));
  CHECK_FALSE(slept({.wall_s = 4, .processor_s = 3, .idle_s = 5}));
}

TEST_CASE("class: a player that was killed from outside is played once more") {
  SmallClass all;
  for (const char* does : {"is_killed_once", "kills_itself"}) all.student(does, {does});
  all.limits.jobs = GENERATE(1, 2);
  all.run();
  CHECK(all.record("is_killed_once").at("verdict") == "pass");
  CHECK(all.record("kills_itself").at("verdict") == "crash");
  CHECK(all.times("kills_itself") == 2);
}

TEST_CASE("class: a journal that cannot be written ends the run, with what it holds") {
  struct FullDisk : SmallClass {
    void keep(const json& record) override {
      if (records.size() == 2) throw Error("the journal does not reach the disk");
      SmallClass::keep(record);
    }
  };
  FullDisk all;
  for (const char* does : {"a", "b", "c", "d"}) all.student(does, {does});
  CHECK_THROWS_WITH(all.run(), "the journal does not reach the disk");
  CHECK(all.records.size() == 2);
}

TEST_CASE("class: a unit waits for room, and where there is none the lab failed, not the student") {
  SmallClass all;
  for (const char* does : {"a", "b", "c"}) all.student(does, {does});
  int looked = 0, warned = 0;
  const int until = GENERATE(3, 1'000'000);
  all.limits.patience_s = until == 3 ? 60 : 1;
  all.surroundings.probe_space = [&] {
    FreeSpace left{1 << 30, 1000, 1 << 30, 1000, std::uintmax_t{1} << 32};
    const int turn = ++looked;
    if (turn >= 2 && turn < until) left.scratch_bytes = 5 << 20;  // from the second unit on
    return left;
  };
  all.surroundings.find_short = [](const FreeSpace& left) {
    return shortage(left, {}, "/tmp/lockstep-grade-x", "out");
  };
  all.surroundings.warn = [&](const std::string& sentence) {
    ++warned;
    CHECK_THAT(sentence,
               test::contains("/tmp has 5 MiB left, and a file needs 32 MiB: df -h /tmp"));
  };
  all.run();
  CHECK(warned == 1);
  CHECK(all.record("a").at("verdict") == "pass");
  for (const char* does : {"b", "c"}) {
    const json& record = all.record(does);
    CHECK(record.at("verdict") == (until == 3 ? "pass" : "infrastructure"));
    CHECK(record.at("cause") == (until == 3 ? "" : "no_room"));
    CHECK(all.times(does) == (until == 3 ? 1 : 0));
  }
}

TEST_CASE("class: files beyond a student's budget are not judged, in whatever order others are") {
  SmallClass all;
  std::vector<std::string> wasteful{"a", "b"};
  for (int i = 2; i < 6; ++i) wasteful.push_back("uses_a_second_" + std::to_string(i));
  all.student("ann", {"a", "b", "c", "d", "e", "f"});
  all.student("bob", wasteful);
  // The last file is a copy of one that is beyond bob's budget, and within this student's.
  all.student("cyd", {"a", "b", "c", "d", "e", wasteful[5]});
  all.limits.student_s = 0.9;
  all.idle_share = 0;
  all.limits.jobs = GENERATE(1, 3);
  all.run();
  std::string rows = heading;
  const auto row = [&](const std::string& student, int part, const std::string& rest) {
    rows += student + ",01_x/part_" + std::to_string(part) + "," + rest + "\n";
  };
  for (int i = 0; i < 6; ++i) row("ann", i, "pass,10,10,,,10,,");
  for (int i = 0; i < 6; ++i) row("bob", i, i < 3 ? "pass,10,10,,,10,," : beyond_budget);
  for (int i = 0; i < 6; ++i) row("cyd", i, "pass,10,10,,,10,,");
  CHECK(all.csv() == rows);
  CHECK(all.times(wasteful[5]) == 1);
  // Those that were at work when the budget was used up were judged, and it changed nothing.
  int judged = 0;
  for (int i = 2; i < 5; ++i) judged += all.times(wasteful[static_cast<std::size_t>(i)]);
  CHECK(judged <= all.limits.jobs);
}

TEST_CASE("class: what an earlier run charged to a student still counts when it is resumed") {
  SmallClass all;
  all.student("ann", {"a", "b"});
  all.limits.student_s = 1;
  const json before{
      {"record", "result"}, {"exercise", "01_x/part_0"}, {"sha256", "a"}, {"verdict", "pass"},
      {"points", 10},       {"max_points", 10},          {"cause", ""},   {"charge_s", 1.5}};
  Budgets budgets(all.limits.student_s, all.plan(), {before});
  const std::vector<PlannedUnit> left{all.units.back()};
  run_class(
      left, all.limits, all.surroundings, budgets, [&](const json& record) { all.keep(record); },
      [](std::size_t, std::size_t, const json&) {});
  CHECK(all.records.empty());
  all.records.push_back(before);
  CHECK(all.csv() == heading +
                         "ann,01_x/part_0,pass,10,10,,,10,,\n"
                         "ann,01_x/part_1," +
                         beyond_budget + "\n");
}
