#include "grader/parts/05_data_parallel/training_loop/reads.hpp"

#include <algorithm>
#include <functional>

#include "engine/data/distributed_sampler.hpp"

namespace lockstep::grader::training_loop {
namespace {

using Indices = std::vector<std::int64_t>;

Indices joined(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

std::string list(const Indices& indices) {
  constexpr std::size_t shown_max = 12;
  std::string words;
  for (std::size_t i = 0; i < std::min(indices.size(), shown_max); ++i) {
    words += text(i == 0 ? "" : ", ", indices[i]);
  }
  return indices.empty() ? "(none)" : indices.size() > shown_max ? words + ", …" : words;
}

// The samples that a rank would read if its sampler were asked for something else in each epoch.
Indices read_with(const DrawnLoop& drawn, int rank,
                  const std::function<void(data::SamplerOptions&)>& change) {
  Indices all;
  for (int epoch = 0; epoch < drawn.problem.epochs; ++epoch) {
    data::SamplerOptions options{drawn.problem.samples, rank, drawn.problem.ranks(),
                                 drawn.case_of(rank).options.seed, epoch};
    change(options);
    const Indices order = data::distributed_indices(options);
    all.insert(all.end(), order.begin(), order.end());
  }
  return all;
}

// Why the reading ended after so many samples: at the end of an epoch whose loss had risen?
Cause cause_of_stop(const DrawnLoop& drawn, int rank, std::size_t samples) {
  const std::size_t share =
      joined(drawn.reads_of(rank)).size() / static_cast<std::size_t>(drawn.problem.epochs);
  const std::size_t epochs = samples / share;
  const auto losses = epoch_losses(drawn.problem, train_on_one_device(drawn).losses);
  if (samples % share == 0 && epochs >= 2 && losses[epochs - 1] > losses[epochs - 2]) {
    return {"stopped_at_a_rise",
            text("reading stopped after epoch ", epochs - 1,
                 ", whose loss rose; options.epochs sets the number of epochs")};
  }
  return {"stopped_early", "reading stopped before the end of the last epoch"};
}

Cause likely_cause(const DrawnLoop& drawn, int rank, const Indices& seen) {
  const auto is = [&](const std::function<void(data::SamplerOptions&)>& change) {
    return seen == read_with(drawn, rank, change);
  };
  if (seen.empty()) return {"nothing_read", "the loop over epochs or batches never ran"};
  if (is([](auto& options) { options.epoch = 0; })) {
    return {"no_set_epoch",
            "the sampler was asked for epoch 0 every time, as in a PyTorch loop without set_epoch, "
            "so every epoch has the same order"};
  }
  if (is([&](auto& options) { options.seed += static_cast<std::uint64_t>(rank); })) {
    return {"seed_per_rank",
            "the rank went into the seed: all ranks must shuffle with one seed, or their shares "
            "overlap and miss samples"};
  }
  if (is([](auto& options) { ++options.epoch; })) {
    return {"epochs_from_one", "epochs were counted from 1; they count from 0"};
  }
  if (is([](auto& options) { options.seed = 0; })) {
    return {"seed_ignored", "the order is that of seed 0: options.seed was ignored"};
  }
  if (is([](auto& options) { options.order = data::Order::sequential; })) {
    return {"not_shuffled", "the samples were not shuffled"};
  }
  if (is([](auto& options) { options.tail = data::Tail::drop; })) {
    return {"tail_dropped", "the end of the order was cut off; pad the order instead"};
  }
  if (is([](auto& options) { options.rank = 0, options.ranks = 1; })) {
    return {"read_everything", "every rank read the whole dataset, as if it were alone"};
  }
  if (is([](auto& options) { options.rank = 0; })) {
    return {"share_of_rank_0", "this is rank 0's share"};
  }
  std::vector<Indices> full = drawn.reads_of(rank);
  std::erase_if(full,
                [&](const Indices& batch) { return std::ssize(batch) < drawn.problem.batch; });
  if (seen == joined(full)) {
    return {"last_batch_dropped",
            "the short last batch of each epoch was left out; the loader must keep it "
            "(LastBatch::keep)"};
  }
  const Indices right = joined(drawn.reads_of(rank));
  if (seen.size() < right.size() && std::equal(seen.begin(), seen.end(), right.begin())) {
    return cause_of_stop(drawn, rank, seen.size());
  }
  if (seen.size() > right.size() && std::equal(right.begin(), right.end(), seen.begin())) {
    return {"went_on", "the loop went on after the last epoch that options.epochs asks for"};
  }
  return {"other_order",
          "a rank reads the distributed_indices of its rank, the number of ranks, options.seed and "
          "the epoch"};
}

}  // namespace

std::optional<Failure> reading_failure(const DrawnLoop& drawn, int rank,
                                       const std::vector<Indices>& reads) {
  const std::vector<Indices> right = drawn.reads_of(rank);
  const auto at = static_cast<std::size_t>(
      std::mismatch(reads.begin(), reads.end(), right.begin(), right.end()).first - reads.begin());
  if (at == reads.size() && reads.size() == right.size()) return std::nullopt;
  const Indices seen = at < reads.size() ? reads[at] : Indices{};
  const Indices expected = at < right.size() ? right[at] : Indices{};
  const Cause cause =
      joined(reads) == joined(right)
          ? Cause{"other_batches",
                  text("the order is right, but a rank's batches have ", drawn.problem.batch,
                       " samples, and only an epoch's last batch may have fewer")}
          : likely_cause(drawn, rank, joined(reads));
  return because(
      cause, {.message = text("rank ", rank, " read the samples ", list(seen), " in its step ", at,
                              " where ", list(expected), " were expected"),
              .expected = list(expected),
              .seen = list(seen),
              .where = text("rank ", rank, ", step ", at)});
}

}  // namespace lockstep::grader::training_loop
