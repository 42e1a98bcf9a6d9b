// One broadcast for each element type, over a flat copy of all its tensors.
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  std::vector<Tensor> tensors;
  for (const Parameter* parameter : model.parameters()) tensors.push_back(parameter->value);
  for (const nn::Buffer* buffer : model.buffers()) tensors.push_back(buffer->value);
  for (const DType dtype : all_dtypes) {
    Tensor any;
    std::int64_t count = 0;
    for (const Tensor& tensor : tensors) {
      if (tensor.dtype() != dtype) continue;
      any = tensor;
      count += tensor.numel();
    }
    if (count == 0) continue;
    const Tensor flat = any.empty_like(count);
    const auto each = [&](auto visit) {
      std::int64_t start = 0;
      for (const Tensor& tensor : tensors) {
        if (tensor.dtype() != dtype) continue;
        visit(tensor, flat.narrow(start, tensor.numel()));
        start += tensor.numel();
      }
    };
    each([](const Tensor& tensor, const Tensor& part) { part.copy_(tensor); });
    group.broadcast(flat, source);
    each([](const Tensor& tensor, const Tensor& part) { tensor.copy_(part); });
  }
}

}  // namespace lockstep::replicas
