// What ranks that share memory learn when one of them dies, hangs, throws, leaves, or calls
// something else; and that they learn it soon.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "engine/comm/worlds/shm/descriptor_passing.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::ones;
using lockstep::test::run_processes;
using lockstep::test::run_shm;
using lockstep::test::run_shm_threads;

namespace {

std::unique_ptr<ProcessGroup> group_of(Store& store, int rank, int size,
                                       double timeout_s = test::late_s) {
  ShmOptions options;
  options.timeout_s = timeout_s;
  return make_shm_group(store, rank, size, options);
}

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  std::abort();
}

void wait_for(Store& store, const std::vector<std::string>& keys) { store.wait(keys, 60); }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Generous: the machine may be busy. A deadline would be 120.
constexpr double soon_s = 15;

// A deadline that is waited for. All that comes before it has so long, on a busy machine, too.
constexpr double brief_s = 2;

}  // namespace

TEST_CASE("shm failure: when a rank is killed between calls, its peers learn it, by name, soon") {
  const auto outcomes = run_processes(4, [](Store& store, int rank) -> std::string {
    const auto group = group_of(store, rank, 4);
    CpuDevice device;
    const Tensor data = ones(65537, DType::float32, device);
    group->all_reduce(data, ReduceOp::sum);
    if (rank == 2) die();
    const auto begin = std::chrono::steady_clock::now();
    const std::string first = error_of([&] { group->all_reduce(data, ReduceOp::sum); });
    expect(seconds_since(begin) < soon_s, "it took " + text(seconds_since(begin)));
    const std::string second = error_of([&] { group->barrier(); });
    expect(second.find("the group has failed before: " + first) != std::string::npos, second);
    return first;
  });
  for (const int rank : {0, 1, 3}) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    INFO(outcome.message);
    CHECK(outcome.ok);
    CHECK_THAT(outcome.message,
               contains(text("rank ", rank, " of 4: collective no. 2, all_reduce (sum) of 65537 ",
                             "float32 at tests/comm/shm_failure_test.cpp:")) &&
                   contains("the process of rank 2 has ended") &&
                   contains("has finished collective no. 1, all_reduce (sum) of 65537 float32"));
  }
  CHECK_FALSE(outcomes[2].ok);
}

TEST_CASE("shm failure: when a rank is killed inside a call, its peers learn it soon") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    const auto group = group_of(store, rank, 3);
    CpuDevice device;
    const Tensor data = ones(1 << 22, DType::float32, device);
    if (rank == 1) {
      // Pieces take milliseconds, the timer strikes among them, or between two calls.
      alarm(1);
      while (true) group->all_reduce(data, ReduceOp::max);
    }
    return error_of([&] {
      while (true) group->all_reduce(data, ReduceOp::max);
    });
  });
  for (const int rank : {0, 2}) {
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message, contains("rank 1 has ended"));
    CHECK(outcomes[static_cast<std::size_t>(rank)].seconds < 1 + soon_s);
  }
}

TEST_CASE("shm failure: a rank that never comes is named at the deadline, with what it did last") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    const auto group = group_of(store, rank, 3, brief_s);
    CpuDevice device;
    group->barrier();
    if (rank == 1) {
      wait_for(store, {"done/0", "done/2"});
      return "";
    }
    const std::string error =
        error_of([&] { group->all_reduce(ones(10, DType::int64, device), ReduceOp::max); });
    store.set(text("done/", rank), "");
    return error;
  });
  CHECK(failures(outcomes) == "");
  for (const int rank : {0, 2}) {
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message,
               contains("all_reduce (max) of 10 int64") && contains("rank 1 (pid ") &&
                   contains("has finished collective no. 1, barrier at tests/comm/"));
  }
}

TEST_CASE("shm failure: a deadline names all ranks that did not come, and monitored_barrier too") {
  const auto outcomes = run_processes(4, [](Store& store, int rank) -> std::string {
    const auto group = group_of(store, rank, 4);
    if (rank == 1 || rank == 3) {
      wait_for(store, {"done/0", "done/2"});
      return "";
    }
    const std::string error = error_of([&] { group->monitored_barrier(brief_s); });
    store.set(text("done/", rank), "");
    return error;
  });
  CHECK(failures(outcomes) == "");
  for (const int rank : {0, 2}) {
    const std::string& message = outcomes[static_cast<std::size_t>(rank)].message;
    CHECK_THAT(message, contains("rank 1 (pid ") && contains("rank 3 (pid ") &&
                            contains("has called no collective"));
  }
}

