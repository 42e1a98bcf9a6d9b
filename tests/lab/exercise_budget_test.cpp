// What exercises add to building and testing, and the budget that they have.
#include "grader/dev/exercise_budget.hpp"

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/exercise_lines.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;

namespace {

// On a machine that is as fast as the usual one, or slower by a factor.
ExerciseCost cost_of(double building_s, double proving_s, int mutants = 10, int alone = 0,
                     double slower = 1) {
  return {"06_x/toy",
          500,
          0.0,
          {.mutants = mutants,
           .alone = alone,
           .compiling_s = building_s * slower,
           .judging_s = proving_s * slower,
           .yardstick_s = yardstick_usual_s * slower}};
}

std::string complaints_of(const ExerciseCost& cost, const std::string& exceptions = "") {
  std::string all;
  for (const std::string& one : budget_complaints({cost}, read_exceptions(exceptions, "list"))) {
    all += one + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("budget: seconds are shown as those of the usual machine, and fail nothing") {
  for (const double slower : {0.4, 1.0, 3.0}) {
    CAPTURE(slower);
    const ExerciseCost cost = cost_of(8.4, 60, 10, 0, slower);
    CHECK(complaints_of(cost) == "");
    CHECK(over_budget({cost}) == std::vector<std::string>{"06_x/toy building 8.4 proving 60.0"});
  }
  CHECK(over_budget({cost_of(8, 6)}).empty());
}

TEST_CASE("budget: more than sixteen mutants are for those that show the worth of a check alone") {
  CHECK(complaints_of(cost_of(1, 1, 16)) == "");
  CHECK(complaints_of(cost_of(1, 1, 19, 3)) == "");
  CHECK_THAT(complaints_of(cost_of(1, 1, 19, 2)), contains("06_x/toy has 19 mutants; 17 of them"));
  ExerciseCost quiz = cost_of(1, 1, 40);
  quiz.address = "06_x/quiz";
  CHECK(complaints_of(quiz) == "");
}

TEST_CASE("budget: an exception allows its number and no other, and goes when it is not needed") {
  const std::string listed = "# older\n06_x/toy 24\n";
  CHECK(complaints_of(cost_of(1, 1, 24), listed) == "");
  CHECK_THAT(complaints_of(cost_of(1, 1, 25), listed), contains("24; it may only shrink"));
  CHECK_THAT(complaints_of(cost_of(1, 1, 22), listed), contains("24; make it so many"));
  CHECK_THAT(complaints_of(cost_of(1, 1, 12), listed),
             contains("its 12 mutants need no exception"));
}

TEST_CASE("budget: an exception that cannot be read is told with its line") {
  CHECK_THROWS_WITH(read_exceptions("\n06_x/toy many\n", "list.txt"),
                    contains("list.txt:2: '06_x/toy many': expected an exercise's address"));
  CHECK_THROWS_WITH(read_exceptions("06_x/toy 2.5", "list.txt"), contains("list.txt:1"));
  CHECK_THROWS_WITH(read_exceptions("a 9\na 7", "l"), contains("l:2: a is there"));
}

TEST_CASE("budget: the list of exceptions is empty, and stays so") {
  const auto exceptions =
      read_exceptions(read_text(LOCKSTEP_ROOT "/tests/exercises/over_budget.txt"), "list");
  CHECK(exceptions.empty());
}

TEST_CASE("costs: what a shell tells of its children is read") {
  CHECK(seconds_of_children("0m1.500000s 0m0.250000s") == 1.75);
  CHECK(seconds_of_children("2m1.5s 0m0s") == 121.5);
}

TEST_CASE("costs: what is noted comes back, with the objects' seconds, shared by length") {
  const test::Scratch scratch;
  Lab lab;
  lab.places = {scratch.path(), scratch.path() / "build"};
  Exercise exercise;
  exercise.name = "toy";
  exercise.lesson = exercise.reading = "06_x";
  lab.course.exercises = {exercise};
  CHECK(noted_costs(lab).empty());
  note_cost(lab, exercise,
            {.mutants = 22, .alone = 1, .compiling_s = 2, .judging_s = 3, .yardstick_s = 0.02});
  CHECK_FALSE(noted_costs(lab).at(0).objects_s.has_value());
  CHECK_THAT(table_of(noted_costs(lab)), contains("compiling was not measured"));

  const auto exam = scratch.path() / "grader/parts/06_x/toy/exam.cpp";
  const auto other = scratch.path() / "grader/parts/06_x/other/exam.cpp";
  write_text(exam, std::string(100, ' '));
  write_text(other, std::string(300, ' '));
  write_text(lab.places.build / "unit.cxx",
             "#include \"" + exam.string() + "\"\n#include \"" + other.string() + "\"\n");
  const std::string own = "0m0.01s 0m0.01s\n";
  write_text(lab.places.build / "times/judge-06/unit.cxx.o", own + "0m8s 0m0s\nunit.cxx.o\n");
  write_text(lab.places.build / "times/player_toy/player.cpp.o", own + "0m1s 0m0.5s\nplayer.o\n");
  const ExerciseCost cost = noted_costs(lab).at(0);
  CHECK(cost.objects_s == 8.0 / 4 + 1.5);
  CHECK(cost.building_s() == 5.5);
  CHECK(cost.proving_s() == 3);
  CHECK(cost.proof.mutants == 22);
  CHECK_THAT(table_of({cost}), contains("06_x/toy ") && contains("5.5      3.0       22      0\n"));
}

TEST_CASE("budget: an exercise has at most 700 lines, or a bound that only falls") {
  const int bound = 1200;
  CHECK(line_complaint("06_x/toy", 700, nullptr) == "");
  CHECK_THAT(line_complaint("06_x/toy", 701, nullptr),
             contains("06_x/toy has 701 lines in all its files, and an exercise has at most 700"));
  CHECK(line_complaint("06_x/toy", 1200, &bound) == "");
  CHECK(line_complaint("06_x/toy", 1151, &bound) == "");
  CHECK_THAT(line_complaint("06_x/toy", 1201, &bound), contains("bound of 1200"));
  CHECK_THAT(line_complaint("06_x/toy", 1201, &bound), contains("may only fall"));
  CHECK_THAT(line_complaint("06_x/toy", 1150, &bound), contains("can be 1150"));
  CHECK_THAT(line_complaint("06_x/toy", 700, &bound), contains("take it out"));
}

TEST_CASE(
    "budget: the lines of an exercise are those of all its files, and of no other exercise's") {
  const test::Scratch scratch;
  Exercise toy;
  toy.name = "toy", toy.lesson = "06_x";
  Places places;
  places.root = scratch.path();
  int lines = 0;
  for (const char* file :
       {"exercises/06_x/toy.cpp", "exercises/06_x/toy.md", "exercises/06_x/toy.toml",
        "solutions/06_x/toy.cpp", "grader/parts/06_x/toy/exam.cpp",
        "tests/exercises/06_x/toy/mutants.toml", "tests/exercises/06_x/toy/alternatives/a.cpp"}) {
    std::string content;
    for (int line = 0; line <= lines % 5; ++line) content += "line\n";
    lines += lines % 5 + 1;
    write_text(scratch.path() / file, content);
    CAPTURE(file);
    CHECK(lines_of(places, toy) == lines);
  }
  for (const char* file : {"exercises/06_x/toy_train.cpp", "grader/parts/06_x/toy_train/exam.cpp",
                           "work/06_x/toy.cpp"}) {
    write_text(scratch.path() / file, "line\n");
  }
  CHECK(lines_of(places, toy) == lines);
}
