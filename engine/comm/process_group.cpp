// Argument checks of the collectives, made once for every backend. This file checks that one rank's
// arguments make sense; the backend checks that the ranks agree with each other.
#include "engine/comm/process_group.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/base/units.hpp"

namespace lockstep::comm {

namespace {

using Kind = CollectiveKind;

// A call whose arguments are checked. Its kind and its rank begin each complaint.
struct CheckedCall {
  Kind kind;
  const ProcessGroup& group;
  int rank = group.rank(), size = group.size();

  std::string_view name() const { return sim::name_of(kind); }
  std::string who() const { return group.own_name(); }

  void check_tensor(const Tensor& data) const {
    LOCKSTEP_CHECK(data.defined(), name(), ": ", who(),
                   " passes an undefined tensor; make one with empty() or zeros() first");
    group.check_carried(name(), data);
  }

  void check_root(int root) const {
    LOCKSTEP_CHECK(root >= 0 && root < size, name(), ": root ", root, " is not in this group of ",
                   counted(size, "rank"), " (0 to ", size - 1, "), asked by ", who());
  }

  // `large` has room for `parts` elements and is of small's type.
  void check_pair(const Tensor& small, const Tensor& large, std::int64_t parts) const {
    check_tensor(small);
    check_tensor(large);
    LOCKSTEP_CHECK(large.numel() == parts, name(), ": ", who(), " has ", small.numel(),
                   " elements of its own and ", large.numel(), " for all; ", size,
                   " ranks need room for ", parts);
    check_types(small, large);
    check_place(small, large, rank * small.numel());
  }

  // Apart, or the small tensor is this rank's part of the large one, which begins at `place`.
  void check_place(const Tensor& small, const Tensor& large, std::int64_t place) const {
    if (!small.device().has_numbers() || small.numel() == 0) return;
    const auto at = reinterpret_cast<std::uintptr_t>(small.address());
    const auto begin = reinterpret_cast<std::uintptr_t>(large.address());
    if (at + small.bytes() <= begin || begin + large.bytes() <= at) return;
    const std::int64_t bytes = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(begin);
    const std::int64_t offset = bytes * small.numel() / static_cast<std::int64_t>(small.bytes());
    LOCKSTEP_CHECK(offset == place, name(), ": the small tensor of ", who(),
                   " lies in the large one from element ", offset,
                   " on, but its part there begins at ", place,
                   "; pass that part, or a tensor of its own");
  }

  void check_types(const Tensor& one, const Tensor& other) const {
    LOCKSTEP_CHECK(one.dtype() == other.dtype(), name(), ": ", who(), " gives ",
                   lockstep::name_of(one.dtype()), " and ", lockstep::name_of(other.dtype()),
                   "; both need the same type");
    const Device &here = one.device(), &there = other.device();
    const bool away = here.numbers() == Numbers::away || there.numbers() == Numbers::away;
    LOCKSTEP_CHECK(!away || &here == &there, name(), ": ", who(), " gives one tensor on '",
                   here.name(), "' and one on '", there.name(),
                   "'; bring both to one device with to_device or to_host");
  }

  // One count for each rank, and their sum is what `whole` holds.
  void check_counts(const char* which, ProcessGroup::Counts counts, const Tensor& whole) const {
    LOCKSTEP_CHECK(std::cmp_equal(counts.size(), size), name(), ": ", who(), " passes ",
                   counts.size(), " ", which, "; each of the ", size, " ranks needs one");
    for (const std::int64_t count : counts) {
      LOCKSTEP_CHECK(count >= 0 && count <= whole.numel(), name(), ": ", who(), " passes ", count,
                     " among its ", which, "; each lies between 0 and the ", whole.numel(),
                     " elements of the tensor");
    }
    const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    LOCKSTEP_CHECK(sum == whole.numel(), name(), ": ", who(), "'s ", which, " add up to ", sum,
                   ", but the tensor has ", whole.numel(), " elements");
  }

