// What each rank of a sharded model decides for its own shard, beside what all decide together:
//   build/release/bin/decisions clip    by how much gradients are scaled, so that their norm is 1
//   build/release/bin/decisions skip    whether an update is left out, because a gradient
//   overflowed
// Two simulated ranks own two of four elements each.
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/tensor/ops.hpp"

using namespace lockstep;

namespace {

using Program = std::function<void(comm::ProcessGroup&, const Tensor& mine)>;

// Runs the program on two ranks with half of the gradient each; returns what it makes of them.
std::vector<double> on_shards(const std::vector<double>& gradient, const Program& program) {
  sim::Options options;
  options.ranks = 2;
  sim::Core core(options);
  std::vector<double> after(4);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto first = static_cast<std::size_t>(self.rank) * 2;
    const std::vector<double> half{gradient[first], gradient[first + 1]};
    const Tensor mine = from_values(half, {2}, DType::float64, device);
    program(*group, mine);
    for (std::size_t i = 0; i < 2; ++i) after[first + i] = mine.item(static_cast<std::int64_t>(i));
  });
  if (result.finding) throw Error(result.finding->message);
  return after;
}

void tell(const char* what, const std::vector<double>& values) {
  std::cout << std::left << std::setw(12) << what << std::right;
  for (const double value : values) std::cout << std::setw(7) << value;
}

void tell_with_norm(const char* what, const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  tell(what, values);
  std::cout << "   norm " << std::sqrt(squares) << "\n";
}

void clip_my_shard(const Tensor& mine, double max_norm) {
  const Tensor squares = ops::sum_of_squares(std::vector{mine});
  const auto [norm, factor] = ops::clip_factor(squares, max_norm);
  ops::scale_by_(mine, factor);
}

void clip() {
  const std::vector<double> gradient{3, 4, 0, 12};
  tell_with_norm("gradient", gradient);
  const auto alone =
      on_shards(gradient, [](comm::ProcessGroup&, const Tensor& mine) { clip_my_shard(mine, 1); });
  tell_with_norm("each alone", alone);
  const auto together = on_shards(gradient, [](comm::ProcessGroup& group, const Tensor& mine) {
    comm::ProcessGroup* const groups[] = {&group};
    const std::vector<Tensor> pieces{mine};
    replicas::clip_global_norm(groups, {pieces, {}}, 1);
  });
  tell_with_norm("together", together);
}

double overflowed(const Tensor& mine) {
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    if (!std::isfinite(mine.item(i))) return 1;
  }
  return 0;
}

// From weights of 1, at a rate of 0.1. `mine` has the gradients before, and the weights after.
void update(const Tensor& mine, bool skips) {
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    mine.narrow(i, 1).fill_(skips ? 1 : 1 - 0.1 * mine.item(i));
  }
}

void skip() {
  const std::vector<double> gradient{1, 2, 3, INFINITY};
  std::vector<int> scales(2);  // of the next step, by rank
  const auto decide = [&](comm::ProcessGroup& group, const Tensor& mine, bool skips) {
    update(mine, skips);
    scales[static_cast<std::size_t>(group.rank())] = skips ? 32768 : 65536;
  };
  const auto tell_with_scales = [&](const char* what, const std::vector<double>& weights) {
    tell(what, weights);
    std::cout << "   next scales " << scales[0] << " and " << scales[1] << "\n";
  };
  tell("gradient", gradient);
  std::cout << "\n";
  const auto alone = on_shards(gradient, [&](comm::ProcessGroup& group, const Tensor& mine) {
    decide(group, mine, overflowed(mine) > 0);
  });
  tell_with_scales("each alone", alone);
  const auto together = on_shards(gradient, [&](comm::ProcessGroup& group, const Tensor& mine) {
    const Tensor any = full({1}, overflowed(mine), DType::float64, mine.device());
    group.all_reduce(any, ReduceOp::max);
    decide(group, mine, any.item() > 0);
  });
  tell_with_scales("together", together);
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count == 2 ? words[1] : "";
    if (which != "clip" && which != "skip") throw UsageError("usage: decisions clip|skip");
    std::cout << std::fixed << std::setprecision(which == "clip" ? 2 : 1);
    which == "clip" ? clip() : skip();
  } catch (const std::exception& error) {
    std::cerr << "decisions: " << error.what() << "\n";
    return 2;
  }
}
