// ProcessGroup: Peers plus collectives, as in PyTorch's c10d. Every member calls the same
// collectives in the same order with the same count and dtype.
//   N ranks, this one is r; n elements of a rank; Σ is the reduction over the ranks by `op`
//
// Rules for all of them
//   - Tensors are contiguous, any dtype; integers are refused where `op` is average. Elements
//     count, shapes do not. n may be 0.
//   - input and output may be the same memory only where collective.hpp says so.
//   - Every rank of the group gets the same bits of the same Σ. Averages multiply by 1/N, then sum.
//   - The form with _async starts the operation and returns; its tensors belong to it until wait().
//     Operations of one group are carried out in the order in which they were started.
//   - A group carries tensors of some devices (Peers::carries), usually of those that the host
//     reads; group_by_device.hpp has a group of two backends. The tensors of one call are on one
//     kind of device, the same kind on all ranks.
//   - Throws  ContractError before anything is sent, when this rank's arguments make no sense;
//             CommError when ranks disagree, a peer is lost or the deadline passes: it names the
//             ranks, and the group is then poisoned
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/comm/collective.hpp"
#include "engine/comm/peers.hpp"
#include "engine/comm/split_groups.hpp"

namespace lockstep::comm {

// Payload this rank sent, as every world counts it; `modelled` when the library does not tell.
struct Traffic {
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  bool modelled = false;
};

// The clock whose seconds a group counts.
enum class Clock : std::uint8_t { machine, modelled };

// The place at which an average multiplies by 1/N: before the reduction, in a pass of its own over
// a rank's tensor, or within it, while tensors are combined, which needs no pass. The bits are the
// same.
enum class Averaging : std::uint8_t { before, within };

class ProcessGroup : public Peers {
 public:
  using Counts = std::span<const std::int64_t>;

  // data [n] = the root's data.
  void broadcast(Tensor data, int root, Where where = Where::current());
  Work broadcast_async(Tensor data, int root, Where where = Where::current());

  // At the root data [n] {partial: group} becomes Σ; the others keep theirs.
  void reduce(Tensor data, int root, ReduceOp op, Where where = Where::current());
  Work reduce_async(Tensor data, int root, ReduceOp op, Where where = Where::current());

  // data [n] {partial: group} becomes Σ on every rank.
  void all_reduce(Tensor data, ReduceOp op, Where where = Where::current());
  Work all_reduce_async(Tensor data, ReduceOp op, Where where = Where::current());
  // data [n] {partial: group} becomes Σ·factor: the sum, multiplied last. One pass where the group
  // averages within, else two; the bits are the same.
  void all_reduce_scaled(Tensor data, double factor, Where where = Where::current());

  // At the root all [N·n] = mine [n] of rank 0, of rank 1, …; elsewhere `all` is not looked at.
  void gather(const Tensor& mine, Tensor all, int root, Where where = Where::current());
  Work gather_async(const Tensor& mine, Tensor all, int root, Where where = Where::current());

  // mine [n] = part r of the root's all [N·n]; elsewhere `all` is not looked at.
  void scatter(const Tensor& all, Tensor mine, int root, Where where = Where::current());
  Work scatter_async(const Tensor& all, Tensor mine, int root, Where where = Where::current());

  // all [N·n] = mine [n] of rank 0, of rank 1, …
  void all_gather(const Tensor& mine, Tensor all, Where where = Where::current());
  Work all_gather_async(const Tensor& mine, Tensor all, Where where = Where::current());
  // The same with parts of unequal size: counts[i] elements of rank i; all [Σ counts].
  void all_gather(const Tensor& mine, Tensor all, Counts counts, Where where = Where::current());
  Work all_gather_async(const Tensor& mine, Tensor all, Counts counts,
                        Where where = Where::current());

  // mine [n] = part r of Σ all [N·n].
  void reduce_scatter(const Tensor& all, Tensor mine, ReduceOp op, Where where = Where::current());
  Work reduce_scatter_async(const Tensor& all, Tensor mine, ReduceOp op,
                            Where where = Where::current());

  // out [N·n] = part r of rank 0's in [N·n], of rank 1's, …
  void all_to_all(const Tensor& in, Tensor out, Where where = Where::current());
  Work all_to_all_async(const Tensor& in, Tensor out, Where where = Where::current());
  // The same with parts of unequal size: in_counts[i] elements go to rank i, out_counts[i] come
  // from it.
  void all_to_all(const Tensor& in, Tensor out, Counts in_counts, Counts out_counts,
                  Where where = Where::current());
  Work all_to_all_async(const Tensor& in, Tensor out, Counts in_counts, Counts out_counts,
                        Where where = Where::current());

  // Returns when every rank has come.
  void barrier(Where where = Where::current());
  Work barrier_async(Where where = Where::current());
  // A barrier with a deadline of its own, to find out who is late: the error names all the ranks
  // that did not come. Unlike c10d's, every rank that came is told, not rank 0 alone.
  void monitored_barrier(double timeout_s, Where where = Where::current());

  // A new group of the ranks that pass the same color, ordered by (key, rank). Collective over
  // this group; no_color ranks take part and get nullptr.
  static constexpr int no_color = comm::no_color;
  std::unique_ptr<ProcessGroup> split(int color, int key, Where where = Where::current());

  // A tensor that this group can reduce without staging, where the backend has such memory.
  virtual Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device);

  // Seconds of this rank's clock, from a moment of its own: the machine's steady clock or, of a
  // simulated rank, virtual time, in which every operation takes as long as on the modelled device.
  // What is told of a run is measured with it.
  virtual double now_s() const;
  // Moves the calling strand's clock to at least this time. The strand calls it before it uses what
  // another strand of its rank did then. Simulated strands have clocks of their own; a machine has
  // one, so nothing needs to be done.
  virtual void wait_until(double /*seconds*/) const {}
  virtual Clock clock() const { return Clock::machine; }

  // How the group averages tensors on that device. On a group that averages within, asking for the
  // average is cheaper than scaling and summing.
  virtual Averaging averaging(const Device&) const { return Averaging::before; }

  std::string_view backend() const override = 0;
  virtual Traffic traffic() const = 0;

 protected:
  using Peers::Peers;
  // Called with checked arguments.
  virtual Work start(const Collective& collective, const Where& where) = 0;
  // The blocking form; a backend overrides it when it has something better than start + wait.
  virtual void run(const Collective& collective, const Where& where);
  virtual std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) = 0;

  // Fails what runs and what comes, here and at the peers, soon and with this reason. A group
  // without a network has nothing to fail.
  //   Thread  any, also while an operation runs
  virtual void give_up(const std::string& why);

  // For groups that stand in front of another one.
  static Work start_in(ProcessGroup& inner, const Collective& collective, const Where& where) {
    return inner.start(collective, where);
  }
  static void run_in(ProcessGroup& inner, const Collective& collective, const Where& where) {
    inner.run(collective, where);
  }
  static void give_up_in(ProcessGroup& inner, const std::string& why) { inner.give_up(why); }
};

}  // namespace lockstep::comm
