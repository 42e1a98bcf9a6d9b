// A judge is a program: what it is asked and what it answers pass through pipes.
#include "grader/judge/judge_call.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

struct Point {
  int x = 0;
  std::optional<std::string> name;
  std::map<int, std::vector<double>> series;
  friend bool operator==(const Point&, const Point&) = default;
};

template <typename Archive>
void fields(Archive& archive, Point& point) {
  archive(point.x, point.name, point.series);
}

struct Even {
  int number = 0;
};

template <typename Archive>
void fields(Archive& archive, Even& even) {
  archive(even.number);
}
void check_fields(Even& even) {
  if (even.number % 2 != 0) throw MalformedMessage("an odd number");
}

}  // namespace

TEST_CASE("fields: what one list writes, it reads") {
  const std::vector<Point> points{{1, "a", {{7, {0.5, -1}}, {8, {}}}}, {2, std::nullopt, {}}};
  CHECK(fields_from_bytes<std::vector<Point>>(fields_to_bytes(points)) == points);
}

TEST_CASE("fields: bytes that end early, go on too long or announce too much are refused") {
  const Bytes whole = fields_to_bytes(Point{3, std::string(40, 'n'), {{1, {2.0}}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_AS(fields_from_bytes<Point>(std::span(whole).first(size)), MalformedMessage);
  }
  Bytes longer(whole.size() + 1);
  std::copy(whole.begin(), whole.end(), longer.begin());
  CHECK_THROWS_AS(fields_from_bytes<Point>(longer), MalformedMessage);
  const Bytes huge = fields_to_bytes(std::uint64_t{1} << 60);
  CHECK_THROWS_AS(fields_from_bytes<std::vector<int>>(huge), MalformedMessage);
}

TEST_CASE("fields: a value that a type refuses is refused wherever it stands") {
  const std::vector<std::array<Even, 2>> right{{{{2}, {4}}}, {{{0}, {6}}}};
  const auto read = fields_from_bytes<std::vector<std::array<Even, 2>>>(fields_to_bytes(right));
  CHECK(read.back().back().number == 6);
  CHECK_THROWS_AS((fields_from_bytes<std::array<Even, 2>>(fields_to_bytes(2, 3))),
                  MalformedMessage);
  CHECK(fields_from_bytes<DType>(fields_to_bytes(DType::float16)) == DType::float16);
  CHECK_THROWS_AS(fields_from_bytes<DType>(fields_to_bytes(std::uint8_t{200})), MalformedMessage);
}

TEST_CASE("a call: every option reaches the judge") {
  JudgeCall call{"ring", "/players/ring", {}};
  call.options.seed = 17;
  call.options.battery = Battery::whole;
  call.options.only_case = CaseAddress{3, {0, 2}};
  call.options.replay_with = "--from solutions";
  call.options.world = PlayerWorld::processes;
  call.options.debugged = sim::DebuggedPlayer{2, {"gdb", "-q"}};
  call.options.limits.cpu_s = 7.5;
  call.options.limits.launcher = {"box", "--player"};
  call.options.max_points = 15;
  call.options.timeline_file = "traces/ring.timeline";
  const JudgeCall read = judge_call_of(to_bytes(call));
  CHECK(to_bytes(read) == to_bytes(call));
  CHECK(read.options.only_case == call.options.only_case);
  CHECK(read.options.limits.launcher == call.options.limits.launcher);
  CHECK(read.options.timeline_file == call.options.timeline_file);
}

TEST_CASE(
    "a call: a judge that is missing, leaves without a word or babbles is the lab's failure") {
  const JudgeCall call{"ring", "/players/ring", {}};
  CHECK_THROWS_WITH(call_judge("/nowhere/judge-06", call),
                    test::contains("there is no /nowhere/judge-06"));
  CHECK_THROWS_WITH(call_judge("/bin/true", call),
                    test::contains("true ended with exit code 0 and without a report"));
  CHECK_THROWS_WITH(call_judge("/bin/false", call), test::contains("exit code 1"));
}
