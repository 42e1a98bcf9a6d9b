// The checker of #include on made-up files: it must see what it is there to see.
#include "tests/house/floors.hpp"

#include "tests/catch.hpp"

using lockstep::house::Floors;
using lockstep::house::forbidden_includes;
using lockstep::house::source_of;

namespace {

const Floors made_up(
    "base|strand trace|sim|comm|parallel/ddp parallel/zero|train",
    "train: ., loops, ways/plain ways/sharded, ways|grader/exam: ranks, layer lossy");

std::size_t forbidden(const std::string& path, const std::string& target) {
  return forbidden_includes(made_up, source_of(path, "// idea\n#include \"" + target + "\"\n"))
      .size();
}

}  // namespace

TEST_CASE("floors: an upward include is found, with its line and both floors") {
  const auto source = source_of("engine/base/error.hpp",
                                "// idea\n#include <string>\n#include \"engine/comm/peers.hpp\"\n");
  const auto found = forbidden_includes(made_up, source);
  REQUIRE(found.size() == 1);
  CHECK(found.front() ==
        "engine/base/error.hpp:3: room base (floor 0) may not include engine/comm/peers.hpp "
        "(floor 3)");
}

TEST_CASE("floors: down and inside one room is allowed, sideways and up is not") {
  CHECK(forbidden("engine/comm/work.hpp", "engine/base/error.hpp") == 0);
  CHECK(forbidden("engine/comm/work.hpp", "engine/comm/peers.hpp") == 0);
  CHECK(forbidden("engine/strand/strand.hpp", "engine/trace/span.hpp") == 1);
  CHECK(forbidden("engine/sim/core/core.hpp", "engine/comm/peers.hpp") == 1);
}

TEST_CASE("floors: rooms inside parallel are told apart") {
  CHECK(forbidden("engine/parallel/ddp/reducer.hpp", "engine/comm/peers.hpp") == 0);
  CHECK(forbidden("engine/parallel/ddp/reducer.hpp", "engine/parallel/zero/shards.hpp") == 1);
  CHECK(forbidden("engine/train/loop.hpp", "engine/parallel/ddp/reducer.hpp") == 0);
}

TEST_CASE("floors: inside a room that has inner floors, down is allowed, sideways and up is not") {
  const auto source = source_of("engine/train/loop.hpp",
                                "// idea\n#include \"engine/train/ways/plain/take.hpp\"\n");
  const auto found = forbidden_includes(made_up, source);
  REQUIRE(found.size() == 1);
  CHECK(found.front() ==
        "engine/train/loop.hpp:2: folder . of train (inner floor 0) may not include "
        "engine/train/ways/plain/take.hpp (inner floor 2)");
  CHECK(forbidden("engine/train/loop.hpp", "engine/train/pieces.hpp") == 0);
  CHECK(forbidden("engine/train/ways/plain/take.cpp", "engine/train/loop.hpp") == 0);
  CHECK(forbidden("engine/train/ways/plain/take.cpp", "engine/train/loops/steps.hpp") == 0);
  CHECK(forbidden("engine/train/ways/plain/take.cpp", "engine/train/ways/sharded/s.hpp") == 1);
  CHECK(forbidden("engine/train/ways/all.cpp", "engine/train/ways/sharded/s.hpp") == 0);
  CHECK(forbidden("engine/train/ways/plain/take.cpp", "engine/comm/peers.hpp") == 0);
}

TEST_CASE("floors: a folder of such a room that has no inner floor is reported") {
  CHECK(forbidden("engine/train/attic/a.hpp", "engine/train/loop.hpp") == 1);
  CHECK(forbidden("engine/train/ways/all.cpp", "engine/train/ways/other/o.hpp") == 1);
  CHECK(forbidden("engine/comm/any/a.hpp", "engine/comm/other/b.hpp") == 0);
}

