// What a layer of experts has, decides and sends:
//   build/release/bin/experts sizes     parameters of models of Mixtral's shape, and of a token
//   build/release/bin/experts six       six tokens, three experts with two slots: who gets them
//   build/release/bin/experts value     the same tokens as numbers, from dispatch to result
//   build/release/bin/experts balance   two ranks with other tokens: one loss, and each rank's own
//   build/release/bin/experts bytes     what eight simulated ranks send for a layer, in four ways
#include <array>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "engine/parallel/expert/load_balancing_loss.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

using namespace lockstep;
using namespace lockstep::expert_parallel;

namespace {

// Runs the program on every one of so many simulated ranks.
void on_ranks(int ranks, const std::function<void(comm::ProcessGroup&, Device&)>& program) {
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    program(*comm::make_sim_group(self.port, self.rank, self.ranks), device);
  });
  for (const std::string& failure : result.failures) {
    if (!failure.empty()) throw Error(failure);
  }
}

// Layers, widths and vocabulary of Mixtral 8x7B [JSR24] table 1. An expert has three matrices.
void sizes() {
  constexpr double layers = 32, width = 4096, hidden = 14336, vocabulary = 32000;
  constexpr double expert = 3 * width * hidden;
  constexpr double attention = 2 * width * width + 2 * width * width / 4;  // a key for four queries
  constexpr double tables = 2 * vocabulary * width;
  std::cout << "experts  chosen  parameters  of a token  forward a token\n" << std::fixed;
  const auto tell = [&](double experts, double chosen) {
    const auto with = [&](double some) {
      return layers * (attention + experts * width + some * expert) + tables;
    };
    const double of_token = with(chosen), used = of_token - tables / 2;  // one table is looked up
    std::cout << std::setprecision(0) << std::setw(7) << experts << std::setw(8) << chosen
              << std::setprecision(1) << std::setw(10) << with(experts) / 1e9 << " B"
              << std::setw(10) << of_token / 1e9 << " B" << std::setw(11) << 2 * used / 1e9
              << " GFLOP\n";
  };
  tell(1, 1);
  tell(2, 2);
  tell(8, 2);
  tell(64, 2);
}

// Six tokens and their first and second choices. Softmax gives these 9/13 and 3/13 of the weight,
// and 3/4 and 1/4 when the two are made to add up to 1.
constexpr std::int64_t six_tokens = 6, three_experts = 3;
constexpr std::array<std::array<std::int64_t, 2>, 6> choices{
    {{0, 1}, {0, 2}, {0, 1}, {1, 0}, {2, 0}, {2, 1}}};

std::vector<Route> routes_of_six(Device& device) {
  std::vector<double> logits(six_tokens * three_experts, 0);
  for (std::size_t token = 0; token < choices.size(); ++token) {
    logits[3 * token + static_cast<std::size_t>(choices[token][0])] = std::log(9);
    logits[3 * token + static_cast<std::size_t>(choices[token][1])] = std::log(3);
  }
  return route(from_values(logits, {six_tokens, three_experts}, DType::float64, device), 2);
}

// Wrong on purpose: slots are given token by token, so a second choice can take the place of
// another token's first.
SlotPlan token_by_token(std::span<const Route> routes, std::int64_t capacity) {
  SlotPlan plan{six_tokens, three_experts, capacity, {}};
  for (std::int64_t expert = 0; expert < three_experts; ++expert) {
    std::int64_t taken = 0;
    for (const Route& route : routes) {  // by token, and then by choice
      if (route.expert == expert && taken++ < capacity) plan.placed.push_back(route);
    }
  }
  return plan;
}

void tell_slots(const std::string& how, const SlotPlan& plan) {
  std::map<std::int64_t, std::string> of_expert;
  std::map<std::int64_t, int> of_token;
  int first = 0;
  for (const Route& place : plan.placed) {
    std::string& told = of_expert[place.expert];
    told += text(told.empty() ? "" : ", ", place.token, place.choice == 1 ? "*" : "");
    ++of_token[place.token];
    first += place.choice == 0 ? 1 : 0;
  }
  std::string without;
  for (std::int64_t token = 0; token < plan.tokens; ++token) {
    if (of_token[token] == 0) without += text(without.empty() ? "" : ", ", token);
  }
  std::cout << std::left << std::setw(22) << how;
  for (std::int64_t expert = 0; expert < plan.experts; ++expert) {
    std::cout << std::setw(10) << of_expert[expert];
  }
  std::cout << std::setw(10) << without << first << " of 6\n";
}

void six() {
  CpuDevice device;
  const std::vector<Route> routes = routes_of_six(device);
  const SlotPlan plan = assign_slots(routes, three_experts, 0.5);  // ⌈6·2/3·0.5⌉ = 2 slots
  std::cout << "tokens of             expert 0  expert 1  expert 2  none      first choices\n";
  tell_slots("first choices first", plan);
  tell_slots("token by token", token_by_token(routes, plan.capacity));
}

