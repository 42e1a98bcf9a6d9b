#include "grader/batch/run/unit_report.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/processes/free_space.hpp"
#include "grader/batch/run/settings.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;

TEST_CASE(
    "a report: no text of it moves a terminal, turns a line around or names a private folder") {
  const json report = {{"message",
                        "\x1b]0;title\x07 \xc2\x9b"
                        "31m \x9b"
                        "1m \u202e \u2066 \u061c \u200f end"},
                       {"checks",
                        {{{"seen", "Zoë sees 4 × 5\n\tand goes on"},
                          {"where", "/tmp/lockstep-grade-aB3dE6/unit-3-12/work/x.cpp:3"},
                          {"counters", {{"bytes", 12.5}}},
                          {"skipped", false}}}},
                       {"output", {{"0", "\x1b[2J/tmp/lockstep-grade-aB3dE6/unit-7/player: no"}}}};
  const json fit = report_fit_to_print(report);
  CHECK(fit.at("message") == "?]0;title? ?31m ?1m ? ? ? ? end");
  CHECK(fit.at("checks").at(0).at("seen") == "Zoë sees 4 × 5\n\tand goes on");
  CHECK(fit.at("checks").at(0).at("counters").at("bytes") == 12.5);
  CHECK(fit.at("checks").at(0).at("skipped") == false);
  CHECK(fit.at("output").at("0") == "?[2Jplayer: no");
  CHECK(fit_to_print("in /tmp/lockstep-grade-aB3dE6/unit-12/05_x/quiz.toml:3") ==
        "in 05_x/quiz.toml:3");
}

TEST_CASE("a report: texts of megabytes are cut, and say how much of them is left out") {
  CHECK(fit_to_print(std::string(20'000, 'x'), 100) ==
        std::string(100, 'x') + "… (19900 more bytes)");
  CHECK(fit_to_print(std::string(100, 'x'), 100) == std::string(100, 'x'));
  json report = {{"message", std::string(20 << 20, 'x')}, {"checks", json::array()}};
  CHECK(report_fit_to_print(report).dump().size() < 17'000);
  for (int i = 0; i < 200; ++i) {
    report["checks"].push_back({{"seen", std::string(100'000, 's')},
                                {"expected", std::string(100'000, 'e')},
                                {"where", std::string(100'000, 'w')}});
  }
  CHECK(report_fit_to_print(report).dump().size() < (std::size_t{1} << 20));
}

TEST_CASE("a report: only what has the form of one is one") {
  const json right = {{"verdict", "pass"},        {"points", 10},
                      {"max_points", 10},         {"cause", ""},
                      {"report", json::object()}, {"seconds", json::object()}};
  CHECK(result_in(right.dump()) == right);
  CHECK_FALSE(result_in(""));
  CHECK_FALSE(result_in(right.dump().substr(0, 30)));
  CHECK_FALSE(result_in("[]"));
  for (const auto& [key, value] : right.items()) {
    json other = right;
    other.erase(key);
    CHECK_FALSE(result_in(other.dump()));
    other[key] = json::array();
    CHECK_FALSE(result_in(other.dump()));
  }
}

TEST_CASE("free_space: what is short is said in bytes, with what to type") {
  const FreeSpace enough{1 << 30, 1000, 1 << 30, 1000, std::uintmax_t{1} << 32};
  const auto says = [](const FreeSpace& left) {
    return shortage(left, {}, "/tmp/lockstep-grade-a", "/home/out").value_or("");
  };
  CHECK(says(enough).empty());
  FreeSpace left = enough;
  left.out_bytes = 1 << 20;
  CHECK(says(left) ==
        "/home/out has 1 MiB left, and a file needs 2 MiB: df -h /home/out shows the "
        "disk; free some space there");
  left = enough;
  left.scratch_inodes = 3;
  CHECK_THAT(says(left),
             test::contains("/tmp has room for 3 more files, and 64 are needed: df -i"));
  left = enough;
  left.memory_bytes = 100 << 20;
  CHECK_THAT(says(left), test::contains("100 MiB of memory available, and a file needs 512 MiB"));
  const FreeSpace here = free_space("/tmp", ".");
  CHECK(here.scratch_bytes > 0);
  CHECK(here.memory_bytes > 0);
}

TEST_CASE("settings: limits are what they are, however they are written") {
  const auto record = [](const std::string& list) {
    sim::PlayerLimits player;
    ClassLimits whole;
    set_limits(list, player, whole);
    return limits_record(player, whole);
  };
  CHECK(record("") == record("student=120"));
  CHECK(record("idle=2,cpu=10") == record("cpu=10.0,,idle=2.00"));
  CHECK(record("student=60") != record(""));
  CHECK(record("student=60").at("student_s") == 60);
  CHECK_THROWS_AS(record("student=0"), UsageError);
  CHECK_THROWS_AS(record("students=60"), UsageError);
}
