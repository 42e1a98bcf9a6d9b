#include "grader/batch/policy/late.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/policy/date_time.hpp"
#include "grader/batch/policy/hand_in_times.hpp"
#include "grader/batch/policy/overrides.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

namespace {

const Course& whole_course() {
  static const Course course = read_course(LOCKSTEP_ROOT "/exercises/course.toml");
  return course;
}

LatePolicy policy_of(const std::string& toml) {
  const test::Scratch scratch;
  const auto file = scratch.path() / "late.toml";
  write_text(file, toml);
  return read_late(file, whole_course());
}

std::int64_t time_at(const std::string& written) { return date_time_in(written).value().seconds; }

const std::string late_part = "06_all_reduce/ring_all_reduce";
const std::string late_begin = "deadline = 2026-11-20T23:59:00+01:00\nloss_per_day = 10\n";

}  // namespace

TEST_CASE("date_time: the forms that platforms write are read, with their zone or another's") {
  const std::int64_t evening = 1795215540;  // date -ud '2026-11-20 22:59' +%s is 1795215540
  for (const char* written :
       {"2026-11-20T23:59:00+01:00", "2026-11-20 23:59 +0100", "2026-11-20 22:59:00.861687000 Z",
        "2026-11-20T22:59Z", "2026-11-20 22:59:00 UTC", "2026-11-20 14:59:00 -0800",
        "Friday, 20 November 2026, 10:59 PM", "20 Nov 2026, 22:59"}) {
    INFO(written);
    REQUIRE(date_time_in(written));
    CHECK(date_time_in(written)->seconds == evening);
  }
  CHECK(date_time_in("2026-11-20 23:59", 60)->seconds == evening);
  CHECK_FALSE(date_time_in("2026-11-20 23:59")->zone_minutes);
  CHECK(date_time_in("Friday, 20 November 2026, 12:05 AM")->seconds ==
        time_at("2026-11-20T00:05Z"));
  CHECK(date_time_in("20 November 2026, 12:05 pm")->seconds == time_at("2026-11-20T12:05Z"));
  CHECK(written_date_time(evening, 60) == "2026-11-20 23:59:00 +01:00");
  CHECK(written_date_time(evening, -210) == "2026-11-20 19:29:00 -03:30");
  CHECK(date_time_in("2024-02-29T00:00Z"));
  for (const char* none :
       {"", "soon", "2026-11-20", "11/20/2026 23:59", "2026-02-29T00:00Z", "2026-11-20T24:00Z",
        "2026-11-20T23:60Z", "2026-11-20T23:59+99:00", "2026-11-20T23:59 later",
        "20 Foo 2026, 1:00", "20 November 2026, 13:05 PM"}) {
    INFO(none);
    CHECK_FALSE(date_time_in(none));
  }
}

TEST_CASE("late: each day begun costs its share, up to the cap, until nothing counts") {
  const LatePolicy policy = policy_of(late_begin + "cap = 25\ndays_max = 7\ngrace_minutes = 10\n");
  const auto late = [&](const char* time) {
    return lateness(policy, "amy", late_part, time_at(time));
  };
  CHECK(late("2026-11-20T22:59:00Z").days == 0);
  CHECK(late("2026-11-20T23:09:00Z").days == 0);  // the grace
  CHECK(late("2026-11-20T23:09:01Z").days == 1);
  CHECK(late("2026-11-20T23:09:01Z").loss == 10);
  CHECK(late("2026-11-21T22:59:00Z").days == 1);
  CHECK(late("2026-11-21T22:59:01Z").loss == 20);
  CHECK(late("2026-11-27T22:59:00Z").days == 7);
  CHECK(late("2026-11-27T22:59:00Z").loss == 25);
  CHECK(late("2026-11-27T22:59:01Z").loss == 100);
  CHECK(late("2999-01-01T00:00:00Z").loss == 100);
  CHECK(lateness(policy_of(late_begin), "amy", late_part, time_at("2999-01-01T00:00:00Z")).loss ==
        100);
}

