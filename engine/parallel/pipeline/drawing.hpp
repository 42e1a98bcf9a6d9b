// A timeline as a picture: as text for a terminal, and as SVG for a page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/parallel/pipeline/timeline.hpp"

namespace lockstep::pipeline {

// Something to point at in a drawing.
struct Mark {
  int stage = 0;
  std::size_t place = 0;  // in the stage's spans; behind the last one: where the stage stopped
  std::string words{};
};

// One row a stage, or one for each of its chunks. An action is its letter and its micro-batch, with
// dashes as long as it runs; a dot stands for idle time:
//
//     stage 0  F0F1 . . .B1--B0--
//     stage 1   .F0F1B1--B0-- . .
//
// One cell is the shortest pass. Rows of more than a hundred characters are cut. A mark is pointed
// at from the line below its row.
std::string text_drawing(const PlanTimeline& timeline,
                         const std::optional<Mark>& mark = std::nullopt);

// The same as a picture of its own, 740 wide, with a legend and a scale.
std::string svg_drawing(const PlanTimeline& timeline);

}  // namespace lockstep::pipeline
