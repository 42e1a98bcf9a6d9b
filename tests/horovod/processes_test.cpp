// The distributed optimizer on processes, in shared memory and over TCP: the same numbers, and what
// ranks learn of one that fails.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/comm/solo_group.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"
#include "tests/horovod/gpt_runs.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using comm::Transport;
using lockstep::test::contains;
using lockstep::test::GptRun;
using lockstep::test::GptSeen;
using lockstep::test::Outcome;
using lockstep::test::Weighted;

namespace {

// The deadline of the group: whoever is told earlier has not waited for it.
constexpr double deadline_s = test::late_s;
constexpr double soon_s = 20;

std::string deed_of(comm::ProcessGroup& group, const GptRun& run) {
  const auto strands = make_thread_strands();
  const GptSeen alone = [&] {
    const auto one = comm::make_solo_group();
    GptRun whole = run;
    whole.options.combine = horovod::Combine::average;
    return test::run_gpt(*one, *strands, whole);
  }();
  const GptSeen seen = test::run_gpt(group, *strands, run);
  const double gradients = test::gradients_apart(seen, alone);
  const double losses = test::losses_apart(seen, alone);
  test::expect(gradients <= 1e-12 && losses <= 1e-12,
               text("gradients differ by ", gradients, ", losses by ", losses));
  return text(seen.weights);
}

void check_equal(const std::vector<Outcome>& outcomes) {
  CHECK(test::failures(outcomes) == "");
  for (const Outcome& outcome : outcomes) CHECK(outcome.message == outcomes[0].message);
}

// Three steps of three gradients. `meddle` is called in the hook of p<i>, in the order p2, p1, p0;
// then, as 3, before the step.
using Meddle = std::function<void(int rank, int step, int place)>;
std::string trained(comm::ProcessGroup& group, const Meddle& meddle) {
  CpuDevice device;
  const auto strands = make_thread_strands();
  Weighted model({20'000, 10, 5'000}, device);
  int step = 0;
  const int rank = group.rank();
  for (int i = 0; i < 3; ++i) {
    model.all[static_cast<std::size_t>(i)].hooks.emplace_back(
        [&meddle, &step, rank, i](Parameter&) { meddle(rank, step, i); });
  }
  const auto optimizer = horovod::make_distributed_optimizer(
      optim::make_sgd(model.parameters(), {}), group, {.cycle_s = 0, .strands = strands.get()});
  for (; step < 3; ++step) {
    optimizer->zero_grad();
    model.backward(rank + 1);
    meddle(rank, step, 3);
    optimizer->step();
  }
  return "trained";
}

// The others throw an error that names rank 1, long before the deadline.
void check_named(const std::vector<Outcome>& outcomes, const std::string& words = "rank 1") {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (rank == 1) continue;
    CAPTURE(rank, outcomes[rank].message, outcomes[rank].seconds);
    CHECK(!outcomes[rank].ok);
    CHECK_THAT(outcomes[rank].message, contains(words));
    CHECK(outcomes[rank].seconds < soon_s);
  }
}

}  // namespace

TEST_CASE(
    "horovod on processes: a GPT has one rank's gradients and losses, the same bits everywhere") {
  GptRun run;
  const int ranks = GENERATE(2, 3);
  run.options.fusion_threshold_bytes = GENERATE(0, 2000, 1 << 27);
  run.passes = run.options.fusion_threshold_bytes == 2000 ? 2 : 1;
  CAPTURE(ranks, run.options.fusion_threshold_bytes);
  const auto body = [&](comm::ProcessGroup& group) { return deed_of(group, run); };
  check_equal(test::run_shm(ranks, body));
  check_equal(test::run_gloo(ranks, body, deadline_s, Transport::gloo));
}

TEST_CASE("horovod on processes: a sum in place of the average is found by the same comparison") {
  GptRun run{.steps = 2};
  run.options.combine = horovod::Combine::sum;
  const auto outcomes =
      test::run_shm(2, [&](comm::ProcessGroup& group) { return deed_of(group, run); });
  CHECK(!outcomes[0].ok);
  CHECK_THAT(outcomes[0].message, contains("gradients differ by "));
}

