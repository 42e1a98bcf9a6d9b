// What the stages of a pipeline do under a schedule, as a drawing and in numbers. A backward pass
// takes two forward passes, and messages take no time:
//   build/release/bin/schedules 1f1b 4 8             four stages, eight micro-batches
//   build/release/bin/schedules interleaved 4 8 2    two chunks a stage
//   build/release/bin/schedules --svg 1f1b 4 8       the drawing as a picture
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/drawing.hpp"
#include "engine/parallel/pipeline/plan.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

namespace {

const std::map<std::string, Schedule> schedules{{"gpipe", Schedule::gpipe},
                                                {"1f1b", Schedule::one_f_one_b},
                                                {"interleaved", Schedule::interleaved},
                                                {"zero-bubble", Schedule::zero_bubble}};

void print_numbers(const Timeline& timeline) {
  std::printf("%g forward passes long; idle: %.1f %% of the work, %.1f %% of the step\nkept:",
              timeline.makespan_s, 100 * timeline.bubble_of_ideal(),
              100 * timeline.bubble_of_total());
  for (const StageTimeline& stage : timeline.stages) std::printf(" %d", stage.in_flight_max);
  std::printf("%s\n", timeline.chunks > 1 ? " chunks" : "");
}

}  // namespace

int main(int count, char** words) {
  try {
    std::vector<std::string> asked(words + 1, words + count);
    const bool svg = !asked.empty() && asked.front() == "--svg";
    if (svg) asked.erase(asked.begin());
    if (asked.size() < 3 || !schedules.contains(asked[0])) {
      throw UsageError(
          "usage: schedules [--svg] gpipe|1f1b|interleaved|zero-bubble STAGES MICRO_BATCHES "
          "[CHUNKS]");
    }
    const int stages = std::stoi(asked[1]), micro_batches = std::stoi(asked[2]);
    const int chunks = asked.size() > 3 ? std::stoi(asked[3]) : 1;
    const Timeline timeline =
        price(make_plan(schedules.at(asked[0]), stages, chunks, micro_batches));
    std::cout << (svg ? svg_drawing(timeline) : text_drawing(timeline)) << std::flush;
    if (!svg) print_numbers(timeline);
  } catch (const std::exception& error) {
    std::cerr << "schedules: " << error.what() << "\n";
    return 2;
  }
}
