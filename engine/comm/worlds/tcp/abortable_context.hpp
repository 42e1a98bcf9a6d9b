// Gloo's context, with an end that its own rank can bring about. When connections close, Gloo wakes
// those who wait on the other side, but nobody on this one. Gloo's collectives wait in buffers that
// they get from the context. So this context hands out buffers that it knows, and wakes those.
//
// When a connection ends in the middle of a message, Gloo forgets the message, and the wait for it
// lasts until the deadline, at both ends. And when a rank fails, nobody wakes those who wait for
// another one. So a thread looks after waits that are older than a second. It ends those whose
// peers are gone, and asks whether a rank has failed.
// Included where Gloo is there.
#pragma once

#include <gloo/rendezvous/context.h>

#include <functional>
#include <memory>
#include <thread>

namespace lockstep::comm {

class AbortableContext final : public ::gloo::rendezvous::Context {
 public:
  using ::gloo::rendezvous::Context::Context;

  // Connects all ranks, as connectFullMesh does; comes before any other use.
  //   has_failed  asked on a thread while somebody waits long; what it uses outlives the context
  void connect(::gloo::rendezvous::Store& store, std::shared_ptr<::gloo::transport::Device>& device,
               std::function<bool()> has_failed);

  // Closes all connections. Every wait for a buffer throws, those under way and those to come.
  //   Thread  any
  void abort();

 private:
  class Buffers;
  void look_after_waits(const std::stop_token& end, const std::function<bool()>& has_failed);

  std::shared_ptr<Buffers> buffers_;
  std::jthread lookout_;  // last: ends first
};

}  // namespace lockstep::comm