TEST_CASE("shm failure: ranks that disagree in anything are told what each called") {
  struct Difference {
    const char* what;
    std::function<void(ProcessGroup&, Device&, bool)> call;  // true: the other way
    const char* one;
    const char* other;
  };
  const Difference differences[] = {
      {"count",
       [](ProcessGroup& g, Device& d, bool other) {
         g.all_reduce(ones(other ? 100 : 50, DType::float32, d), ReduceOp::sum);
       },
       "rank 0 calls collective no. 1, all_reduce (sum) of 50 float32",
       "rank 1 calls collective no. 1, all_reduce (sum) of 100 float32"},
      {"large count",
       [](ProcessGroup& g, Device& d, bool other) {
         g.all_reduce(ones(other ? 100 : 500000, DType::float32, d), ReduceOp::sum);
       },
       "of 500000", "of 100"},
      {"operator",
       [](ProcessGroup& g, Device& d, bool other) {
         g.all_reduce(ones(5, DType::float32, d), other ? ReduceOp::average : ReduceOp::sum);
       },
       "(sum)", "(average)"},
      {"type",
       [](ProcessGroup& g, Device& d, bool other) {
         g.all_reduce(ones(5, other ? DType::int32 : DType::float32, d), ReduceOp::sum);
       },
       "5 float32", "5 int32"},
      {"root",
       [](ProcessGroup& g, Device& d, bool other) {
         g.broadcast(ones(5, DType::float32, d), other ? 1 : 0);
       },
       "broadcast from rank 0", "broadcast from rank 1"},
      {"kind",
       [](ProcessGroup& g, Device& d, bool other) {
         if (other) {
           g.barrier();
         } else {
           g.all_reduce(ones(5000, DType::float32, d), ReduceOp::sum);
         }
       },
       "all_reduce", "rank 1 calls collective no. 1, barrier"},
      {"counts of all_gather",
       [](ProcessGroup& g, Device& d, bool other) {
         const std::vector<std::int64_t> counts{2, other ? 2 : 3};
         g.all_gather(ones(2, DType::float32, d), ones(other ? 4 : 5, DType::float32, d), counts);
       },
       "[2, 3]", "[2, 2]"},
      {"counts of all_to_all",
       [](ProcessGroup& g, Device& d, bool other) {
         const std::vector<std::int64_t> in{1, 2}, out{1, other ? 4 : 2};
         g.all_to_all(ones(3, DType::float32, d), ones(out[0] + out[1], DType::float32, d), in,
                      out);
       },
       "rank 0 sends 2 elements to rank 1, which expects 1", "all_to_all of [1, 2]"},
  };
  for (const Difference& difference : differences) {
    const auto outcomes = run_shm_threads(2, [&](ProcessGroup& group) {
      CpuDevice device;
      return error_of([&] { difference.call(group, device, group.rank() == 1); });
    });
    INFO(difference.what);
    CHECK(failures(outcomes) == "");
    for (const auto& outcome : outcomes) {
      CHECK_THAT(outcome.message, contains(difference.one) && contains(difference.other) &&
                                      contains("tests/comm/shm_failure_test.cpp"));
    }
  }
}

TEST_CASE("shm failure: a rank that throws takes its peers with it at once, under its name") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    const auto begin = std::chrono::steady_clock::now();
    try {
      const auto group = group_of(store, rank, 3);
      group->barrier();
      if (rank == 1) throw Error("the reason");
      group->barrier();
    } catch (const Error& error) {
      expect(seconds_since(begin) < soon_s, "it took " + text(seconds_since(begin)));
      return error.what();
    }
    return "nothing was thrown";
  });
  CHECK(failures(outcomes) == "");
  CHECK(outcomes[1].message == "the reason");
  for (const int rank : {0, 2}) {
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message,
               contains("collective no. 2, barrier") &&
                   contains("rank 1 of 3 gave up its group because of an exception"));
  }
}

TEST_CASE("shm failure: a rank that has left is missed at once, not at the deadline") {
  const auto outcomes = run_shm_threads(3, [](ProcessGroup& group) -> std::string {
    group.barrier();
    if (group.rank() == 2) return "";
    return error_of([&] { group.barrier(); });
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message, contains("rank 2 has left the group"));
}

TEST_CASE("shm failure: ranks that do not come to the group are named") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) {
    ShmOptions options;
    options.meet_timeout_s = brief_s;
    return error_of([&] { make_shm_group(store, rank, 4, options); });
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message,
             contains("the group \"world\" is not whole: ranks 2, 3 of 4 did not come"));
}

