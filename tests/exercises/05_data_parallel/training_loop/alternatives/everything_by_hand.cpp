// The step, written out: gradients and loss travel in one flat buffer, multiplied by 1/N before.
// An all-reduce of nothing much stands for the barrier.
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/train/training_loop.hpp"

namespace lockstep::train {
namespace {

void make_equal(comm::ProcessGroup& group, nn::Module& model) {
  for (const Parameter* parameter : model.parameters()) {
    group.broadcast(parameter->value.view({-1}), 0);
  }
  for (const nn::Buffer* buffer : model.buffers()) group.broadcast(buffer->value.view({-1}), 0);
}

double step(comm::ProcessGroup& group, nn::Module& model, const data::Batch& batch) {
  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(batch.inputs));
  const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
  tape.backward(loss);
  const auto parameters = model.parameters();
  const Tensor flat =
      empty({nn::count_of(model) + 1}, parameters[0]->value.dtype(), parameters[0]->value.device());
  std::int64_t at = 0;
  for (const Parameter* parameter : parameters) {
    flat.narrow(at, parameter->grad.numel()).copy_(parameter->grad.view({-1}));
    at += parameter->grad.numel();
  }
  flat.narrow(at, 1).copy_(loss.tensor);
  flat.scale_(1.0 / group.size());
  group.all_reduce(flat, ReduceOp::sum);
  const double mean = flat.item(at);
  at = 0;
  for (const Parameter* parameter : parameters) {
    parameter->grad.view({-1}).copy_(flat.narrow(at, parameter->grad.numel()));
    at += parameter->grad.numel();
  }
  return mean;
}

}  // namespace

void distributed_train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                       const data::Dataset& dataset, const LoopOptions& options) {
  make_equal(group, model);
  const Tensor any = model.parameters().front()->value;
  const auto loader = data::make_plain_loader(
      dataset,
      [&](int epoch) {
        return data::distributed_indices(
            {dataset.size(), group.rank(), group.size(), options.seed, epoch});
      },
      {.batch_size = options.batch_size, .dtype = any.dtype()}, any.device());
  std::int64_t steps = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    loader->start(epoch);
    for (auto batch = loader->next(); batch; batch = loader->next()) {
      model.prepare({nn::Mode::training, options.seed, steps, group.rank(), group.size()});
      optimizer.zero_grad();
      const double loss = step(group, model, *batch);
      if (options.clip_norm > 0) optim::clip_grad_norm(model.parameters(), options.clip_norm);
      optimizer.set_learning_rate(optim::learning_rate_at(steps, options.schedule));
      optimizer.step();
      if (group.rank() == 0) options.log({steps, epoch, loss});
      ++steps;
    }
  }
  const Tensor nothing = full({1}, 0, DType::int64, any.device());
  group.all_reduce(nothing, ReduceOp::max);
}

}  // namespace lockstep::train
