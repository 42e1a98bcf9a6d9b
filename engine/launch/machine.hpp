// A rank's machine as a program sees it that sets itself up: a value with five questions, so that
// setting up can be tried without any machine, and without a network.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/endpoint.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::launch {

// The library that carries a group's messages: nccl between GPUs, gloo between processors. A rank
// can use nccl when a GPU of its machine is its own. All ranks of a group use the same.
enum class Backend : std::uint8_t { gloo, nccl };

// A store that is served as long as this lives. (Others may call it until then, and no longer.)
class HostedStore {
 public:
  virtual ~HostedStore() = default;
};

struct GroupOptions {
  Backend backend = Backend::gloo;
  int rank = 0;
  int size = 1;
  int device = 0;         // with nccl: which GPU of this machine is this rank's own
  double timeout_s = 30;  // until all ranks are here
};

class Machine {
 public:
  virtual ~Machine() = default;

  // How many GPUs are here. They are numbered from 0.
  virtual int gpus() = 0;
  // Seconds since some moment: the clock by which a deadline is kept.
  virtual double now_s() = 0;

  // Serves a new, empty store at an address of this machine.
  //   Throws  CommError when the address is not this machine's or its port is in use
  virtual std::unique_ptr<HostedStore> host_store(const comm::Endpoint& at) = 0;
  // Tries until somebody serves a store there.
  //   Throws  CommError when the time is up
  virtual std::unique_ptr<comm::Store> connect_store(const comm::Endpoint& at,
                                                     double timeout_s) = 0;
  // Returns when all ranks have called this with the same store, backend and size.
  //   Requires  the store outlives the group
  //   Throws    CommError when the time is up, or the backend cannot work here
  virtual std::unique_ptr<comm::ProcessGroup> make_group(comm::Store& store,
                                                         const GroupOptions& options) = 0;
};

}  // namespace lockstep::launch
