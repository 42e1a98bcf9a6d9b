// Gloo's context, with an end that its own rank can bring about. When connections close, Gloo wakes
// those who wait on the other side, but nobody on this one. Gloo's collectives wait in buffers that
// they get from the context. So this context hands out buffers that it knows, and wakes those.
// Included where Gloo is there.
#pragma once

#include <gloo/rendezvous/context.h>

#include <memory>

namespace lockstep::comm {

class AbortableContext final : public ::gloo::rendezvous::Context {
 public:
  using ::gloo::rendezvous::Context::Context;

  // Connects all ranks, as connectFullMesh does; comes before any other use.
  void connect(::gloo::rendezvous::Store& store,
               std::shared_ptr<::gloo::transport::Device>& device);

  // Closes all connections. Every wait for a buffer throws, those under way and those to come.
  //   Thread  any
  void abort();

 private:
  class Buffers;
  std::shared_ptr<Buffers> buffers_;
};

}  // namespace lockstep::comm