TEST_CASE("horovod on processes: ranks of several hosts, and the ring of the course") {
  const GptRun run{.steps = 3};
  check_equal(
      test::run_on_hosts(4, 2, [&](comm::ProcessGroup& group) { return deed_of(group, run); }));
  check_equal(test::run_shm(3, [&](comm::ProcessGroup& group) {
    const auto strands = make_thread_strands();
    const auto ring = collectives::with_all_reduce(group, collectives::AllReduce::ring, *strands);
    return deed_of(*ring, run);
  }));
}

TEST_CASE("horovod on processes: gradients come in any order, and slowly, for 200 steps") {
  check_equal(test::run_shm(4, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strands = make_thread_strands();
    Weighted model({3, 50, 700, 1, 0, 20}, device);
    const auto optimizer =
        horovod::make_distributed_optimizer(optim::make_sgd(model.parameters(), {}), group,
                                            {.cycle_s = 1e-4, .strands = strands.get()});
    for (int step = 0; step < 200; ++step) {
      optimizer->zero_grad();
      model.used = {0, 1, 2, 3, 4, 5};
      std::ranges::rotate(model.used, model.used.begin() + (group.rank() + step) % 6);
      model.backward(group.rank() + step);
      optimizer->step();
      test::expect(model.grad(2, 699) == 1.5 + step, text("step ", step, ": ", model.grad(2, 699)));
    }
    return text(model.all[1].value.item(49));
  }));
}

// A parameter that nobody used, a grad that somebody else made, and one that is kept are elsewhere.
TEST_CASE("horovod on processes: in shared memory, gradients get places, and need not be there") {
  check_equal(test::run_shm(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strands = make_thread_strands();
    Weighted model({3, 50, 7, 20}, device, DType::float32);
    auto listed = model.parameters();
    if (group.rank() == 1) std::ranges::reverse(listed);  // its places have another order
    {
      const auto optimizer = horovod::make_distributed_optimizer(
          optim::make_sgd(listed, {}), group, {.cycle_s = 10, .strands = strands.get()});
      for (int step = 0; step < 6; ++step) {
        optimizer->zero_grad();
        model.used = {0, 1, 2, 3};
        if (step == 2) model.used.pop_back();
        if (step == 3) model.all[1].grad = zeros({50}, DType::float32, device);
        if (step == 4) std::ranges::rotate(model.used, model.used.begin() + 1 + group.rank());
        model.backward(6.0 * group.rank() + step);
        optimizer->synchronize();
        for (std::size_t i = 0; i < model.all.size(); ++i) {
          const Parameter& p = model.all[i];
          const double expected = i == 3 && step == 2 ? 0 : 6 + step;
          test::expect(p.grad.item(p.grad.numel() - 1) == expected,
                       text("step ", step, ": ", p.name, " has ", model.grad(i)));
          const bool elsewhere = (i == 3 && step == 2) || (i == 1 && step == 3);
          test::expect(
              p.grad.same_place(p.grad_place) != elsewhere,
              text("step ", step, ": ", p.name, elsewhere ? " is" : " is not", " in its place"));
        }
        const auto reduced_already = optimizer->skip_synchronize();
        optimizer->step();
      }
    }
    for (const Parameter& p : model.all) test::expect(!p.grad_place.defined(), p.name);
    return text(model.all[1].value.item(49));
  }));
}

TEST_CASE("horovod on processes: a rank that is killed at any moment is named, soon") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const int step = GENERATE(0, 2), place = GENERATE(0, 1, 2, 3);
  CAPTURE(step, place);
  check_named(test::run_gloo(
      3,
      [&](comm::ProcessGroup& group) {
        return trained(group, [&](int rank, int at_step, int at_place) {
          if (rank == 1 && at_step == step && at_place == place) kill(getpid(), SIGKILL);
        });
      },
      deadline_s, transport));
}

