#include "grader/further/link_line.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string commands =
    "/usr/bin/c++ -c a.cpp -o a.o\n"
    ": && /usr/bin/c++ -O3 train.cpp.o solutions/CMakeFiles/part_ring.dir/06_x/ring.cpp.o "
    "solutions/CMakeFiles/part_mean.dir/./05_y/mean.cpp.o -o bin/train libz.a && :\n";

Exercise exercise_of(const std::string& lesson, const std::string& name) {
  Exercise exercise;
  exercise.lesson = lesson;
  exercise.name = name;
  return exercise;
}

}  // namespace

TEST_CASE("a link line: the student's objects stand where the references stood") {
  const Exercise ring = exercise_of("06_x", "ring"), mean = exercise_of("05_y", "mean");
  CHECK(relinked(commands, {{&ring, "/s/ring.o"}, {&mean, "/s/mean.o"}}, "/s/train") ==
        std::vector<std::string>{"/usr/bin/c++", "-O3", "train.cpp.o", "/s/ring.o", "/s/mean.o",
                                 "-o", "/s/train", "libz.a"});
  CHECK(links_part(commands, ring));
  CHECK(links_part(commands, mean));
  CHECK_FALSE(links_part(commands, exercise_of("06_x", "tree")));
}

TEST_CASE("a link line: a program that is not linked is an error") {
  CHECK_THROWS_WITH(relinked("", {}, "/s/train"), test::contains("no command that links"));
}