TEST_CASE("late: deadlines of lessons and exercises, extensions of students, the closest counts") {
  const LatePolicy policy =
      policy_of(late_begin +
                "[deadlines]\n05 = 2026-12-01T00:00:00Z\nring_all_reduce = 2026-12-10T00:00:00Z\n"
                "[extensions]\namy = 3\n\"bob/06\" = 2026-12-20T00:00:00Z\n"
                "\"bob/tree_all_reduce\" = 1\ncid = 2020-01-01T00:00:00Z\n");
  const std::string tree_file = "06_all_reduce/tree_all_reduce";
  CHECK(due(policy, "zed", late_part) == time_at("2026-12-10T00:00Z"));
  CHECK(due(policy, "zed", "05_data_parallel/average_gradients") == time_at("2026-12-01T00:00Z"));
  CHECK(due(policy, "zed", tree_file) == time_at("2026-11-20T22:59Z"));
  CHECK(due(policy, "amy", late_part) == time_at("2026-12-13T00:00Z"));
  CHECK(due(policy, "bob", late_part) == time_at("2026-12-20T00:00Z"));
  CHECK(due(policy, "bob", tree_file) == time_at("2026-11-21T22:59Z"));
  CHECK(due(policy, "cid", tree_file) ==
        time_at("2026-11-20T22:59Z"));  // never earlier than the deadline
  const LatePolicy again = late_from(json_of(policy));
  CHECK(json_of(again) == json_of(policy));
  CHECK(due(again, "bob", tree_file) == due(policy, "bob", tree_file));
}

TEST_CASE("late, overrides: the files that docs/grading.md shows are read") {
  const std::string page = read_text(LOCKSTEP_ROOT "/docs/grading.md");
  const auto block = [&](const std::string& begins) {
    const std::size_t start = page.find(begins);
    REQUIRE(start != std::string::npos);
    const std::size_t inside = start + begins.size();
    return page.substr(inside, page.find("```", inside) - inside);
  };
  const LatePolicy policy = policy_of(block("```toml\n"));
  CHECK(policy.loss_per_day == 10);
  CHECK(policy.extensions.size() == 2);
  CHECK(read_overrides(block("```csv\n"), "overrides.csv", whole_course()).all.size() == 3);
}

TEST_CASE("late: what is wrong in the file is said with line, key and what is expected") {
  const auto says = [](const std::string& toml, const std::string& piece) {
    INFO(toml);
    CHECK_THROWS_WITH(policy_of(toml), test::contains(piece));
  };
  says("loss_per_day = 10\n", "there is no deadline");
  says("deadline = 2026-11-20T23:59:00\nloss_per_day = 10\n", "late.toml:1: deadline: expected a");
  says("deadline = 2026-11-20\nloss_per_day = 10\n", "late.toml:1: deadline: expected a time such");
  says(late_begin + "cap = 120\n", "late.toml:3: cap: expected a whole number from 0 to 100");
  says(late_begin + "loss_per_week = 1\n", "did you mean loss_per_day?");
  says(late_begin + "extensions = 3\n", "late.toml:3: extensions: expected a table, [extensions]");
  says(late_begin + "[deadlines]\nring_al_reduce = 2026-12-10T00:00:00Z\n", "ring_all_reduce");
  says(late_begin + "[extensions]\namy = \"next week\"\n", "late.toml:4: amy: expected a time");
  for (const char* year : {"0000", "0206", "1926", "2926"}) {
    says("deadline = " + std::string(year) + "-11-20T23:59:00+01:00\nloss_per_day = 10\n",
         "late.toml:1: deadline: expected a year from 2000 to 2099");
  }
  says(late_begin + "[extensions]\namy = 0000-01-01T00:00:00Z\n",
       "late.toml:4: amy: expected a year from 2000 to 2099");
  says(late_begin + "cap =\n", "late.toml:3: not valid TOML");
}

