// A player of the judge's own tests: it answers a list of numbers with their doubles. It refuses
// numbers below 0, breaks down at 13, and answers 100 only once. Its argument is a mistake: 1 and 2
// triple numbers from 50 on, 3 those from 70 on, and 4 breaks down at 50.
#include <cstdlib>

#include "engine/sim/hosts/player.hpp"
#include "grader/play/function_play.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  const int mistake = argc > 1 ? std::atoi(argv[1]) : 0;
  return sim::serve_cases([mistake](sim::PlayerCase& played) {
    int hundreds = 0;
    return grader::answer_or_refuse_each<std::int64_t>(played, [&](std::int64_t number) {
      LOCKSTEP_CHECK(number >= 0, "no number below 0");
      if (number == 13) throw Error("thirteen");
      if (mistake == 4 && number == 50) throw Error("fifty");
      if (mistake > 0 && number >= (mistake == 3 ? 70 : 50)) return 3 * number;
      return number == 100 && hundreds++ > 0 ? std::int64_t{7} : 2 * number;
    });
  });
}