  // The multiplication by 1/N that makes a sum an average: before it or within.
  struct Share {
    double before = 1, within = 1;
  };
  Share share_of(ReduceOp op, const Tensor& data) const {
    if (op != ReduceOp::average) return {};
    LOCKSTEP_CHECK(!is_integer(data.dtype()), name(), ": ", who(), " asks for the average of ",
                   lockstep::name_of(data.dtype()),
                   ", which holds no fractions; take the sum, or a floating-point type");
    if (group.averaging(data.device()) == Averaging::within) return {.within = 1.0 / size};
    return {.before = 1.0 / size};
  }
};

// The input of an averaging reduction of a tensor that must stay as it is.
Tensor scaled_copy(const Tensor& data, double share) {
  if (share == 1) return data;
  Tensor copy = data.clone();
  copy.scale_(share);
  return copy;
}

Collective broadcast_of(CheckedCall call, const Tensor& data, int root) {
  call.check_tensor(data);
  call.check_root(root);
  return {.kind = call.kind,
          .root = root,
          .input = call.rank == root ? data : Tensor(),
          .output = data};
}

Collective reduce_of(CheckedCall call, const Tensor& data, int root, ReduceOp op) {
  call.check_tensor(data);
  call.check_root(root);
  const auto [before, within] = call.share_of(op, data);
  Collective made{.kind = call.kind, .op = op, .share = within, .root = root};
  if (call.rank != root) {
    made.input = scaled_copy(data, before);
    return made;
  }
  if (before != 1) data.scale_(before);
  made.input = made.output = data;
  return made;
}

Collective all_reduce_of(CheckedCall call, const Tensor& data, ReduceOp op) {
  call.check_tensor(data);
  const auto [before, within] = call.share_of(op, data);
  if (before != 1) data.scale_(before);
  return {.kind = call.kind, .op = op, .share = within, .input = data, .output = data};
}

Collective gather_of(CheckedCall call, const Tensor& mine, const Tensor& all, int root) {
  call.check_tensor(mine);
  call.check_root(root);
  if (call.rank != root) return {.kind = call.kind, .root = root, .input = mine};
  call.check_pair(mine, all, call.size * mine.numel());
  return {.kind = call.kind, .root = root, .input = mine, .output = all};
}

Collective scatter_of(CheckedCall call, const Tensor& all, const Tensor& mine, int root) {
  call.check_tensor(mine);
  call.check_root(root);
  if (call.rank != root) return {.kind = call.kind, .root = root, .output = mine};
  call.check_pair(mine, all, call.size * mine.numel());
  return {.kind = call.kind, .root = root, .input = all, .output = mine};
}

Collective all_gather_of(CheckedCall call, const Tensor& mine, const Tensor& all) {
  call.check_pair(mine, all, mine.defined() ? call.size * mine.numel() : 0);
  return {.kind = call.kind, .input = mine, .output = all};
}

Collective all_gather_of(CheckedCall call, const Tensor& mine, const Tensor& all,
                         ProcessGroup::Counts counts) {
  call.check_tensor(mine);
  call.check_tensor(all);
  call.check_types(mine, all);
  call.check_counts("counts", counts, all);
  const std::int64_t own = counts[static_cast<std::size_t>(call.rank)];
  LOCKSTEP_CHECK(mine.numel() == own, "all_gather: ", call.who(), " gives ", mine.numel(),
                 " elements, but its place in the counts says ", own);
  const auto before = counts.first(static_cast<std::size_t>(call.rank));
  call.check_place(mine, all, std::accumulate(before.begin(), before.end(), std::int64_t{0}));
  return {.kind = call.kind,
          .input = mine,
          .output = all,
          .output_counts = {counts.begin(), counts.end()}};
}

Collective reduce_scatter_of(CheckedCall call, const Tensor& all, const Tensor& mine, ReduceOp op) {
  call.check_pair(mine, all, mine.defined() ? call.size * mine.numel() : 0);
  const auto [before, within] = call.share_of(op, all);
  return {.kind = call.kind,
          .op = op,
          .share = within,
          .input = scaled_copy(all, before),
          .output = mine};
}

Collective all_to_all_of(CheckedCall call, const Tensor& in, const Tensor& out) {
  call.check_tensor(in);
  call.check_tensor(out);
  call.check_types(in, out);
  LOCKSTEP_CHECK(in.numel() == out.numel() && in.numel() % call.size == 0,
                 "all_to_all: ", call.who(), " gives ", in.numel(), " elements and room for ",
                 out.numel(), "; both must be the same multiple of ", call.size,
                 ", the number of ranks; pass counts for unequal parts");
  return {.kind = call.kind, .input = in, .output = out};
}

Collective all_to_all_of(CheckedCall call, const Tensor& in, const Tensor& out,
                         ProcessGroup::Counts in_counts, ProcessGroup::Counts out_counts) {
  call.check_tensor(in);
  call.check_tensor(out);
  call.check_types(in, out);
  call.check_counts("input counts", in_counts, in);
  call.check_counts("output counts", out_counts, out);
  return {.kind = call.kind,
          .input = in,
          .output = out,
          .input_counts = {in_counts.begin(), in_counts.end()},
          .output_counts = {out_counts.begin(), out_counts.end()}};
}

}  // namespace

double ProcessGroup::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ProcessGroup::broadcast(Tensor data, int root, Where where) {
  run(broadcast_of({Kind::broadcast, *this}, data, root), where);
}
Work ProcessGroup::broadcast_async(Tensor data, int root, Where where) {
  return start(broadcast_of({Kind::broadcast, *this}, data, root), where);
}

void ProcessGroup::reduce(Tensor data, int root, ReduceOp op, Where where) {
  run(reduce_of({Kind::reduce, *this}, data, root, op), where);
}
Work ProcessGroup::reduce_async(Tensor data, int root, ReduceOp op, Where where) {
  return start(reduce_of({Kind::reduce, *this}, data, root, op), where);
}

void ProcessGroup::all_reduce(Tensor data, ReduceOp op, Where where) {
  run(all_reduce_of({Kind::all_reduce, *this}, data, op), where);
}
Work ProcessGroup::all_reduce_async(Tensor data, ReduceOp op, Where where) {
  return start(all_reduce_of({Kind::all_reduce, *this}, data, op), where);
}

void ProcessGroup::all_reduce_scaled(Tensor data, double factor, Where where) {
  Collective sum = all_reduce_of({Kind::all_reduce, *this}, data, ReduceOp::sum);
  const bool within = averaging(data.device()) == Averaging::within && !is_integer(data.dtype());
  if (within) sum.factor = factor;
  run(sum, where);
  if (!within && factor != 1) data.scale_(factor);
}

void ProcessGroup::gather(const Tensor& mine, Tensor all, int root, Where where) {
  run(gather_of({Kind::gather, *this}, mine, all, root), where);
}
Work ProcessGroup::gather_async(const Tensor& mine, Tensor all, int root, Where where) {
  return start(gather_of({Kind::gather, *this}, mine, all, root), where);
}

void ProcessGroup::scatter(const Tensor& all, Tensor mine, int root, Where where) {
  run(scatter_of({Kind::scatter, *this}, all, mine, root), where);
}
Work ProcessGroup::scatter_async(const Tensor& all, Tensor mine, int root, Where where) {
  return start(scatter_of({Kind::scatter, *this}, all, mine, root), where);
}

void ProcessGroup::all_gather(const Tensor& mine, Tensor all, Where where) {
  run(all_gather_of({Kind::all_gather, *this}, mine, all), where);
}
Work ProcessGroup::all_gather_async(const Tensor& mine, Tensor all, Where where) {
  return start(all_gather_of({Kind::all_gather, *this}, mine, all), where);
}

void ProcessGroup::all_gather(const Tensor& mine, Tensor all, Counts counts, Where where) {
  run(all_gather_of({Kind::all_gather, *this}, mine, all, counts), where);
}
Work ProcessGroup::all_gather_async(const Tensor& mine, Tensor all, Counts counts, Where where) {
  return start(all_gather_of({Kind::all_gather, *this}, mine, all, counts), where);
}

void ProcessGroup::reduce_scatter(const Tensor& all, Tensor mine, ReduceOp op, Where where) {
  run(reduce_scatter_of({Kind::reduce_scatter, *this}, all, mine, op), where);
}
Work ProcessGroup::reduce_scatter_async(const Tensor& all, Tensor mine, ReduceOp op, Where where) {
  return start(reduce_scatter_of({Kind::reduce_scatter, *this}, all, mine, op), where);
}

void ProcessGroup::all_to_all(const Tensor& in, Tensor out, Where where) {
  run(all_to_all_of({Kind::all_to_all, *this}, in, out), where);
}
Work ProcessGroup::all_to_all_async(const Tensor& in, Tensor out, Where where) {
  return start(all_to_all_of({Kind::all_to_all, *this}, in, out), where);
}

void ProcessGroup::all_to_all(const Tensor& in, Tensor out, Counts in_counts, Counts out_counts,
                              Where where) {
  run(all_to_all_of({Kind::all_to_all, *this}, in, out, in_counts, out_counts), where);
}
Work ProcessGroup::all_to_all_async(const Tensor& in, Tensor out, Counts in_counts,
                                    Counts out_counts, Where where) {
  return start(all_to_all_of({Kind::all_to_all, *this}, in, out, in_counts, out_counts), where);
}

void ProcessGroup::barrier(Where where) { run({}, where); }
Work ProcessGroup::barrier_async(Where where) { return start({}, where); }

void ProcessGroup::monitored_barrier(double timeout_s, Where where) {
  LOCKSTEP_CHECK(timeout_s > 0, "monitored_barrier: a deadline of ", timeout_s, " s, asked by ",
                 own_name(), "; it must be positive");
  run({.timeout_s = timeout_s}, where);
}

void ProcessGroup::run(const Collective& collective, const Where& where) {
  start(collective, where).wait();
}

void ProcessGroup::give_up(const std::string&) {}

std::unique_ptr<ProcessGroup> ProcessGroup::split(int color, int key, Where where) {
  LOCKSTEP_CHECK(color >= no_color, "split: color ", color, " is negative, asked by ", own_name(),
                 "; colors count from 0, and no_color (", no_color, ") takes no place");
  return start_split(color, key, where);
}

Tensor ProcessGroup::allocate_buffer(std::int64_t count, DType dtype, Device& device) {
  return empty({count}, dtype, device);
}

}  // namespace lockstep::comm
