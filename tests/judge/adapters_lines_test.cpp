// What a verdict says of calls that an adapter makes.
#include "grader/judge/adapters_lines.hpp"

#include "tests/catch.hpp"

using lockstep::grader::without_adapters_lines;

TEST_CASE("adapter's lines: a place is left out, with the words that lead to it") {
  CHECK(without_adapters_lines("rank 0 waits in recv (grader/play/lossy_play.hpp:3) for rank 1") ==
        "rank 0 waits in recv for rank 1");
  CHECK(without_adapters_lines("rank 0 slept for more than 3 s since its call at "
                               "/home/a/grader/parts/07_ddp/x/player.cpp:80, outside") ==
        "rank 0 slept for more than 3 s, outside");
}

TEST_CASE("adapter's lines: a place in a student's file stays") {
  const std::string said = "slept for more than 3 s since its call at work/07_ddp/x.cpp:8, outside";
  CHECK(without_adapters_lines(said) == said);
}
