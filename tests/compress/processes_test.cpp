// Hooks on processes: ranks that were not told the same, and a rank that dies between the two steps
// of a hook.
#include <signal.h>
#include <unistd.h>

#include "engine/parallel/compress/quantize.hpp"
#include "engine/parallel/compress/top_k.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

std::vector<test::Outcome> on_processes(comm::Transport transport, const test::RankGroup& body) {
  return transport == comm::Transport::shm ? test::run_shm(3, body) : test::run_gloo(3, body);
}

}  // namespace

TEST_CASE("compress on processes: ranks with different fractions are told which rank brings what") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const auto outcomes = on_processes(transport, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor gradient = full({100}, group.rank() + 1, DType::float32, device);
    const Tensor residual = zeros({100}, DType::float32, device);
    const double fraction = group.rank() == 2 ? 0.2 : 0.1;
    return test::error_of(
        [&] { compress::top_k_reduce(group, gradient, residual, fraction).wait(); });
  });
  for (const test::Outcome& outcome : outcomes) {
    CAPTURE(outcome.message);
    CHECK(outcome.ok);
    // 10 and 20 entries of 8 bytes.
    CHECK_THAT(outcome.message, contains("all_gather of 80") && contains("all_gather of 160") &&
                                    contains("rank 2") && contains("top_k_error_feedback.cpp"));
  }
}

TEST_CASE("compress on processes: a rank that dies between the two steps of int8 is named") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const auto outcomes = on_processes(transport, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor data = full({10'000}, group.rank() + 1, DType::float32, device);
    compress::quantized_all_reduce(group, data).wait();
    comm::Work work = compress::quantized_all_reduce(group, data);
    if (group.rank() == 1) {
      // Its first step may be over by now; it never takes the second.
      kill(getpid(), SIGKILL);
    }
    return test::error_of([&] { work.wait(); });
  });
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    CAPTURE(outcomes[rank].message);
    CHECK(outcomes[rank].ok);
    CHECK_THAT(outcomes[rank].message, contains("rank 1"));
    CHECK(outcomes[rank].seconds < 20);  // long before the deadline of 30 s
  }
}
