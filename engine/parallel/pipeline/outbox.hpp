// The parcels between the parts of a pipeline, and when a sent tensor may be freed.
//   p stages; v chunks per stage; m micro-batches; part c·p + s is chunk c of stage s
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/comm/peers.hpp"
#include "engine/parallel/pipeline/action.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::pipeline {

// One tensor that a part gives to the part after it (what its forward pass made) or to the part
// before it (the gradient of its input). With one stage, or with one chunk after another of the
// same stage, source and destination are the same stage, and nothing travels.
struct Parcel {
  int src = 0;  // stages
  int dst = 0;
  // Differs between any two parcels of a plan: 2·(micro-batch · p·v + part that it leaves), and 1
  // more on the way back.
  int tag = 0;
  // The place of the action that makes it, among those of src, and of the one that needs it, among
  // those of dst.
  std::size_t made_at = 0;
  std::size_t needed_at = 0;
};

// The tensor that `action` of stage `stage` needs. Nothing for a forward pass of the model's first
// part, for a backward pass of its last one, and for W.
//   Requires  the plan is valid, and `action` in it
std::optional<Parcel> needed_by(const Plan& plan, int stage, const Action& action);
// The tensor that it makes for another part. Nothing for a forward pass of the model's last part,
// for a backward pass of its first one, and for W.
std::optional<Parcel> made_by(const Plan& plan, int stage, const Action& action);

// Tensors that were sent and may still be in flight. When a parcel arrives from another stage, the
// plan shows what that stage must have received before, so there is no need to ask it.
class Outbox {
 public:
  explicit Outbox(comm::Peers& stages) : stages_(stages) {}

  // Starts to send, and keeps the tensor. Does not wait.
  void send(const Parcel& parcel, Tensor made);
  // `parcel` came from another stage. What that stage needed to make it must have arrived there,
  // and is freed here.
  void came(const Parcel& parcel);
  // Waits until everything has been received.
  void finish();

 private:
  struct Sent {
    Parcel parcel;
    Tensor tensor;
    comm::Work work;
  };
  comm::Peers& stages_;
  std::vector<Sent> sent_;
};

}  // namespace lockstep::pipeline
