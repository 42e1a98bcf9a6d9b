// A rank that waits in shared memory while others compute on all cores.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using lockstep::test::error_of;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::ones;

namespace {

// How often this thread has given its core to others.
long turns_given() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}

}  // namespace

TEST_CASE("shm failure: where all cores are busy, a death is noticed after slices, not turns") {
  const auto outcomes = test::run_processes(2, [](comm::Store& store, int rank) -> std::string {
    const auto group = comm::make_shm_group(store, rank, 2);
    CpuDevice device;
    const Tensor data = ones(7, DType::float32, device);
    group->all_reduce(data, ReduceOp::sum);
    if (rank == 1) {
      kill(getpid(), SIGKILL);
      std::abort();
    }
    // As many as make a turn of the processor some milliseconds long.
    std::vector<std::jthread> busy;
    for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
      busy.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
    }
    const long before = turns_given();
    const std::string error = error_of([&] { group->recv(data, 1); });
    const long given = turns_given() - before;
    expect(error.find("rank 1 has ended") != std::string::npos, error);
    // It yields as long as a slice, a turn of all others each time, and then sleeps. It would yield
    // 400 times if it did not look at the clock.
    expect(given < 100, text("it has waited for ", given, " turns of the others"));
    return "";
  });
  CHECK(failures({outcomes[0]}) == "");
}
