// The reducer: gradients become final one after the other during backward. The reducer collects
// them in buckets, and a full bucket travels while backward fills the next.
//
//   a. Each parameter's grad_place is its place in its bucket, so that backward makes the gradient
//      there, and passes that are not reduced add to it there: gradients are held once, and nothing
//      is copied back. on_gradient_ready multiplies it by its share. A grad that lies elsewhere,
//      because other code made it, is copied into its place first, and stays there.
//   b. Whenever the next bucket of the plan is full, its reduction starts. A later bucket that
//      fills early waits for its turn: ranks may fill buckets in different orders, but every rank
//      must start the same collectives in the same order.
//   c. finalize, called when backward is over, waits for the buckets that are still in flight.
//
// Invariants
//   1. Buckets start in the order of the plan, on every rank, whatever order gradients come in.
//   2. No code reads or writes a bucket between its start and the end of finalize.
//   3. zero_grad removes a grad and leaves its place as it is. Backward then writes there again, so
//      a handle to the old grad sees the new one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/collectives/bucket.hpp"

namespace lockstep::ddp {

class Reducer {
 public:
  virtual ~Reducer() = default;
  // This pass's gradient of parameter `index` is final. Called once for each parameter of the plan
  // in each pass. A grad from before the pass is part of it and travels along; an undefined grad
  // counts as zeros. Does not wait.
  virtual void on_gradient_ready(std::size_t index) = 0;
  // After the last gradient. Waits until every grad is reduced; the next pass may then begin.
  //   Throws  ContractError naming a parameter whose gradient did not come, before it waits for
  //           any bucket: another rank may lack one of a bucket that was started here; CommError
  virtual void finalize() = 0;
};

// The reduction of a gradient. It is multiplied by `share` when it enters its bucket, and the full
// bucket is given to `hook`.
struct Reduction {
  double share = 1;
  collectives::CommHook* hook = nullptr;  // must outlive the reducer
};

// The reducer of one rank.
//   parameters  the same list on every rank; each has a value. They must outlive the reducer, whose
//               destructor resets their grad_place
//   plan        the same on every rank; has each parameter exactly once, and one dtype per bucket
//   Ensures     after finalize, grads are what the hook makes of the buckets. With share 1/N and a
//               sum, they are the mean over the group: each is multiplied by 1/N first, and the
//               bits are those of one all-reduce of the same bucket
//   Comm        one start of the hook per bucket
//   Memory      the buckets, as large as all gradients, from group.allocate_buffer; they live as
//               long as the reducer, or a grad that is a view of them
//   Source      [DDP20] §3.2.3, §4.2; PyTorch's Reducer. With gradient_as_bucket_view it divides by
//               N, and otherwise it multiplies by 1/N; this one always multiplies
std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction);

}  // namespace lockstep::ddp
