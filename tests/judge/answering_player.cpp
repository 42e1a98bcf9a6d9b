// A player of the judge's own tests: it answers a list of numbers with their doubles. It refuses
// numbers below 0, breaks down at 13, and answers 100 only once.
#include "engine/sim/hosts/player.hpp"
#include "grader/play/function_play.hpp"

int main() {
  using namespace lockstep;
  return sim::serve_cases([](sim::PlayerCase& played) {
    int hundreds = 0;
    return grader::answer_or_refuse_each<std::int64_t>(played, [&](std::int64_t number) {
      LOCKSTEP_CHECK(number >= 0, "no number below 0");
      if (number == 13) throw Error("thirteen");
      return number == 100 && hundreds++ > 0 ? std::int64_t{7} : 2 * number;
    });
  });
}
