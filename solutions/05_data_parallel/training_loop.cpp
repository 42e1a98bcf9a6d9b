// Task: the loop around the step. Make the replicas equal, and in every epoch read this rank's
// samples in that epoch's order, batch by batch. For each batch, set the rate of the step, tell the
// model what the pass is for, take the step, and let rank 0 log the loss of all ranks together. At
// the end, no rank leaves before rank 0 has logged its last line. You need broadcast_parameters,
// distributed_indices, make_plain_loader, learning_rate_at and data_parallel_step, and the group's
// all_reduce and barrier.
// The contract stands in engine/train/training_loop.hpp.
#include "engine/train/training_loop.hpp"

#include "engine/base/error.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::train {

void distributed_train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                       const data::Dataset& dataset, const LoopOptions& options) {
  // >>> your code
  replicas::broadcast_parameters(group, model, 0);

  const Tensor& any = model.parameters().front()->value;
  const data::Sampler sampler = [&](int epoch) {
    return data::distributed_indices(
        {dataset.size(), group.rank(), group.size(), options.seed, epoch});
  };
  const auto loader = data::make_plain_loader(
      dataset, sampler, {.batch_size = options.batch_size, .dtype = any.dtype()}, any.device());

  std::int64_t step = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    loader->start(epoch);
    while (const auto mine = loader->next()) {
      optimizer.set_learning_rate(optim::learning_rate_at(step, options.schedule));
      model.prepare({nn::Mode::training, options.seed, step, group.rank(), group.size()});
      const double my_loss =
          data_parallel::data_parallel_step(group, model, optimizer, *mine, options.clip_norm);

      const Tensor loss = full({1}, my_loss / group.size(), DType::float64, any.device());
      group.all_reduce(loss, ReduceOp::sum);
      if (group.rank() == 0) options.log({step, epoch, loss.item()});
      ++step;
    }
  }
  group.barrier();
  // <<< your code
}

}  // namespace lockstep::train
