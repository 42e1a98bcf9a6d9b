// The loop of the exercise, on groups of threads: what its exam asserts on simulated ranks.
#include "engine/train/training_loop.hpp"

#include <array>
#include <mutex>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::on_ranks;

namespace {

constexpr std::int64_t samples = 400, loop_batch = 32;
constexpr int loop_epochs = 2;

struct Run {
  std::vector<train::LoggedStep> lines;
  std::vector<std::uint64_t> hashes;  // of the replicas
};

// Every rank begins with numbers of its own, of which rank 0's are the same in all runs.
Run trained_on(int ranks, std::int64_t batch) {
  const auto dataset = data::make_synthetic(samples, 12, 5, 1);
  Run run;
  std::mutex guards_run;
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::array widths{dataset->inputs(), std::int64_t{16}, dataset->classes()};
    const auto model = nn::make_mlp(widths, DType::float64, device, 3 + group.rank());
    const auto optimizer = optim::make_adam(model->parameters(), {});
    train::LoopOptions options;
    options.batch_size = batch;
    options.epochs = loop_epochs;
    options.seed = 7;
    options.schedule = {optim::Decay::cosine, 0.01, 3, 26, 0};
    options.clip_norm = 1;
    options.log = [&](const train::LoggedStep& line) {
      const std::scoped_lock lock(guards_run);
      run.lines.push_back(line);
    };
    train::distributed_train(group, *model, *optimizer, *dataset, options);
    const std::scoped_lock lock(guards_run);
    run.hashes.push_back(nn::hash_of(*model));
  });
  return run;
}

}  // namespace

TEST_CASE("training loop: equal global batches have equal losses, on any number of ranks") {
  const Run alone = trained_on(1, loop_batch);
  REQUIRE(alone.lines.size() == 26);  // 400 samples are twelve batches of 32 and one of 16
  CHECK(alone.lines.back().loss < alone.lines.front().loss);
  for (const int ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    const Run run = trained_on(ranks, loop_batch / ranks);
    REQUIRE(run.lines.size() == alone.lines.size());
    for (std::size_t k = 0; k < run.lines.size(); ++k) {
      CHECK(run.lines[k].step == static_cast<std::int64_t>(k));
      CHECK(run.lines[k].epoch == alone.lines[k].epoch);
      // Sums in another order, for 26 steps of Adam.
      CHECK(run.lines[k].loss == Approx(alone.lines[k].loss).epsilon(1e-9));
    }
  }
}

TEST_CASE("training loop: replicas that began unequal end equal bit for bit") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    CAPTURE(ranks);
    const Run run = trained_on(ranks, 10);
    REQUIRE(run.hashes.size() == static_cast<std::size_t>(ranks));
    for (const std::uint64_t hash : run.hashes) CHECK(hash == run.hashes.front());
    const std::int64_t of_rank = (samples + ranks - 1) / ranks;
    CHECK(run.lines.size() == static_cast<std::size_t>(loop_epochs * ((of_rank + 9) / 10)));
  }
}
