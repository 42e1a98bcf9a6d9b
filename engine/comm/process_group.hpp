// ProcessGroup: Peers plus collectives, as in PyTorch's c10d. Every member calls the same
// collectives in the same order with the same count and dtype.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/comm/peers.hpp"

namespace lockstep::comm {

// Payload this rank sent, as every world counts it; `modelled` when the library does not tell.
struct Traffic {
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  bool modelled = false;
};

class ProcessGroup : public Peers {
 public:
  // In place on every rank: data [n] = the root's data.
  void broadcast(Tensor data, int root, Where where = Where::current());
  // In place: data [n] {partial: group} → the reduction, identical bit for bit on every rank.
  void all_reduce(Tensor data, ReduceOp op, Where where = Where::current());
  // all [size · n] = mine [n] of rank 0, then of rank 1, …
  void all_gather(const Tensor& mine, Tensor all, Where where = Where::current());
  void barrier(Where where = Where::current());

  // The same, started now, waited for later. Operations of one group complete in order.
  Work broadcast_async(Tensor data, int root, Where where = Where::current());
  Work all_reduce_async(Tensor data, ReduceOp op, Where where = Where::current());
  Work all_gather_async(const Tensor& mine, Tensor all, Where where = Where::current());

  // A new group of the ranks that pass the same color, ordered by (key, rank). Collective over
  // this group; no_color ranks take part and get nullptr.
  static constexpr int no_color = -1;
  std::unique_ptr<ProcessGroup> split(int color, int key, Where where = Where::current());

  // A tensor that this group can reduce without staging, where the backend has such memory.
  virtual Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device);

  virtual std::string_view backend() const = 0;
  virtual Traffic traffic() const = 0;

 protected:
  using Peers::Peers;
  virtual Work start_broadcast(Tensor data, int root, const Where& where) = 0;
  virtual Work start_all_reduce(Tensor data, ReduceOp op, const Where& where) = 0;
  virtual Work start_all_gather(const Tensor& mine, Tensor all, const Where& where) = 0;
  virtual Work start_barrier(const Where& where) = 0;
  // Blocking forms; a backend overrides them when it has something better than start + wait.
  virtual void broadcast_now(Tensor data, int root, const Where& where);
  virtual void all_reduce_now(Tensor data, ReduceOp op, const Where& where);
  virtual void all_gather_now(const Tensor& mine, Tensor all, const Where& where);
  virtual void barrier_now(const Where& where);
  virtual std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) = 0;
};

}  // namespace lockstep::comm