TEST_CASE("floors: rooms of the grader may have inner floors, too") {
  CHECK(forbidden("grader/exam/layer/exam.hpp", "grader/exam/ranks/exam.hpp") == 0);
  CHECK(forbidden("grader/exam/ranks/exam.hpp", "grader/exam/layer/exam.hpp") == 1);
  CHECK(forbidden("grader/exam/layer/exam.hpp", "grader/exam/lossy/exam.hpp") == 1);
  CHECK(forbidden("grader/exam/ranks/exam.hpp", "grader/judge/judge.hpp") == 0);
  CHECK(forbidden("grader/lab/any/check.hpp", "grader/lab/other/check.hpp") == 0);
}

TEST_CASE("floors: a file outside every room is reported, not overlooked") {
  CHECK(forbidden("engine/cellar/wine.hpp", "engine/base/error.hpp") == 1);
  CHECK(forbidden("engine/comm/work.hpp", "engine/cellar/wine.hpp") == 1);
}

TEST_CASE("floors: parts include only the engine, and the engine only itself") {
  CHECK(forbidden("solutions/06_all_reduce/ring.cpp", "engine/comm/peers.hpp") == 0);
  CHECK(forbidden("solutions/06_all_reduce/ring.cpp", "grader/judge/judge.hpp") == 1);
  CHECK(forbidden("exercises/06_all_reduce/ring.cpp", "solutions/06_all_reduce/ring.cpp") == 1);
  CHECK(forbidden("engine/comm/work.hpp", "grader/judge/judge.hpp") == 1);
}

TEST_CASE("floors: a player includes nothing of the trusted side, nobody includes a solution") {
  const std::string ring = "grader/parts/06_all_reduce/ring/";
  for (const std::string& played :
       {ring + "player.cpp", ring + "case.hpp", std::string("grader/play/part.hpp")}) {
    CHECK(forbidden(played, "engine/comm/peers.hpp") == 0);
    CHECK(forbidden(played, "grader/play/ask.hpp") == 0);
    CHECK(forbidden(played, ring + "rules.hpp") == 1);
    CHECK(forbidden(played, "grader/judge/judge.hpp") == 1);
    CHECK(forbidden(played, "grader/exam/ranks/traffic.hpp") == 1);
    CHECK(forbidden(played, "grader/course/manifest.hpp") == 1);
  }
  CHECK(forbidden(ring + "exam.cpp", ring + "case.hpp") == 0);
  CHECK(forbidden(ring + "player.cpp", ring + "case.hpp") == 0);
  CHECK(forbidden(ring + "exam.cpp", "grader/exam/ranks/traffic.hpp") == 0);
  CHECK(forbidden("grader/judge/judge.cpp", "solutions/06_all_reduce/ring.cpp") == 1);
  CHECK(forbidden("grader/judge/judge.cpp", "engine/sim/core/core.hpp") == 0);
}

TEST_CASE("floors: no folder of the grader includes one above it") {
  CHECK(forbidden("grader/lab/check.cpp", "grader/judge/judge.hpp") == 0);
  CHECK(forbidden("grader/lab/check.cpp", "grader/batch/processes/worker_processes.hpp") == 1);
  CHECK(forbidden("grader/judge/judge.cpp", "grader/exam/ranks/traffic.hpp") == 1);
  CHECK(forbidden("grader/attic/box.cpp", "grader/judge/judge.hpp") == 1);
  const std::string ring = "grader/parts/06_all_reduce/ring/";
  CHECK(forbidden("grader/play/part.hpp", ring + "case.hpp") == 1);
  CHECK(forbidden("grader/impostors/random.cpp", ring + "case.hpp") == 0);
  CHECK(forbidden("grader/impostors/random.cpp", ring + "exam.hpp") == 1);
  CHECK(forbidden(ring + "case.hpp", "grader/impostors/impostor.hpp") == 1);
}

TEST_CASE("floors: standard includes and comments are no edges") {
  const auto source =
      source_of("engine/base/a.hpp", "// #include \"engine/comm/peers.hpp\"\n#include <vector>\n");
  CHECK(forbidden_includes(made_up, source).empty());
}
