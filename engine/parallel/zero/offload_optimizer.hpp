// An optimizer that lives in the memory of the host. A parameter with Adam in mixed precision takes
// 16 bytes: 2 for itself, 2 for its gradient, and 12 for its float32 master and two moments. Only
// passes need the first four at hand, so the twelve can lie where memory is cheap, and the host's
// processor updates them there. Per step, 2 bytes go down and 2 come up over a slow link; the state
// never crosses it.
//   B buckets; S_b elements of bucket b, this rank's shard of it
//
// Left out: the reduction that made the gradient's shards, and the gathering of the parameters
// afterwards; both are the ranks', before and behind this.
// Source: [ZOFF21] §3, §4; DeepSpeed's offload_optimizer
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.hpp"
#include "engine/tensor/update_rules.hpp"

namespace lockstep::zero {

// Something that was started and may not be over: a copy, or an update.
class HostWork {
 public:
  HostWork() = default;  // over already
  explicit HostWork(std::function<void()> end) : end_(std::move(end)) {}
  // Returns when it is over; at once if it was waited for before.
  void wait() {
    if (end_) std::exchange(end_, nullptr)();
  }

 private:
  std::function<void()> end_;
};

// One update of Adam, by the names of four tensors of the host.
struct HostUpdate {
  std::string master, gradient, first_moment, second_moment;
  AdamRule rule{};
  std::int64_t updates = 1;  // of this master, this one included
};

// The host as a device sees it: memory with names, a link, and a processor. Its tensors are
// float32. Copies down come one after the other, and so do copies up; both directions work at once.
// The processor makes one update after the other. What is started reads what is there at that
// moment: the data of a copy or of an update that is not over is not there yet.
class OffloadHost {
 public:
  virtual ~OffloadHost() = default;
  // Makes a tensor of `count` zeros there. Nothing is copied.
  virtual void allocate(const std::string& name, std::int64_t count) = 0;
  // Starts a copy into the tensor of that name. `from` [count] travels in its own type and becomes
  // float32 there; it must not change before the copy is over.
  virtual HostWork copy_down(const Tensor& from, const std::string& name) = 0;
  // Starts a copy of that tensor, which travels in the type of `to` [count], rounded once. The
  // elements of `to` are there when it was waited for.
  virtual HostWork copy_up(const std::string& name, const Tensor& to) = 0;
  virtual HostWork adam(const HostUpdate& update) = 0;
};

class OffloadedOptimizer {
 public:
  virtual ~OffloadedOptimizer() = default;

  // The gradient of a bucket is final; buckets come in any order. A gradient that comes again
  // before step() replaces the earlier one: the caller gave that step up.
  //   gradient  [S_b] 16 bits, on the device; it keeps its elements until step() returns, or until
  //             the bucket's next gradient comes, by when its copy is over
  //   Ensures   its copy down has begun when this returns, and nothing was waited for;
  //             no update has begun: the step may still be given up
  virtual void on_gradient_shard(std::size_t bucket, const Tensor& gradient) = 0;

  // Updates on the host, and brings the parameters up.
  //   Ensures   each bucket whose gradient came since the last step had one update of Adam, with
  //             all of the gradient that came last; its parameters are its masters, rounded once;
  //             a bucket whose gradient did not come keeps its parameters and its state
  //   Copies    per step, a gradient down once and its parameters up once, in 16 bits: 4 bytes per
  //             element. Nothing else crosses the link
  //   Cost      the processor waits for no copy up, since a bucket's parameters travel while the
  //             next bucket is updated
  virtual void step() = 0;
};

// Makes one. A part: defined in solutions/11_sharding.
//   parameters  [S_b] 16 bits for each bucket, this rank's shards, on the device
//   host        outlives the optimizer
//   Ensures     masters, which begin as the parameters, and moments are on the host. The device
//               keeps none of them, and at most one more copy of the parameters or the gradients
//   Copies      the parameters once, in 16 bits
std::unique_ptr<OffloadedOptimizer> make_offload_optimizer(OffloadHost& host,
                                                           std::vector<Tensor> parameters,
                                                           const AdamRule& rule);

}  // namespace lockstep::zero
