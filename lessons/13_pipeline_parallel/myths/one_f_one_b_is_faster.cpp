// 1F1B has the same idle time at other moments; it saves memory.
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/timeline.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;
using pipeline::Schedule;

int main() {
  myth::claim("1F1B has a smaller bubble than GPipe.");
  bool same = true, saves = true;
  std::cout << "a forward pass takes 1, a backward pass 2; in flight: micro-batches on stage 0\n";
  for (const int stages : {2, 4, 8}) {
    for (const int micro_batches : {stages, 4 * stages}) {
      const auto priced = [&](Schedule schedule) {
        return pipeline::price(pipeline::make_plan(schedule, stages, 1, micro_batches));
      };
      const auto gpipe = priced(Schedule::gpipe), other = priced(Schedule::one_f_one_b);
      const int held = gpipe.stages[0].in_flight_max, held_other = other.stages[0].in_flight_max;
      std::cout << "  " << stages << " stages, " << micro_batches << " micro-batches: GPipe "
                << gpipe.makespan_s << ", 1F1B " << other.makespan_s << ", in flight " << held
                << " and " << held_other << "\n";
      same = same && gpipe.makespan_s == other.makespan_s;
      saves = saves && held == micro_batches && held_other == stages;
    }
  }
  return myth::refuted_if(same && saves,
                          "Both take the same time; 1F1B keeps only as many micro-batches in "
                          "flight as there are stages.");
}
