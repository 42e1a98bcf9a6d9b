// Which tests a change can affect: ./lab test --changed.
#include "grader/dev/affected.hpp"

#include "tests/catch.hpp"

namespace lockstep::grader {
namespace {

Exercise exercise_in(const std::string& name, const std::string& lesson) {
  Exercise exercise;
  exercise.name = name;
  exercise.lesson = lesson;
  exercise.header = "engine/collectives/" + name + ".hpp";
  return exercise;
}

// comm stands on base; a ring stands on comm, and app on the ring, whose source is a part.
const IncludeLines small_tree{
    {"engine/base/bytes.hpp", {}},
    {"engine/base/bytes.cpp", {"engine/base/bytes.hpp"}},
    {"engine/comm/peers.hpp", {"engine/base/bytes.hpp"}},
    {"engine/comm/gloo_only.cpp", {"engine/comm/secret.hpp"}},
    {"engine/comm/secret.hpp", {}},
    {"engine/collectives/ring.hpp", {"engine/comm/peers.hpp"}},
    {"engine/collectives/tree.hpp", {}},
    {"engine/apps/app.cpp", {"engine/collectives/ring.hpp"}},
    {"solutions/06_all_reduce/ring.cpp", {"engine/collectives/ring.hpp"}},
    {"solutions/06_all_reduce/tree.cpp", {"engine/collectives/tree.hpp"}},
    {"grader/judge/case_runner.hpp", {}},
    {"grader/exam/rules.hpp", {"grader/judge/case_runner.hpp"}},
    {"grader/exam/rules.cpp", {"grader/exam/rules.hpp"}},
    {"grader/parts/06_all_reduce/ring/exam.cpp", {"grader/exam/rules.hpp"}},
    {"grader/parts/06_all_reduce/tree/exam.cpp", {"grader/judge/case_runner.hpp"}},
    {"grader/parts/06_all_reduce/ring/player.cpp", {"engine/collectives/ring.hpp"}},
    {"grader/parts/06_all_reduce/tree/player.cpp", {"engine/collectives/tree.hpp"}},
    {"tests/base/bytes_test.cpp", {"engine/base/bytes.hpp"}},
    {"tests/comm/peers_test.cpp", {"engine/comm/peers.hpp"}},
    {"tests/collectives/tree_test.cpp", {"engine/collectives/tree.hpp"}}};

Affected after(const std::vector<std::string>& changed) {
  Course course;
  course.exercises = {exercise_in("ring", "06_all_reduce"), exercise_in("tree", "06_all_reduce")};
  return affected_by(changed, small_tree, course);
}

bool runs(const Affected& affected, const std::string& label) {
  return affected.all || affected.labels.contains(label);
}

const std::string ring_proof = "proof of 06_all_reduce/ring";
const std::string tree_proof = "proof of 06_all_reduce/tree";

}  // namespace

TEST_CASE("a changed source runs the tests of all that stands on it, and no others") {
  const Affected affected = after({"engine/base/bytes.cpp"});
  CHECK_FALSE(affected.all);
  CHECK(runs(affected, "tests/base"));
  CHECK(runs(affected, "tests/comm"));
  CHECK(runs(affected, "tests/apps"));
  CHECK(runs(affected, ring_proof));
  CHECK_FALSE(runs(affected, tree_proof));
  CHECK_FALSE(runs(affected, "tests/collectives"));
  CHECK_FALSE(runs(after({"engine/collectives/ring.hpp"}), "tests/base"));
}

TEST_CASE("a source without a header of its own runs what its folder runs") {
  CHECK(runs(after({"engine/comm/gloo_only.cpp"}), "tests/comm"));
}

TEST_CASE(
    "an exam runs the proof of its part; the rules it shares run those of all that use them") {
  CHECK(runs(after({"grader/parts/06_all_reduce/tree/exam.cpp"}), tree_proof));
  CHECK_FALSE(runs(after({"grader/parts/06_all_reduce/tree/exam.cpp"}), ring_proof));
  CHECK(runs(after({"grader/exam/rules.cpp"}), ring_proof));
  CHECK_FALSE(runs(after({"grader/exam/rules.cpp"}), tree_proof));
}

TEST_CASE("a mutant, an alternative and a reference run the proof of their part") {
  const Affected mutant = after({"tests/exercises/06_all_reduce/ring/mutants.toml"});
  CHECK(runs(mutant, ring_proof));
  CHECK_FALSE(runs(mutant, tree_proof));
  CHECK_FALSE(runs(mutant, "tests/comm"));
  CHECK(runs(after({"solutions/06_all_reduce/tree.cpp"}), tree_proof));
  CHECK_FALSE(runs(after({"solutions/06_all_reduce/tree.cpp"}), ring_proof));
}

TEST_CASE("a text runs the tests of the texts, which every change runs, and those of the site") {
  const Affected affected = after({"docs/design.md", "lessons/06_all_reduce/README.md"});
  CHECK(affected.labels ==
        std::set<std::string>{"tests/house", "tests/lessons", "tests/course", "tests/site"});
}

TEST_CASE("a kernel runs the tests of the GPU, which open it") {
  const Affected affected = after({"engine/gpu/kernels/softmax.cu"});
  CHECK_FALSE(affected.all);
  CHECK(runs(affected, "tests/gpu"));
  CHECK_FALSE(runs(affected, "tests/base"));
}

TEST_CASE("what is not understood runs everything") {
  for (const char* path :
       {"CMakeLists.txt", "setup/build.sh", "engine/base/CMakeLists.txt",
        "tests/exercises/CMakeLists.txt", "engine/comm/gone.cpp", "engine/comm/gone.hpp", "lab"}) {
    INFO(path);
    CHECK(after({"docs/design.md", path}).all);
  }
}

}  // namespace lockstep::grader