TEST_CASE("horovod on processes: a hook that throws ends all ranks and names its rank") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const int place = GENERATE(0, 2);
  const bool ring = GENERATE(false, true);
  CAPTURE(place, ring);
  const auto outcomes = test::run_gloo(
      3,
      [&](comm::ProcessGroup& group) {
        const auto meddle = [&](int rank, int at_step, int at_place) {
          if (rank == 1 && at_step == 1 && at_place == place) throw Error("a hook of the test");
        };
        if (!ring) return trained(group, meddle);
        const auto strands = make_thread_strands();
        const auto chosen =
            collectives::with_all_reduce(group, collectives::AllReduce::ring, *strands);
        return trained(*chosen, meddle);
      },
      deadline_s, transport);
  check_named(outcomes);
  CHECK(outcomes[1].message == "a hook of the test");
  CHECK(outcomes[1].seconds < soon_s);
}

TEST_CASE(
    "horovod on processes: a rank that hands nothing over is named at the deadline, with what "
    "lacks") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto outcomes = test::run_gloo(
      3,
      [&](comm::ProcessGroup& group) {
        return trained(group, [&](int rank, int step, int place) {
          if (rank == 1 && step == 1 && place == 2)
            std::this_thread::sleep_for(std::chrono::seconds(6));
        });
      },
      2, transport);
  check_named(outcomes);
  CHECK_THAT(outcomes[0].message, contains("rank 0 asks for the gradients of p2"));
  CHECK_THAT(outcomes[2].message, contains("rank 2 asks for the gradients of p2"));
}

TEST_CASE("horovod on processes: a rank that fails does not wait for slow ones") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto algorithm = GENERATE(collectives::AllReduce::ring, collectives::AllReduce::native);
  const auto outcomes = test::run_processes(3, [&](comm::Store& store, int its_rank) {
    comm::GlooOptions options;
    options.timeout_s = deadline_s;
    options.transport = transport;
    const auto group = comm::make_gloo_group(store, its_rank, 3, options);
    const std::vector<std::string> ended{"ended"};
    // Rank 1 has handed over p2 and p1, and its strand asks for them. The others are as slow as it
    // takes rank 1 to end.
    const auto meddle = [&](int rank, int step, int place) {
      if (step != 1 || place != (rank == 1 ? 0 : 2)) return;
      if (rank != 1) return store.wait(ended, soon_s / 2);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      throw Error("a hook of the test");
    };
    const auto strands = make_thread_strands();
    const auto chosen = collectives::with_all_reduce(*group, algorithm, *strands);
    try {
      return trained(*chosen, meddle);
    } catch (const Error&) {
      if (its_rank == 1) store.set(ended.front(), "");
      throw;
    }
  });
  check_named(outcomes);
  CHECK(outcomes[1].message == "a hook of the test");
}

// One step of two parameters, of which rank 2 has changed one.
std::vector<Outcome> step_with(Transport transport, const std::function<void(Weighted&)>& change) {
  return test::run_gloo(
      3,
      [&](comm::ProcessGroup& group) -> std::string {
        CpuDevice device;
        const auto strands = make_thread_strands();
        Weighted model({3, 5}, device);
        if (group.rank() == 2) change(model);
        const auto optimizer = horovod::make_distributed_optimizer(
            optim::make_sgd(model.parameters(), {}), group, {.strands = strands.get()});
        model.backward(1);
        optimizer->step();
        return "";
      },
      deadline_s, transport);
}

void check_told(const std::vector<Outcome>& outcomes, const std::string& words) {
  for (const Outcome& outcome : outcomes) {
    CHECK(!outcome.ok);
    CHECK_THAT(outcome.message, contains(words));
    CHECK(outcome.seconds < soon_s);
  }
}

TEST_CASE("horovod on processes: ranks that train different parameters are told which, at once") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto outcomes = step_with(transport, [](Weighted& model) { model.all[0].name = "other"; });
  check_told(outcomes, "p0 is ready on ranks 0, 1 and not on rank 2");
}

TEST_CASE("horovod on processes: ranks with different shapes of a parameter are told both") {
  const auto transport = GENERATE(Transport::shm, Transport::gloo);
  const auto outcomes = step_with(transport, [](Weighted& model) {
    model.all[0].value = zeros({4}, DType::float64, model.all[0].value.device());
  });
  check_told(outcomes, "the gradient p0 is float64 [3] on rank 0 and float64 [4] on rank 2");
}
