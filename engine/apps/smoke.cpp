// smoke: the smallest distributed program. Every rank brings its number, one all_reduce adds them,
// and every rank prints what it has: N(N-1)/2, everywhere.
//   ./lab run --ranks 4 -- build/release/bin/smoke
//   mpirun -n 4 build/release/bin/smoke
#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/launch/error_file.hpp"
#include "engine/launch/world.hpp"

namespace {

using namespace lockstep;

int run() {
  const auto world = launch::join_world(launch::process_environment());
  comm::GlooOptions options;
  options.hostname = world->hostname;
  const auto group = comm::make_gloo_group(*world->store, world->environment.rank,
                                           world->environment.world_size, options);

  CpuDevice device;
  const Tensor sum = full({1}, group->rank(), DType::int64, device);
  group->all_reduce(sum, ReduceOp::sum);

  const std::int64_t expected = std::int64_t{group->size()} * (group->size() - 1) / 2;
  std::cout << text("rank ", group->rank(), " of ", group->size(), ": 0 + … + ", group->size() - 1,
                    " = ", sum.item(), "\n")
            << std::flush;
  world->leave();
  return sum.item() == static_cast<double>(expected) ? 0 : 1;
}

}  // namespace

int main() {
  return lockstep::apps::run_program("smoke", [] {
    return lockstep::launch::with_error_file(lockstep::launch::process_environment(), run);
  });
}
