// No loader: the indices are cut into batches here. The loss goes to rank 0 alone.
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/replicas/broadcast_parameters.hpp"
#include "engine/train/training_loop.hpp"

namespace lockstep::train {

void distributed_train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                       const data::Dataset& dataset, const LoopOptions& options) {
  const int rank = group.rank(), ranks = group.size();
  replicas::broadcast_parameters(group, model, 0);
  const Tensor like = model.parameters()[0]->value;
  LoggedStep line;
  for (; line.epoch < options.epochs; ++line.epoch) {
    const auto order =
        data::distributed_indices({dataset.size(), rank, ranks, options.seed, line.epoch});
    for (const auto& indices : data::batches_of(order, {.batch_size = options.batch_size})) {
      const data::Batch batch = dataset.batch(indices, like.dtype(), like.device());
      model.prepare({nn::Mode::training, options.seed, line.step, rank, ranks});
      optimizer.set_learning_rate(optim::learning_rate_at(line.step, options.schedule));
      const double mine =
          data_parallel::data_parallel_step(group, model, optimizer, batch, options.clip_norm);
      const Tensor sum = full({1}, mine, DType::float64, like.device());
      group.reduce(sum, 0, ReduceOp::sum);
      line.loss = sum.item() / ranks;
      if (rank == 0) options.log(line);
      ++line.step;
    }
  }
  group.barrier();
}

}  // namespace lockstep::train