TEST_CASE(
    "shm failure: a rank that has no descriptor left to hand the memory over says so at once") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) -> std::string {
    const Deadline deadline = deadline_after(20);
    if (rank == 1) {
      return error_of([&] { shm::take_file(store.get("socket"), deadline); });
    }
    shm::DescriptorSender sender;
    const Descriptor file(dup(STDIN_FILENO));
    const Descriptor next(dup(STDIN_FILENO));  // the lowest that is free
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
    setrlimit(RLIMIT_NOFILE, &limit);
    store.set("socket", sender.name());
    return error_of([&] { sender.give(file, 1, deadline); });
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message, contains("cannot hand it over (Too many open files)"));
  CHECK_THAT(outcomes[1].message, contains("did not hand it over"));
  CHECK(outcomes[0].seconds < 10);
}

TEST_CASE("shm failure: a message of another length or type names both ends") {
  for (const bool length : {true, false}) {
    const auto outcomes = run_shm_threads(2, [&](ProcessGroup& group) -> std::string {
      CpuDevice device;
      if (group.rank() == 0) {
        group.send(ones(100, DType::float32, device), 1, 7);
        return error_of([&] { group.barrier(); });
      }
      return error_of([&] {
        group.recv(ones(length ? 50 : 100, length ? DType::float32 : DType::int32, device), 0, 7);
      });
    });
    CHECK(failures(outcomes) == "");
    CHECK_THAT(outcomes[1].message,
               contains(length ? "recv from rank 0 (tag 7) of 50 float32 at tests/comm/"
                               : "of 100 int32 at tests/comm/") &&
                   contains("rank 0 sent 100 float32 with tag 7 at tests/comm/shm_failure"));
    CHECK_THAT(outcomes[0].message, contains("rank 0 sent 100 float32"));
  }
}

TEST_CASE("shm failure: a receive that waits in vain says what its source does") {
  const auto outcomes = run_shm(
      3,
      [](ProcessGroup& group) -> std::string {
        CpuDevice device;
        const Tensor data = ones(3, DType::float32, device);
        // All in a circle: a deadlock.
        return error_of([&] { group.recv(data, (group.rank() + 1) % 3); });
      },
      brief_s);
  CHECK(failures(outcomes) == "");
  // The one whose deadline came first tells all.
  for (const auto& outcome : outcomes) {
    CHECK_THAT(outcome.message,
               contains("nothing came within 2 s: rank ") && contains("and is in recv from rank "));
  }
}

TEST_CASE("shm failure: a receive learns that its source died, or left without sending") {
  const bool dies = GENERATE(true, false);
  const auto outcomes = run_processes(2, [&](Store& store, int rank) -> std::string {
    auto group = group_of(store, rank, 2);
    CpuDevice device;
    const Tensor data = ones(3, DType::float32, device);
    if (rank == 1) {
      group->send(data, 0);
      if (dies) die();
      group.reset();
      wait_for(store, {"done"});
      return "";
    }
    group->recv(data, 1);  // what was sent before arrives
    const std::string error = error_of([&] { group->recv(data, 1); });
    store.set("done", "");
    return error;
  });
  CHECK(outcomes[0].ok);
  CHECK_THAT(outcomes[0].message, contains(dies ? "rank 1 has ended" : "rank 1 has left"));
}

TEST_CASE("shm failure: an asynchronous operation reports where it was started") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    const auto group = group_of(store, rank, 3);
    CpuDevice device;
    const Tensor data = ones(1000, DType::float64, device);
    group->barrier();
    if (rank == 1) die();
    return error_of([&] {
      Work first = group->all_reduce_async(data, ReduceOp::sum);
      Work second = group->all_reduce_async(data, ReduceOp::sum);
      first.wait();
    });
  });
  CHECK(outcomes[0].ok);
  CHECK(outcomes[2].ok);
  CHECK_THAT(outcomes[0].message, contains("all_reduce (sum) of 1000 float64 at tests/comm/") &&
                                      contains("rank 1 has ended"));
}

TEST_CASE("shm failure: the memory has no name in a file system, so killed ranks leave nothing") {
  const auto outcomes = run_shm(2, [](ProcessGroup& group) -> std::string {
    group.barrier();
    std::ifstream maps("/proc/self/maps");
    int shared = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(" rw-s ") == line.npos) continue;
      expect(line.ends_with(" /memfd:lockstep (deleted)"), line);
      ++shared;
    }
    expect(shared > 0, "nothing is shared");
    return "";
  });
  CHECK(failures(outcomes) == "");
}
