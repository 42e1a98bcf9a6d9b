// The pictures of plans, character by character; and those in the tasks, which must be real.
#include "engine/parallel/pipeline/drawing.hpp"

#include <fstream>
#include <sstream>

#include "engine/parallel/pipeline/plan.hpp"
#include "tests/catch.hpp"

using namespace lockstep::pipeline;

namespace {

PlanTimeline timeline_of(Schedule schedule, int p, int v, int m) {
  return price(make_plan(schedule, p, v, m));
}

}  // namespace

TEST_CASE("pipeline: a drawing has a row a stage, and a dot where a stage is idle") {
  CHECK(text_drawing(timeline_of(Schedule::gpipe, 2, 1, 2)) ==
        "stage 0  F0F1 . . .B1--B0--\n"
        "stage 1   .F0F1B1--B0-- . .\n");
}

TEST_CASE("pipeline: a drawing has a row a chunk, and is blank where the stage has another one") {
  CHECK(text_drawing(timeline_of(Schedule::interleaved, 2, 2, 2)) ==
        "stage 0.0  F0F1     . .     .    B0--B1--\n"
        "stage 0.1      F0F1 . .B0-- .B1--\n"
        "stage 1.0   .F0F1            B0--B1-- . .\n"
        "stage 1.1   .    F0B0--F1B1--         . .\n");
}

TEST_CASE("pipeline: a mark points at an action, or behind the last one") {
  const PlanTimeline timeline = timeline_of(Schedule::gpipe, 2, 1, 2);
  CHECK(text_drawing(timeline, Mark{0, 2, "late"}) ==
        "stage 0  F0F1 . . .B1--B0--\n"
        "                   ^^^^ late\n"
        "stage 1   .F0F1B1--B0-- . .\n");
  CHECK(text_drawing(timeline, Mark{1, 4, "waits"}) ==
        "stage 0  F0F1 . . .B1--B0--\n"
        "stage 1   .F0F1B1--B0-- . .\n"
        "                       ^ waits\n");
}

TEST_CASE("pipeline: a picture has a rectangle a pass, and says what the colours mean") {
  const std::string svg = svg_drawing(timeline_of(Schedule::zero_bubble, 2, 1, 3));
  const auto count = [&](const std::string& words) {
    int times = 0;
    for (auto at = svg.find(words); at != std::string::npos; at = svg.find(words, at + 1)) ++times;
    return times;
  };
  CHECK(count("<rect ") == 1 + 2 * 9 + 3);  // the ground, the passes, the legend
  CHECK(count(">weight gradient<") == 1);
  CHECK(count(">backward<") == 0);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("pipeline: the drawings in the tasks are the engine's") {
  struct Shown {
    std::string task;
    PlanTimeline timeline;
  };
  for (const Shown& shown :
       {Shown{"gpipe_schedule", timeline_of(Schedule::gpipe, 4, 1, 4)},
        Shown{"one_f_one_b_schedule", timeline_of(Schedule::one_f_one_b, 4, 1, 8)},
        Shown{"interleaved_schedule", timeline_of(Schedule::interleaved, 2, 2, 4)},
        Shown{"zero_bubble_schedule", timeline_of(Schedule::zero_bubble, 4, 1, 8)}}) {
    std::ifstream file(std::string(LOCKSTEP_ROOT) + "/exercises/13_pipeline_parallel/" +
                       shown.task + ".md");
    std::ostringstream text;
    text << file.rdbuf();
    INFO(shown.task);
    CHECK_THAT(text.str(),
               lockstep::test::contains("```\n" + text_drawing(shown.timeline) + "```"));
  }
}
