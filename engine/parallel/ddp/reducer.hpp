// The reducer: gradients become final one after the other while backward goes on; they are gathered
// in buckets, and a bucket that is full travels while the next is being filled.
//
//   a. Each parameter's grad_place is its place in its bucket, so that backward makes the gradient
//      there, and passes that are not reduced add to it there: gradients are held once, and nothing
//      is copied back. on_gradient_ready multiplies it by its share. A grad that lies elsewhere,
//      since somebody else made it, is copied first and is that place from then on.
//   b. Whenever the next bucket of the plan is full, its reduction starts. A later bucket that is
//      full before waits for its turn: ranks may fill buckets in different orders, but every rank
//      must start the same collectives in the same order.
//   c. finalize, when backward is over, waits for what is still on its way.
//
// Invariants
//   1. Buckets start in the order of the plan, on every rank, whatever order gradients come in.
//   2. Nobody touches a bucket between its start and the end of finalize.
//   3. A grad that was taken away (zero_grad) leaves its place as it is, and backward writes there
//      anew: a handle to an old grad sees the new one.
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
  // This pass's gradient of parameter `index` is final: once for each parameter of the plan and
  // pass. A grad that was there before the pass is in it and travels along; an undefined one counts
  // as zeros. Does not wait.
  virtual void on_gradient_ready(std::size_t index) = 0;
  // After the last gradient. Waits until every grad is reduced; the next pass may then begin.
  //   Throws  ContractError naming a parameter whose gradient did not come; CommError
  virtual void finalize() = 0;
};

// What happens to a gradient: it is multiplied by `share` when it enters its bucket, and the full
// bucket is given to `hook`.
struct Reduction {
  double share = 1;
  collectives::CommHook* hook = nullptr;  // must outlive the reducer
};

// The reducer of one rank.
//   parameters  the same list on every rank, all of which have a value; must outlive the reducer,
//               which takes its places back when it ends
//   plan        the same on every rank; has each parameter exactly once, and one dtype a bucket
//   Ensures     after finalize, grads are what the hook makes of the buckets; with share 1/N and a
//               sum they are the mean over the group, each multiplied by 1/N first, bit for bit
//               what one all-reduce of the same bucket gives
//   Comm        one start of the hook a bucket
//   Memory      the buckets, as large as all gradients, from group.allocate_buffer; they live as
//               long as the reducer or a grad that looks at them
//   Source      [DDP20] §3.2.3, §4.2; PyTorch's Reducer with gradient_as_bucket_view, which divides
//               there where it multiplies otherwise; here it is the same product always
std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction);

}  // namespace lockstep::ddp
