// What each rank of a sharded model decides for its own shard, beside what all decide together:
//   build/release/bin/decisions clip    the factor that bounds the gradient's norm
//   build/release/bin/decisions skip    whether an update is left out, because a gradient
//   overflowed
// Two simulated ranks own two elements each.
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

// Runs the program on two ranks with a shard each, and prints what it makes of them, end to end.
void on_shards(const char* who, const std::vector<double>& whole, const Program& program) {
  sim::Options options;
  options.ranks = 2;
  sim::Core core(options);
  std::vector<double> after(whole.size());
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto first = static_cast<std::size_t>(self.rank) * 2;
    const Tensor mine = from_values({whole[first], whole[first + 1]}, {2}, DType::float64, device);
    program(*group, mine);
    for (std::size_t i = 0; i < 2; ++i) after[first + i] = mine.item(static_cast<std::int64_t>(i));
  });
  if (result.finding) throw Error(result.finding->message);
  double squares = 0;
  std::cout << std::left << std::setw(11) << who << std::right;
  for (const double value : after) {
    std::cout << std::setw(7) << value;
    squares += value * value;
  }
  std::cout << "   norm " << std::sqrt(squares) << "\n";
}

void clip_my_shard(const Tensor& mine, double max_norm) {
  const Tensor squares = ops::sum_of_squares(std::vector{mine});
  const auto [norm, factor] = ops::clip_factor(squares, max_norm);
  ops::scale_by_(mine, factor);
}

void tell_clip() {
  const std::vector<double> gradient{3, 4, 0, 12};
  on_shards("gradient", gradient, [](comm::ProcessGroup&, const Tensor&) {});
  on_shards("each alone", gradient,
            [](comm::ProcessGroup&, const Tensor& mine) { clip_my_shard(mine, 1); });
  on_shards("together", gradient, [](comm::ProcessGroup& group, const Tensor& mine) {
    comm::ProcessGroup* const groups[] = {&group};
    const std::vector<Tensor> pieces{mine};
    replicas::clip_global_norm(groups, {pieces, {}}, 1);
  });
}

bool overflowed(const Tensor& mine) {
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    if (!std::isfinite(mine.item(i))) return true;
  }
  return false;
}

// Weights of 1 and a rate of 0.1: `mine` has the gradient before the update, and the weights after.
void update(const Tensor& mine, bool skips) {
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    const double weight = skips ? 1 : 1 - 0.1 * mine.item(i);
    mine.narrow(i, 1).fill_(weight);
  }
}

void tell_skip() {
  const std::vector<double> gradient{1, 2, 3, INFINITY};
  on_shards("gradient", gradient, [](comm::ProcessGroup&, const Tensor&) {});
  on_shards("each alone", gradient,
            [](comm::ProcessGroup&, const Tensor& mine) { update(mine, overflowed(mine)); });
  on_shards("together", gradient, [](comm::ProcessGroup& group, const Tensor& mine) {
    const Tensor any = full({1}, overflowed(mine) ? 1 : 0, DType::float64, mine.device());
    group.all_reduce(any, ReduceOp::max);
    update(mine, any.item() > 0);
  });
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count == 2 ? words[1] : "";
    std::cout << std::fixed << std::setprecision(2);
    if (which == "clip") {
      tell_clip();
    } else if (which == "skip") {
      tell_skip();
    } else {
      throw UsageError("usage: decisions clip|skip");
    }
  } catch (const std::exception& error) {
    std::cerr << "decisions: " << error.what() << "\n";
    return 2;
  }
}
