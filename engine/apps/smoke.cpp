// smoke: the smallest distributed program. Every rank brings its number, one all_reduce adds them,
// and every rank prints what it has: N(N-1)/2, everywhere.
//   ./lab run --ranks 4 -- build/release/bin/smoke
//   mpirun -n 4 build/release/bin/smoke
#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/apps/ranks.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/launch/error_file.hpp"

namespace {

using namespace lockstep;

int run(int argc, const char* const* argv) {
  Options options("smoke", "Adds up the ranks' numbers on every rank.");
  options.choice("transport", {"auto", "gloo", "shm"}, "auto",
                 "TCP (gloo), or shared memory (shm); auto: shared memory where possible");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  CpuDevice device;
  const apps::Ranks ranks = apps::join_launched(comm::transport_of(arguments.get("transport")));
  const auto& group = ranks.group;

  const Tensor sum = full({1}, group->rank(), DType::int64, device);
  group->all_reduce(sum, ReduceOp::sum);

  const std::int64_t expected = std::int64_t{group->size()} * (group->size() - 1) / 2;
  std::cout << text("rank ", group->rank(), " of ", group->size(), ": 0 + … + ", group->size() - 1,
                    " = ", sum.item(), "\n")
            << std::flush;
  ranks.leave();
  return sum.item() == static_cast<double>(expected) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("smoke", [&] {
    return lockstep::launch::with_error_file(lockstep::launch::process_environment(),
                                             [&] { return run(argc, argv); });
  });
}
