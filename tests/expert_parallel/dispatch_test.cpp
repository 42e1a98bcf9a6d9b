// Experts that ranks share beside all experts on one rank: values, gradients, bytes.
#include "engine/parallel/expert/dispatch_and_combine.hpp"

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using namespace lockstep::expert_parallel;

namespace {

constexpr std::int64_t width = 3, experts = 4;

Tensor drawn(Shape shape, std::uint64_t stream, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(2 * random_uniform(stream, static_cast<std::uint64_t>(i)) - 1);
  }
  return from_values(values, shape, DType::float64, device);
}

double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double apart = std::fabs(a.item(i) - b.item(i));
    most = apart <= most ? most : apart;
  }
  return most;
}

// Expert e multiplies a row by its matrix.
struct Matrices {
  std::vector<Parameter> all;
  Matrices(std::int64_t first, std::int64_t count, Device& device) {
    for (std::int64_t e = first; e < first + count; ++e) {
      all.push_back(
          {"w", drawn({width, width}, 50 + static_cast<std::uint64_t>(e), device), {}, {}});
    }
  }
  Value operator()(Tape& tape, const Value& rows, std::span<const std::int64_t> counts) {
    std::vector<Value> parts;
    std::int64_t start = 0;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      const Value part = autograd::narrow(tape, rows, 0, start, counts[e]);
      parts.push_back(autograd::linear(tape, part, tape.leaf(all[e])));
      start += counts[e];
    }
    return autograd::concatenate(tape, parts, 0);
  }
};

// Rank r has as many tokens, with this capacity factor.
void check_layer(comm::ProcessGroup& world, std::span<const std::int64_t> tokens_of_ranks,
                 std::int64_t k, double factor) {
  CpuDevice device;
  const std::int64_t ranks = world.size(), own = experts / ranks;
  const auto stream = static_cast<std::uint64_t>(world.rank());
  const std::int64_t tokens = tokens_of_ranks[static_cast<std::size_t>(world.rank())];
  const Tensor x = drawn({tokens, width}, stream, device);
  const Tensor grad = drawn({tokens, width}, 20 + stream, device);
  const SlotPlan plan =
      assign_slots(route(drawn({tokens, experts}, 10 + stream, device), k), experts, factor);
  std::vector<double> weights;
  for (const Route& place : plan.placed) weights.push_back(place.weight);
  const Tensor weigh = from_values(weights, {std::ssize(weights)}, DType::float64, device);

  // Dense: every token by every one of its experts.
  Matrices every(0, experts, device);
  Tape dense(GradMode::record);
  const Value in = dense.input(x), by = dense.input(weigh);
  std::vector<std::int64_t> numbers, counts(experts);
  for (const Route& place : plan.placed) {
    numbers.push_back(place.token);
    ++counts[static_cast<std::size_t>(place.expert)];
  }
  const Value rows = every(dense, take_rows(dense, in, numbers), counts);
  const Value weighed =
      autograd::multiply(dense, rows, autograd::view(dense, by, {std::ssize(plan.placed), 1}));
  const Value wanted = add_rows(dense, weighed, numbers, tokens);
  dense.backward(wanted, grad);

  Matrices mine(world.rank() * own, own, device);
  Tape tape(GradMode::record);
  const Value given = tape.input(x), factors = tape.input(weigh);
  const std::int64_t before = world.traffic().bytes_sent;
  const Value seen = dispatch_and_combine(tape, world, plan, given, factors, std::ref(mine));
  const std::int64_t forward = world.traffic().bytes_sent - before;
  tape.backward(seen, grad);
  const std::int64_t backward = world.traffic().bytes_sent - before - forward;
  CHECK(difference(seen.tensor, wanted.tensor) <= 1e-13);
  if (tokens > 0) {
    CHECK(difference(tape.gradient_of(given), dense.gradient_of(in)) <= 1e-13);
    CHECK(difference(tape.gradient_of(factors), dense.gradient_of(by)) <= 1e-13);
  }
  // An expert's gradient is the sum over the ranks of what dense layers find.
  for (std::int64_t e = 0; e < experts; ++e) {
    const auto at = static_cast<std::size_t>(e);
    const Tensor sum = every.all[at].grad.defined() ? every.all[at].grad
                                                    : zeros({width, width}, DType::float64, device);
    world.all_reduce(sum, ReduceOp::sum);
    if (e / own != world.rank()) continue;
    const Tensor& of_rank = mine.all[static_cast<std::size_t>(e % own)].grad;
    CHECK(difference(of_rank.defined() ? of_rank : zeros({width, width}, DType::float64, device),
                     sum) <= 1e-12);
  }
  // Elements sent by all ranks: choices elsewhere, there and back; and the counts.
  std::int64_t elsewhere = 0;
  for (const Route& place : plan.placed) elsewhere += place.expert / own != world.rank() ? 1 : 0;
  const Tensor sums =
      from_values(std::vector<double>{static_cast<double>(elsewhere), static_cast<double>(forward),
                                      static_cast<double>(backward)},
                  {3}, DType::float64, device);
  world.all_reduce(sums, ReduceOp::sum);
  const double rows_bytes = 2 * sums.item(0) * width * 8;
  CHECK(sums.item(1) == rows_bytes + static_cast<double>((ranks - 1) * experts * 8));
  CHECK(sums.item(2) == rows_bytes);
}

}  // namespace

TEST_CASE("dispatch: values, gradients and bytes are those of all experts on one rank") {
  for (const int ranks : {1, 2, 4}) {
    for (const std::vector<std::int64_t>& tokens :
         {std::vector<std::int64_t>{6, 6, 6, 6}, {5, 0, 1, 9}, {0, 0, 0, 3}}) {
      for (const std::int64_t k : {1, 2, 4}) {
        for (const double factor : {no_capacity, 0.6}) {
          CAPTURE(ranks, tokens, k, factor);
          test::on_fibers(
              ranks, [&](comm::ProcessGroup& world) { check_layer(world, tokens, k, factor); });
        }
      }
    }
  }
}

TEST_CASE("dispatch: what does not fit is refused before anything is sent") {
  test::on_fibers(3, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    Tape tape(GradMode::record);
    const Experts none = [](Tape&, const Value& rows, std::span<const std::int64_t>) {
      return rows;
    };
    const Value tokens = tape.constant(zeros({2, width}, DType::float64, device));
    const Value weights = tape.constant(zeros({1}, DType::float64, device));
    CHECK_THROWS_WITH(
        dispatch_and_combine(tape, world, {2, 4, 2, {{0, 1, 0, 1}}}, tokens, weights, none),
        test::contains("4 experts do not divide among 3 ranks"));
    CHECK_THROWS_WITH(
        dispatch_and_combine(tape, world, {3, 6, 2, {{0, 1, 0, 1}}}, tokens, weights, none),
        test::contains("a plan of 3"));
    CHECK_THROWS_WITH(dispatch_and_combine(tape, world, {2, 6, 2, {}}, tokens, weights, none),
                      test::contains("1 weights of the 0 places"));
    CHECK(world.traffic().bytes_sent == 0);
  });
}
