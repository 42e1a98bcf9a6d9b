// One rank of a training-like loop of collectives that never ends by itself, and that can be told
// to fail: who, how, and after how long. What the tests of faults start under the launcher.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>

#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/launch/error_file.hpp"
#include "engine/launch/world.hpp"

namespace {

using namespace lockstep;

constexpr std::int64_t limit_s = 600;  // nobody stops it: the test has failed already

Options loop_options() {
  Options options("loop-rank", "Calls collectives until it is stopped, or fails as it is told.");
  options.option("rank", "-1", "who fails; the others go on")
      .choice("fault",
              {"none", "absent", "late", "joined", "collective", "between", "hang", "exit"}, "none",
              "how it fails")
      .option("after", "0", "exit: seconds from the start of the program")
      .option("says-rank", "", "the RANK that it claims")
      .option("says-size", "", "the WORLD_SIZE that it claims")
      .choice("transport", {"auto", "gloo", "shm"}, "auto", "as of ./lab train")
      .option("timeout", "30", "seconds, of meeting and of every collective");
  return options;
}

// The clock that all processes of a machine share.
std::int64_t microseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

[[noreturn]] void wait_for_the_end() {
  while (true) pause();
}

// The fault of this rank, or "none".
class Fault {
 public:
  Fault(const Arguments& arguments, int rank)
      : kind_(arguments.integer("rank") == rank ? arguments.get("fault") : "none") {
    if (kind_ != "exit") return;
    // From a thread of its own, so that the moment is anywhere: in a call, or between two.
    std::thread([after_s = arguments.number("after", 0)] {
      std::this_thread::sleep_for(std::chrono::duration<double>(after_s));
      std::cout << text("ends itself at ", microseconds(), "\n") << std::flush;
      _exit(3);
    }).detach();
  }
  bool is(const std::string& kind) const { return kind_ == kind; }

 private:
  std::string kind_;
};

// Rank and size as they are, or as the command line says that they are.
launch::Lookup lookup_of(const Arguments& arguments, bool lies) {
  return [&arguments, lies, real = launch::process_environment()](const std::string& name) {
    if (lies && name == "RANK" && arguments.given("says-rank")) {
      return std::optional(arguments.get("says-rank"));
    }
    if (lies && name == "WORLD_SIZE" && arguments.given("says-size")) {
      return std::optional(arguments.get("says-size"));
    }
    return real(name);
  };
}

void train(comm::ProcessGroup& group, const Fault& fault) {
  CpuDevice device;
  const Tensor gradients = empty({1 << 16}, DType::float32, device);
  const Tensor sample = empty({64}, DType::float32, device);
  const Tensor samples = empty({64 * group.size()}, DType::float32, device);
  const std::int64_t end = microseconds() + limit_s * 1'000'000;
  for (std::int64_t step = 0; microseconds() < end; ++step) {
    if (step == 3 && fault.is("hang")) wait_for_the_end();
    if (step == 3 && fault.is("between")) raise(SIGKILL);
    gradients.copy_(full({1 << 16}, static_cast<double>(group.rank() + 1), DType::float32, device));
    comm::Work work = group.all_reduce_async(gradients, ReduceOp::sum);
    if (step == 3 && fault.is("collective")) raise(SIGSEGV);
    work.wait();
    const double expected = group.size() * (group.size() + 1) / 2.0;
    if (gradients.item() != expected) throw Error("a sum is wrong");
    group.all_gather(sample, samples);
    group.broadcast(sample, static_cast<int>(step % group.size()));
    if (step % 10 == 0) group.barrier();
    if (step == 0) std::cout << "trains\n" << std::flush;
  }
  throw Error("nobody stopped this rank");
}

int run(const Arguments& arguments) {
  const launch::Environment me = launch::read_environment(launch::process_environment());
  const Fault fault(arguments, me.rank);
  if (fault.is("absent")) wait_for_the_end();

  launch::JoinOptions join;
  join.timeout_s = arguments.number("timeout", 0);
  const bool lies = arguments.integer("rank") == me.rank;
  const auto world = launch::join_world(lookup_of(arguments, lies), join);
  const launch::Environment& found = world->environment;
  std::cout << text("store ", found.store.port, " master ", found.master_port, "\n") << std::flush;
  if (fault.is("joined")) throw Error("the data cannot be read");
  if (fault.is("late")) wait_for_the_end();

  comm::GlooOptions options;
  options.hostname = world->hostname;
  options.transport = comm::transport_of(arguments.get("transport"));
  options.timeout_s = options.meet_timeout_s = join.timeout_s;
  const auto group = comm::make_gloo_group(*world->store, found.rank, found.world_size, options);
  train(*group, fault);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGSEGV, SIG_DFL);  // a sanitizer would make an exit of it
  return lockstep::apps::run_program("loop-rank", [&] {
    const Arguments arguments = loop_options().parse(argc, argv);
    return lockstep::launch::with_error_file(lockstep::launch::process_environment(),
                                             [&] { return run(arguments); });
  });
}
