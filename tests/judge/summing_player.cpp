// A player of the judge's own tests: the members of a group sum up what the judge serves to each.
#include "grader/play/ranks_play.hpp"
#include "tests/judge/summing_case.hpp"

int main() {
  using namespace lockstep;
  using namespace lockstep::grader;
  return sim::serve_cases([](sim::PlayerCase& played) {
    return play_in_group<SummingCase>(played, [](comm::ProcessGroup& group, const SummingCase& c,
                                                 Device& device, sim::Port& port) {
      const double mine = ask<double>(port, NumberCall{c.which});
      const Tensor sum = full({1}, mine, DType::float64, device);
      group.all_reduce(sum, ReduceOp::sum);
      return SummingReport{{sum.item() + (c.which == 13 ? 1 : 0)}};
    });
  });
}
