#include "grader/judge/par.hpp"

#include "tests/catch.hpp"

using namespace lockstep::grader;

TEST_CASE("par: three stars when every counter is at the best known, two when all are near it") {
  const ParCounter best{"bytes", 700, 700, ""}, better{"time", 0.9, 1, ""};
  const ParCounter rounded{"time", 1 + 1e-12, 1, ""}, near{"steps", 5, 4, ""};
  const ParCounter beyond{"steps", 6, 4, ""};
  CHECK(stars_of({}) == 0);
  CHECK(stars_of({best, better, rounded}) == 3);
  CHECK(stars_of({best, near}) == 2);
  CHECK(stars_of({best, near, beyond}) == 1);
  CHECK(at_par(rounded));
  CHECK_FALSE(at_par(near));
}
