// Task: run a segment of a model so that only its input is kept, and run it again when backward
// reaches it. Record one operation on the outer tape. Its inputs are x and the parameters that the
// segment uses. Its derivative runs the segment on a new tape, and walks back over that tape. The
// contract is in engine/autograd/activation_checkpoint.hpp; the walk inside a walk is in
// engine/autograd/inner_walk.hpp.
#include "engine/autograd/activation_checkpoint.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/inner_walk.hpp"

namespace lockstep::autograd {

Value recompute(Tape& tape, const Value& x, Segment segment) {
  // >>> your code
  if (tape.mode() == GradMode::inference) return segment(tape, x);
  Tape first(GradMode::inference);
  Tensor y = segment(first, first.constant(x.tensor)).tensor;
  std::vector<Value> inputs = {x};
  for (Parameter* parameter : first.leaves()) inputs.push_back(tape.leaf(*parameter));

  // What the two halves of the derivative share: the input until the second run, then its walk.
  struct Kept {
    Saved x;
    std::vector<Parameter*> parameters;
    std::optional<InnerWalk> walk;
  };
  const auto kept = std::make_shared<Kept>(Kept{Saved(x), first.leaves(), std::nullopt});
  return tape.record(
      std::move(y), std::move(inputs),
      [kept, &tape, segment = std::move(segment)](const Tensor& grad) {
        auto second = std::make_unique<Tape>(GradMode::record);
        const Value input = second->input(std::exchange(kept->x, Saved(Tensor())).get());
        Value output = segment(*second, input);
        kept->walk.emplace(std::move(second), input, std::move(output), kept->parameters);
        return kept->walk->begin(tape, grad);
      },
      [kept](const Tensor&) { return kept->walk->end(); });
  // <<< your code
}

}  // namespace lockstep::autograd