namespace {

TakenIn one_file(const std::string& content, std::int64_t modified) {
  Submission submission;
  submission.student = "amy";
  submission.about = {"Friday, 20 November 2026, 11:59 PM"};
  Answer answer{Answer::State::handed_in, content, "", ""};
  answer.modified = modified;
  submission.answers[late_part] = answer;
  return {{submission}, {}, {}, {}, {}};
}

}  // namespace

TEST_CASE("hand-in times: a file's own time is the first that was seen of this content") {
  const LatePolicy policy = policy_of(late_begin);
  const auto time_in = [](const json& record) {
    return record.at("times").at("amy").at(late_part).at(0).get<std::int64_t>();
  };
  const json first = hand_in_times("mtime", one_file("x", 1000), {}, policy, nullptr);
  CHECK(time_in(first) == 1000);
  const json copied = hand_in_times("mtime", one_file("x", 2000), {}, policy, &first);
  CHECK(copied == first);
  const json changed = hand_in_times("mtime", one_file("y", 2000), {}, policy, &copied);
  CHECK(time_in(changed) == 2000);
}

TEST_CASE("hand-in times: a later hand-in of the same file is no later, of another content it is") {
  const LatePolicy policy = policy_of(late_begin);
  Roster roster;
  roster.columns = {"submitted at", "Submission Time"};
  const auto record = [&](const std::string& content, const char* time, const json* before,
                          std::size_t column = 0) {
    TakenIn taken = one_file(content, 0);
    taken.submissions[0].about = {time, time};
    return hand_in_times(roster.columns[column], taken, roster, policy, before);
  };
  const auto time_in = [](const json& times) {
    return times.at("times").at("amy").at(late_part).at(0).get<std::int64_t>();
  };
  const json first = record("x", "2026-11-20 12:00", nullptr);
  CHECK(record("x", "2026-12-04 12:00", &first) == first);
  CHECK(record("x", "-", &first) == first);
  CHECK(time_in(record("y", "2026-12-04 12:00", &first)) == time_at("2026-12-04T12:00+01:00"));
  CHECK(time_in(record("x", "2026-11-19 12:00", &first)) == time_at("2026-11-19T12:00+01:00"));
  CHECK(time_in(record("x", "2026-12-04 12:00", &first, 1)) == time_at("2026-12-04T12:00+01:00"));
}

TEST_CASE("hand-in times: of the platform's column, in the deadline's zone where none is named") {
  const LatePolicy policy = policy_of(late_begin);
  Roster roster;
  roster.columns = {"Last modified (submission)"};
  CHECK(time_source("", "", roster) == "Last modified (submission)");
  CHECK(time_source("", "gradescope", {}) == "gradescope");
  CHECK_THROWS_WITH(time_source("", "", {}), test::contains("--late-from mtime"));
  CHECK_THROWS_WITH(time_source("last modified submission", "", roster),
                    test::contains("did you mean Last modified (submission)?"));
  const TakenIn taken = one_file("x", 0);
  const json times = hand_in_times(roster.columns[0], taken, roster, policy, nullptr);
  CHECK(times.at("times").at("amy").at(late_part).at(0) == time_at("2026-11-20T23:59:00+01:00"));
  CHECK(without_a_time(times, taken).empty());
  TakenIn wrong = taken;
  wrong.submissions[0].about = {"20.11.26"};
  roster.lines["amy"] = 7;
  TakenIn early = taken;
  early.submissions[0].about = {"0000-01-01 00:00"};
  CHECK_THROWS_WITH(hand_in_times(roster.columns[0], early, roster, policy, nullptr),
                    test::contains("expected a year from 2000 to 2099, and it says '0000-01-01"));
  CHECK_THROWS_WITH(hand_in_times(roster.columns[0], wrong, roster, policy, nullptr),
                    test::contains("the roster's line 7, column Last modified (submission): "
                                   "expected a time such as 2026-11-20T23:59:00+01:00"));
  wrong.submissions[0].about = {"-"};
  const json unknown = hand_in_times(roster.columns[0], wrong, roster, policy, nullptr);
  CHECK(without_a_time(unknown, wrong) == std::vector<std::string>{"amy"});
}
