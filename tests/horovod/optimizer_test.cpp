// The distributed optimizer on simulated ranks: what it makes of gradients, and what it refuses.
#include <cmath>
#include <set>

#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using horovod::Combine;
using horovod::DistributedOptimizer;
using horovod::HorovodOptions;
using lockstep::test::contains;
using lockstep::test::message_of;
using lockstep::test::on_sim;
using lockstep::test::Weighted;

namespace {

std::unique_ptr<DistributedOptimizer> wrap(Weighted& model, comm::ProcessGroup& group,
                                           Strands& strands, HorovodOptions options = {}) {
  options.strands = &strands;
  return horovod::make_distributed_optimizer(
      optim::make_sgd(model.parameters(), {.learning_rate = 1}), group, options);
}

// 1 + 2 + … + N, which the ranks bring as rank + 1.
double sum_of(const comm::ProcessGroup& group) { return group.size() * (group.size() + 1) / 2.0; }

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("horovod: step takes the ranks' average or sum, on 1 to 8 and 13 ranks") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 13);
  const Combine combine = GENERATE(Combine::average, Combine::sum);
  CAPTURE(ranks);
  const auto run = on_sim(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({1, 0, 7, 13, 2}, device);
    const auto optimizer = wrap(model, group, strands, {.combine = combine});
    const double expected = combine == Combine::sum ? sum_of(group) : sum_of(group) / group.size();
    for (int step = 1; step <= 3; ++step) {
      optimizer->zero_grad();
      model.backward(group.rank() + 1);
      optimizer->step();
      LOCKSTEP_EXPECT(std::abs(model.grad(3, 12) - expected) < 1e-12);
      // A learning rate of 1, from 1 on.
      LOCKSTEP_EXPECT(std::abs(model.all[2].value.item(6) - (1 - step * expected)) < 1e-11);
    }
    LOCKSTEP_EXPECT(optimizer->figures().tensors == (group.size() == 1 ? 0 : 15));
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: ranks whose gradients come in different orders get the bits of those in one") {
  const int ranks = GENERATE(2, 3, 4, 5, 8);
  const std::int64_t threshold = GENERATE(0, 64, 1 << 20);
  CAPTURE(ranks, threshold);
  const auto bits_with = [&](const std::function<std::vector<std::size_t>(int)>& used) {
    std::set<std::uint64_t> hashes;
    const auto run = on_sim(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
      CpuDevice device;
      Weighted model({3, 1, 4, 1, 5, 9}, device, DType::float32);
      model.used = used(group.rank());
      const auto optimizer =
          wrap(model, group, strands, {.fusion_threshold_bytes = threshold, .cycle_s = 0});
      std::uint64_t hash = 0;
      for (int step = 0; step < 4; ++step) {
        optimizer->zero_grad();
        model.backward(0.1 * (group.rank() + 1) + step);
        optimizer->step();
        for (const Parameter& p : model.all) hash = hash * 31 + checksum_of(p.grad.raw_bytes());
      }
      hashes.insert(hash);
    });
    CHECK(run.all() == "");
    CHECK(hashes.size() == 1);  // the same on every rank
    return hashes;
  };
  const std::vector<std::size_t> forward{0, 1, 2, 3, 4, 5}, reversed{5, 4, 3, 2, 1, 0};
  const auto alike = bits_with([&](int) { return forward; });
  CHECK(bits_with([&](int rank) { return rank % 2 == 1 ? reversed : forward; }) == alike);
  CHECK(bits_with([&](int rank) {
          auto order = forward;
          std::ranges::rotate(order, order.begin() + rank % 6);
          return order;
        }) == alike);
}