// Expert 0 doubles a number, expert 1 multiplies by ten, expert 2 by four. All six tokens are 4 and
// belong to rank 0 of three; each rank has one expert.
void value() {
  const std::array<double, 3> factors{2, 10, 4};
  on_ranks(3, [&](comm::ProcessGroup& group, Device& device) {
    const bool has_tokens = group.rank() == 0;
    SlotPlan plan{0, three_experts, 0, {}};
    if (has_tokens) plan = assign_slots(routes_of_six(device), three_experts, 0.5);
    std::vector<double> weights;
    for (const Route& place : plan.placed) weights.push_back(place.weight);
    Tape tape(GradMode::record);
    const Value tokens = tape.input(full({plan.tokens, 1}, 4, DType::float64, device));
    const Value by =
        tape.input(from_values(weights, {std::ssize(weights)}, DType::float64, device));
    std::int64_t rows_here = 0;
    const Value out = dispatch_and_combine(
        tape, group, plan, tokens, by,
        [&](Tape& same, const Value& rows, std::span<const std::int64_t> counts) {
          rows_here = counts[0];
          return autograd::scale(same, rows, factors[static_cast<std::size_t>(group.rank())]);
        });
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank == group.rank()) {
        std::cout << "expert " << rank << " computes " << rows_here << " rows\n";
      }
      group.barrier();
    }
    for (std::int64_t token = 0; token < plan.tokens; ++token) {
      std::cout << "token " << token << ": 4 + " << out.tensor.item(token) << "\n";
    }
  });
}

// Each rank has four tokens, and each of these has one expert, with a probability of 0.9.
void balance() {
  const auto loss_of = [](comm::ProcessGroup& group, int rank, Device& device) {
    std::vector<double> shares;
    for (int token = 0; token < 4; ++token) {
      shares.insert(shares.end(), {rank == 0 ? 0.9 : 0.1, rank == 0 ? 0.1 : 0.9});
    }
    const std::vector<std::int64_t> first(4, rank);
    return load_balancing_loss(group, from_values(shares, {4, 2}, DType::float64, device), first,
                               0.01);
  };
  std::cout << "                         loss  slope for expert 0, 1\n" << std::fixed;
  const auto tell = [](const std::string& who, const BalancingLoss& seen) {
    std::cout << std::left << std::setw(24) << who << std::right << std::setprecision(3)
              << seen.loss << std::setprecision(5) << std::setw(12) << seen.gradient.item(0)
              << std::setw(10) << seen.gradient.item(1) << "\n";
  };
  on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    const BalancingLoss seen = loss_of(group, group.rank(), device);
    if (group.rank() == 0) tell("both ranks together", seen);
  });
  for (const int rank : {0, 1}) {
    on_ranks(1, [&](comm::ProcessGroup& group, Device& device) {
      tell(text("rank ", rank, " by itself"), loss_of(group, rank, device));
    });
  }
}

// Eight ranks with 256 tokens of 64 float32 each, 16 experts, two for a token, chosen at random.
constexpr std::int64_t ranks = 8, tokens_of_rank = 256, width = 64, sixteen = 16, chosen = 2;

SlotPlan random_plan(int rank, double factor, Device& device) {
  std::vector<double> logits;
  for (std::int64_t i = 0; i < tokens_of_rank * sixteen; ++i) {
    logits.push_back(
        random_uniform(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i)));
  }
  const Tensor tensor = from_values(logits, {tokens_of_rank, sixteen}, DType::float64, device);
  return assign_slots(route(tensor, chosen), sixteen, factor);
}

void tell_bytes(const std::string& how,
                const std::function<void(comm::ProcessGroup&, Device&)>& way) {
  std::int64_t bytes = 0;
  on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
    way(group, device);
    bytes += group.traffic().bytes_sent;
  });
  const double of_rank = static_cast<double>(bytes) / ranks;
  std::cout << std::left << std::setw(42) << how << std::right << std::setw(9) << std::fixed
            << std::setprecision(1) << of_rank / 1e3 << " kB" << std::setw(7)
            << of_rank / (tokens_of_rank * width * 4) << " rows\n";
}

void bytes() {
  const auto buffer = [](std::int64_t rows, Device& device) {
    return zeros({rows, width}, DType::float32, device);
  };
  std::cout << "a forward pass                              of a rank   of a token\n";
  tell_bytes("activated tokens, there and back", [&](comm::ProcessGroup& group, Device& device) {
    const SlotPlan plan = random_plan(group.rank(), no_capacity, device);
    Tape tape(GradMode::record);
    const Value weights = tape.input(full({std::ssize(plan.placed)}, 0.5, DType::float32, device));
    dispatch_and_combine(tape, group, plan, tape.input(buffer(tokens_of_rank, device)), weights,
                         [](Tape&, const Value& rows, auto) { return rows; });
  });
  tell_bytes("all slots, also empty ones, F = 2", [&](comm::ProcessGroup& group, Device& device) {
    const std::int64_t slots = random_plan(group.rank(), 2, device).capacity * sixteen;
    const Tensor there = buffer(slots, device), back = buffer(slots, device);
    group.all_to_all(there, back);
    group.all_to_all(back, there);
  });
  tell_bytes("all tokens to all ranks, and sums back", [&](comm::ProcessGroup& group,
                                                           Device& device) {
    const Tensor own = buffer(tokens_of_rank, device), all = buffer(ranks * tokens_of_rank, device);
    group.all_gather(own, all);
    group.reduce_scatter(all, own, ReduceOp::sum);
  });
  tell_bytes("a dense layer cut by tp 8: an all-reduce",
             [&](comm::ProcessGroup& group, Device& device) {
               group.all_reduce(buffer(ranks * tokens_of_rank, device), ReduceOp::sum);
             });
}

const std::map<std::string, std::function<void()>> commands{
    {"sizes", sizes}, {"six", six}, {"value", value}, {"balance", balance}, {"bytes", bytes}};

}  // namespace

int main(int count, char** words) {
  try {
    const auto found = commands.find(count == 2 ? words[1] : "");
    if (found == commands.end()) throw UsageError("usage: experts sizes|six|value|balance|bytes");
    found->second();
  } catch (const std::exception& error) {
    std::cerr << "experts: " << error.what() << "\n";
    return 2;
  }
}
