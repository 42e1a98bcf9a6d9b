// Argument checks of the collectives, made once for every backend. Whether the ranks agree with
// each other is the backend's to find out; whether one rank's arguments make sense is settled here.
#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

namespace {

void check_defined(const char* operation, const Tensor& data, int rank) {
  LOCKSTEP_CHECK(data.defined(), operation, ": rank ", rank,
                 " passes an undefined tensor; make one with empty() or zeros() first");
}

void check_root(int root, int rank, int size) {
  LOCKSTEP_CHECK(root >= 0 && root < size, "broadcast: root ", root, " is not in this group of ",
                 size, " ranks (0 to ", size - 1, "), asked by rank ", rank);
}

void check_gather(const Tensor& mine, const Tensor& all, int rank, int size) {
  check_defined("all_gather", mine, rank);
  check_defined("all_gather", all, rank);
  LOCKSTEP_CHECK(all.numel() == size * mine.numel(), "all_gather: rank ", rank, " gives ",
                 mine.numel(), " elements and room for ", all.numel(), "; ", size,
                 " ranks need room for ", size * mine.numel());
  LOCKSTEP_CHECK(all.dtype() == mine.dtype(), "all_gather: rank ", rank, " gives ",
                 name_of(mine.dtype()), " and room of ", name_of(all.dtype()),
                 "; both need the same type");
}

}  // namespace

Work ProcessGroup::broadcast_async(Tensor data, int root, Where where) {
  check_defined("broadcast", data, rank());
  check_root(root, rank(), size());
  return start_broadcast(std::move(data), root, where);
}

Work ProcessGroup::all_reduce_async(Tensor data, ReduceOp op, Where where) {
  check_defined("all_reduce", data, rank());
  return start_all_reduce(std::move(data), op, where);
}

Work ProcessGroup::all_gather_async(const Tensor& mine, Tensor all, Where where) {
  check_gather(mine, all, rank(), size());
  return start_all_gather(mine, std::move(all), where);
}

void ProcessGroup::broadcast(Tensor data, int root, Where where) {
  check_defined("broadcast", data, rank());
  check_root(root, rank(), size());
  broadcast_now(std::move(data), root, where);
}

void ProcessGroup::all_reduce(Tensor data, ReduceOp op, Where where) {
  check_defined("all_reduce", data, rank());
  all_reduce_now(std::move(data), op, where);
}

void ProcessGroup::all_gather(const Tensor& mine, Tensor all, Where where) {
  check_gather(mine, all, rank(), size());
  all_gather_now(mine, std::move(all), where);
}

void ProcessGroup::barrier(Where where) { barrier_now(where); }

void ProcessGroup::broadcast_now(Tensor data, int root, const Where& where) {
  start_broadcast(std::move(data), root, where).wait();
}

void ProcessGroup::all_reduce_now(Tensor data, ReduceOp op, const Where& where) {
  start_all_reduce(std::move(data), op, where).wait();
}

void ProcessGroup::all_gather_now(const Tensor& mine, Tensor all, const Where& where) {
  start_all_gather(mine, std::move(all), where).wait();
}

void ProcessGroup::barrier_now(const Where& where) { start_barrier(where).wait(); }

std::unique_ptr<ProcessGroup> ProcessGroup::split(int color, int key, Where where) {
  LOCKSTEP_CHECK(color >= no_color, "split: color ", color, " is negative, asked by rank ", rank(),
                 "; colors count from 0, and no_color (", no_color, ") takes no place");
  return start_split(color, key, where);
}

Tensor ProcessGroup::allocate_buffer(std::int64_t count, DType dtype, Device& device) {
  return empty({count}, dtype, device);
}

}  // namespace lockstep::comm