TEST_CASE(
    "horovod: K backward passes are summed on each rank, reduced once, and not divided by K") {
  const int ranks = GENERATE(1, 2, 3);
  const auto run = on_sim(ranks, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({4, 2}, device);
    const auto optimizer = wrap(model, group, strands, {.backward_passes_per_step = 3});
    const double mean = sum_of(group) / group.size();
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      for (int pass = 0; pass < 3; ++pass) {
        LOCKSTEP_EXPECT(optimizer->figures().tensors == (group.size() == 1 ? 0 : 2 * step));
        model.backward(group.rank() + 1);
      }
      optimizer->step();
      LOCKSTEP_EXPECT(std::abs(model.grad(0, 3) - 3 * mean) < 1e-12);
    }
    // A step of fewer passes goes as it is, and K can change between steps.
    optimizer->zero_grad();
    model.backward(group.rank() + 1);
    optimizer->step();
    LOCKSTEP_EXPECT(std::abs(model.grad(1, 1) - mean) < 1e-12);
    optimizer->set_backward_passes_per_step(1);
    optimizer->zero_grad();
    model.backward(group.rank() + 1);
    LOCKSTEP_EXPECT(says(message_of([&] { model.backward(1); }), "more than 1 time before step()"));
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: a parameter that some ranks, or all, leave out is reduced with zeros") {
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({2, 3, 4}, device);
    model.used = {static_cast<std::size_t>(group.rank() % 2)};  // p2: nobody
    const auto optimizer = wrap(model, group, strands);
    optimizer->zero_grad();
    model.backward(6);
    optimizer->step();
    LOCKSTEP_EXPECT(std::abs(model.grad(0) - 4) < 1e-12);  // ranks 0 and 2 of 3
    LOCKSTEP_EXPECT(std::abs(model.grad(1) - 2) < 1e-12);
    LOCKSTEP_EXPECT(model.grad(2) == 0);
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: an average divides the sum, and a predivide factor moves the division") {
  // In float32, 6 + 1 + 9 divided by 3 is not the sum of the thirds.
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({2}, device, DType::float32);
    const std::array<double, 3> brought{6, 1, 9};
    for (const double factor : {1.0, 3.0, 0.5}) {
      const auto optimizer = wrap(model, group, strands, {.gradient_predivide_factor = factor});
      optimizer->zero_grad();
      model.backward(brought[static_cast<std::size_t>(group.rank())]);
      optimizer->synchronize();
      const float divided = 16.0F / 3;
      const float expected = factor == 3 ? std::nextafterf(divided, 0) : divided;
      LOCKSTEP_EXPECT(model.grad(0, 1) == static_cast<double>(expected));
      optimizer->zero_grad();  // after synchronize() it is allowed
    }
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: gradients are clipped between synchronize and step") {
  const int ranks = GENERATE(1, 2, 4);
  const auto run = on_sim(ranks, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3}, device);
    const auto optimizer = wrap(model, group, strands);
    for (int step = 0; step < 2; ++step) {
      optimizer->zero_grad();
      model.backward(group.rank() + 1);
      optimizer->synchronize();
      const Tensor norm = optim::clip_grad_norm(optimizer->parameters(), 0.5);
      LOCKSTEP_EXPECT(std::abs(number_of(norm) - std::sqrt(3) * sum_of(group) / group.size()) <
                      1e-12);
      const std::int64_t reduced = optimizer->figures().tensors;
      const auto guard = optimizer->skip_synchronize();
      optimizer->step();
      LOCKSTEP_EXPECT(optimizer->figures().tensors == reduced);
      LOCKSTEP_EXPECT(std::abs(model.grad(0) - 0.5 / std::sqrt(3)) < 1e-6);
    }
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: calls in the wrong order are refused, and the sentence says what to do") {
  const int ranks = GENERATE(1, 2);
  const auto run = on_sim(ranks, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, 2}, device);
    const auto optimizer = wrap(model, group, strands);
    const auto saved = optimizer->state();
    model.backward(1);
    LOCKSTEP_EXPECT(says(message_of([&] { optimizer->zero_grad(); }),
                         "zero_grad() was called after a backward pass and before its gradients"));
    LOCKSTEP_EXPECT(says(message_of([&] { optimizer->load_state(saved); }), "load_state()"));
    LOCKSTEP_EXPECT(
        says(message_of([&] { optimizer->set_backward_passes_per_step(2); }), "take the step"));
    {
      const auto guard = optimizer->skip_synchronize();
      LOCKSTEP_EXPECT(says(message_of([&] { optimizer->step(); }), "call synchronize() before it"));
    }
    LOCKSTEP_EXPECT(says(message_of([&] { model.backward(1); }), "set backward_passes_per_step"));
    optimizer->synchronize();
    LOCKSTEP_EXPECT(says(message_of([&] { optimizer->step(); }), "under skip_synchronize()"));
    LOCKSTEP_EXPECT(says(message_of([&] { optimizer->synchronize(); }), "called twice"));
    const auto guard = optimizer->skip_synchronize();
    optimizer->step();
    optimizer->zero_grad();
    model.backward(1);
    optimizer->synchronize();  // a backward pass in between: allowed
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: options that make no sense are refused") {
  const auto run = on_sim(1, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, 2}, device);
    const auto refusal = [&](const HorovodOptions& options) {
      return message_of([&] { (void)wrap(model, group, strands, options); });
    };
    LOCKSTEP_EXPECT(says(refusal({.combine = Combine::adasum}), "Adasum is not built into"));
    LOCKSTEP_EXPECT(says(refusal({.backward_passes_per_step = 0}), "0 backward passes per step"));
    LOCKSTEP_EXPECT(says(refusal({.combine = Combine::sum, .gradient_predivide_factor = 2}),
                         "a predivide factor of 2"));
    LOCKSTEP_EXPECT(says(refusal({.fusion_threshold_bytes = -1}), "threshold of -1 bytes"));
    LOCKSTEP_EXPECT(says(refusal({.cycle_s = -1}), "a cycle of -1 s"));
    model.all[1].name = "p0";
    LOCKSTEP_EXPECT(says(refusal({}), "two parameters have the name p0"));
  });
  CHECK(run.all() == "");
  const auto without = on_sim(2, [](comm::ProcessGroup& group, Strands&) {
    CpuDevice device;
    Weighted model({3}, device);
    LOCKSTEP_EXPECT(says(message_of([&] {
                           (void)horovod::make_distributed_optimizer(
                               optim::make_sgd(model.parameters(), {}), group, {});
                         }),
                         "2 ranks need a strand each"));
  });
  CHECK(without.all() == "");
}

