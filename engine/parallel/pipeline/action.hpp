// The actions of a pipeline's stages, as values. A model is cut into p·v parts; stage s of p has v
// of them, its chunks: chunk c of stage s is part c·p + s, so that the output of the last stage
// goes to the next chunk of the first stage ([NSC21] §2.2). For every stage, a plan lists the
// passes in order: kind, chunk and micro-batch. The same plan is validated, priced, drawn and
// executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::pipeline {

// A backward pass is one action, or two: the gradient of the chunk's input, which the previous
// stage waits for, and the gradients of its weights, which no stage waits for ([QWHL24] §2).
enum class Pass : std::uint8_t { forward, backward, input_gradient, weight_gradient };

struct Action {
  Pass pass = Pass::forward;
  int micro_batch = 0;
  int chunk = 0;  // of the stage
  bool operator==(const Action&) const = default;
};

// "F0", "B0", "I0", "W0"; with the chunk if a stage has several: "F0.1".
std::string text_of(const Action& action, int chunks = 1);

struct Plan {
  int stages = 1;                              // p
  int chunks = 1;                              // v, of each stage
  int micro_batches = 1;                       // m
  std::vector<std::vector<Action>> actions{};  // by stage, in order
};

enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };

}  // namespace lockstep::pipeline
