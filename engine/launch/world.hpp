// A rank's way into the world: the store that all ranks share, whoever started them.
//
//   auto world = launch::join_world(launch::process_environment());
//   auto group = comm::make_gloo_group(*world->store, world->environment.rank, …);
//   …
//   world->leave();
//
// Under ./lab run the launcher hosts the store and watches over the ranks. Under mpirun, srun and
// torchrun nobody does it for us: rank 0 hosts the store, and every other rank holds a connection
// to rank 0 that nothing is sent over. Its loss means that rank 0 has ended before its time, and a
// rank learns it at once, whatever it is doing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/comm/store.hpp"
#include "engine/launch/environment.hpp"

namespace lockstep::launch {

struct JoinOptions {
  double timeout_s = 30;  // for reaching the store, and of its get()
  // Called once when rank 0 has ended, on a thread of the world's own. The default writes the
  // sentence to stderr and ends this process with code 1: its peers wait for it no longer.
  std::function<void(const std::string& sentence)> rank_zero_lost;
};

class World {
 public:
  virtual ~World() = default;  // says nothing to anybody; see leave

  const Environment environment;
  const std::string hostname;  // this rank's address as its peers reach it, for Gloo
  // This attempt's own part: a rank of an earlier attempt never reads or writes in it. Lives as
  // long as the world does.
  const std::unique_ptr<comm::Store> store;

  // Says that the others can do without this rank from now on: ./lab run lets them go on when it
  // fails (launcher.hpp). Other launchers are told nothing.
  void be_spare() const;
  // The same for a rank that takes no part at all, on any number of nodes.
  void stand_by() const;

  // The end of a run that went well. Where rank 0 hosts the store, it waits here until every rank
  // has called this; a rank that ends without it is taken for lost.
  //   Throws  CommError naming a rank that did not come within `timeout_s`, or when rank 0 is gone
  virtual void leave(double timeout_s = 300) = 0;

 protected:
  World(Environment e, std::string h, std::unique_ptr<comm::Store> s)
      : environment(std::move(e)), hostname(std::move(h)), store(std::move(s)) {}
};

//   Requires  is_launched(lookup)
//   Throws    UsageError for the environment, when rank 0 cannot listen where it says, when this
//             rank is there already, and when another has another WORLD_SIZE; CommError when the
//             store cannot be reached
std::unique_ptr<World> join_world(const Lookup& lookup, const JoinOptions& options = {});

}  // namespace lockstep::launch