TEST_CASE("horovod: the wrapped optimizer is asked, and keeps its hooks to itself") {
  const auto run = on_sim(2, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, 2}, device);
    int heard = 0;
    model.all[0].hooks.emplace_back([&](Parameter&) { ++heard; });
    {
      const auto optimizer = wrap(model, group, strands);
      LOCKSTEP_EXPECT(optimizer->kind() == "sgd" && optimizer->learning_rate() == 1);
      optimizer->set_learning_rate(0.5);
      LOCKSTEP_EXPECT(optimizer->learning_rate() == 0.5);
      LOCKSTEP_EXPECT(optimizer->parameters().size() == 2);
      model.backward(1);
      optimizer->step();
      LOCKSTEP_EXPECT(optimizer->state().empty());  // no momentum
    }
    model.backward(1);
    LOCKSTEP_EXPECT(heard == 2);
    LOCKSTEP_EXPECT(model.all[0].hooks.size() == 1 && model.all[1].hooks.empty());
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: ranks that train different parameters are told which, on every rank") {
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, 2}, device);
    if (group.rank() == 2) model.all[1].name = "q";
    const auto optimizer = wrap(model, group, strands);
    model.backward(1);
    const std::string message = message_of([&] { optimizer->step(); });
    LOCKSTEP_EXPECT(says(message, "the gradient p1 is ready on ranks 0, 1 and not on rank 2"));
    // The failure stays.
    LOCKSTEP_EXPECT(message_of([&] { optimizer->synchronize(); }) != "");
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: a gradient of another shape or type is refused on every rank") {
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, group.rank() == 1 ? 5 : 2}, device);
    const auto optimizer = wrap(model, group, strands);
    model.backward(1);
    LOCKSTEP_EXPECT(says(message_of([&] { optimizer->step(); }),
                         "the gradient p1 is float64 [2] on rank 0 and float64 [5] on rank 1"));
  });
  CHECK(run.all() == "");
}
