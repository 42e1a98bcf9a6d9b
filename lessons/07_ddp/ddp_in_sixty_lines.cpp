// Training with DDP, from main() to the loss. Every rank runs this program:
//   ./lab run --ranks 2 -- build/release/bin/ddp-in-sixty-lines
#include <iostream>

#include "engine/autograd/operations.hpp"
#include "engine/base/bytes.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/launch/world.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/tensor/cpu/products.hpp"

using namespace lockstep;

int main() try {
  // The launcher has said in the environment who this rank is. Its store brings the ranks together.
  const auto world = launch::join_world(launch::process_environment());
  const int rank = world->environment.rank, ranks = world->environment.world_size;
  const auto group =
      comm::make_gloo_group(*world->store, rank, ranks, {.hostname = world->hostname});

  CpuDevice device(kernels::best_products());
  const auto dataset = data::open_fashion_mnist(data::Split::train);
  const auto share = [&](int epoch) {  // the samples of this rank, in its order
    return data::distributed_indices(
        {.length = dataset->size(), .rank = rank, .ranks = ranks, .epoch = epoch});
  };
  const auto loader = data::make_plain_loader(*dataset, share, {.batch_size = 64}, device);
  const std::vector<std::int64_t> widths{784, 256, 128, 10};
  const auto replica = nn::make_mlp(widths, DType::float32, device, 0);
  ddp::Ddp model(*replica, *group);  // all replicas are now rank 0's
  const auto optimizer =
      optim::make_sgd(model.parameters(), {.learning_rate = 0.05, .momentum = 0.9});

  for (int epoch = 0, step = 0; epoch < 1; ++epoch) {
    loader->start(epoch);
    while (const auto batch = loader->next()) {
      optimizer->zero_grad();
      Tape tape(GradMode::record);
      const Value logits = model.forward(tape, tape.constant(batch->inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch->labels);
      model.report(loss.tensor);
      tape.backward(loss);  // gradients are averaged over the ranks while it runs
      optimizer->step();    // the same update on every rank
      const double mean = model.mean_loss();
      if (rank == 0 && ++step % 100 == 1) std::cout << "step " << step << "  loss " << mean << "\n";
    }
  }
  std::uint64_t sum = 0;  // equal on all ranks: one model
  for (const Parameter* p : model.parameters())
    sum = 31 * sum + checksum_of(std::as_bytes(p->value.data<float>()));
  std::cout << text("rank ", rank, ": weights have the checksum ", sum, "\n");
  world->leave();
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
