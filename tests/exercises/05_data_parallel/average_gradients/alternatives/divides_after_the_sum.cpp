// The sum first, all of them in flight at once, then the division: equal within rounding.
#include <vector>

#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  std::vector<comm::Work> works;
  for (const Parameter* parameter : parameters) {
    const Tensor& grad = parameter->grad;
    if (grad.defined()) {
      works.push_back(group.all_reduce_async(grad.view({grad.numel()}), ReduceOp::sum));
    }
  }
  for (comm::Work& work : works) work.wait();
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) parameter->grad.scale_(1.0 / group.size());
  }
}

}  // namespace lockstep::data_parallel
