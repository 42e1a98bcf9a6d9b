#include "engine/apps/sim_programs.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/collectives/all_to_all.hpp"
#include "engine/collectives/barrier.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/collectives/gather.hpp"
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/naive_all_reduce.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/scatter.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "engine/tensor/contributors.hpp"

namespace lockstep::apps {

namespace {

using namespace lockstep::collectives;

constexpr int root = 0;

// The value that rank r brings: small enough for every element type.
double value_of(int rank) { return 1 + rank % 7; }

Tensor filled(const SimRank& self, std::int64_t count, double value) {
  return full({count}, value, self.dtype, self.device);
}

// All elements of the tensor are this value.
void expect(const SimRank& self, const Tensor& seen, double value) {
  if (!self.device.has_numbers() || seen.numel() == 0) return;
  const auto bytes = seen.raw_bytes();
  const std::size_t size = bytes_of(self.dtype);
  const bool alike = std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
  if (alike && seen.item() == value) return;
  throw Error(text("the elements on rank ", self.group.rank(), " are not all ", value,
                   ", as they should be; can ", name_of(self.dtype), " count that far?"));
}

// Block r of the tensor is what rank r brings.
void expect_blocks(const SimRank& self, const Tensor& seen) {
  for (int r = 0; r < self.group.size(); ++r) {
    expect(self, seen.narrow(r * self.count, self.count), value_of(r));
  }
}

// On the root, one block for each rank; on the others nothing.
Tensor blocks_at_root(const SimRank& self) {
  const bool here = self.group.rank() == root;
  const Tensor all = filled(self, here ? self.group.size() * self.count : 0, 0);
  for (int r = 0; here && r < self.group.size(); ++r) {
    all.narrow(r * self.count, self.count).fill_(value_of(r));
  }
  return all;
}

// The whole numbers up to this one are exact in the element type.
double exact_up_to(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 1 << 24;
    case DType::float16:
      return 1 << 11;
    case DType::bfloat16:
      return 1 << 8;
    case DType::int8:
      return 127;
    case DType::uint8:
      return 255;
    case DType::int32:
      return 0x7fffffff;
    default:
      return 9007199254740992.0;  // 2^53
  }
}

// Rank r brings r + 1 to a sum, so that one rank left out and another counted twice shows; ones
// where the sum of all would not be exact.
bool adds_numbers(const SimRank& self) {
  const double ranks = self.group.size();
  return ranks * (ranks + 1) / 2 <= exact_up_to(self.dtype);
}
double addend_of(const SimRank& self) { return adds_numbers(self) ? self.group.rank() + 1 : 1; }

// All elements of the tensor are the sums of what all ranks bring.
void expect_sum(const SimRank& self, const Tensor& seen) {
  if (const auto* sets = contributors_of(self.device)) sets->expect_all(seen, self.group.size());
  const double ranks = self.group.size();
  expect(self, seen, adds_numbers(self) ? ranks * (ranks + 1) / 2 : ranks);
}

template <auto part>
void run_all_reduce_part(const SimRank& self) {
  const Tensor data = filled(self, self.count, addend_of(self));
  part(self.group, data, ReduceOp::sum);
  expect_sum(self, data);
}

void run_hierarchical(const SimRank& self) {
  const int ranks = self.group.size(), each = self.ranks_per_node;
  if (each > 0 && each < ranks && ranks % each != 0) {
    throw UsageError(text("hierarchical_all_reduce needs full nodes, but ", ranks,
                          " ranks do not fill nodes of ", each));
  }
  const Tensor data = filled(self, self.count, addend_of(self));
  run_all_reduce(AllReduce::hierarchical, self.group, each, data, ReduceOp::sum);
  expect_sum(self, data);
}

void run_exchange(const SimRank& self) {
  const int rank = self.group.rank(), size = self.group.size();
  const Tensor from_left = filled(self, self.count, 0);
  exchange(self.group, filled(self, self.count, value_of(rank)), from_left);
  expect(self, from_left, value_of((rank + size - 1) % size));
}

template <auto part>
void run_broadcast(const SimRank& self) {
  const Tensor data = filled(self, self.count, self.group.rank() == root ? 5 : 0);
  part(self.group, data, root);
  expect(self, data, 5);
}

template <auto part>
void run_reduce(const SimRank& self) {
  const Tensor data = filled(self, self.count, addend_of(self));
  part(self.group, data, root, ReduceOp::sum);
  if (self.group.rank() == root) return expect_sum(self, data);
  expect(self, data, addend_of(self));
}

template <auto part>
void run_scatter(const SimRank& self) {
  const Tensor mine = filled(self, self.count, 0);
  part(self.group, blocks_at_root(self), mine, root);
  expect(self, mine, value_of(self.group.rank()));
}

template <auto part>
void run_gather(const SimRank& self) {
  const bool here = self.group.rank() == root;
  const Tensor all = filled(self, here ? self.group.size() * self.count : 0, 0);
  part(self.group, filled(self, self.count, value_of(self.group.rank())), all, root);
  if (here) expect_blocks(self, all);
}

template <auto part>
void run_all_gather(const SimRank& self) {
  const Tensor all = filled(self, self.group.size() * self.count, 0);
  part(self.group, filled(self, self.count, value_of(self.group.rank())), all);
  expect_blocks(self, all);
}

template <auto part>
void run_reduce_scatter(const SimRank& self) {
  const std::int64_t rank = self.group.rank(), size = self.group.size();
  const std::int64_t begin = rank * self.count / size, end = (rank + 1) * self.count / size;
  const Tensor mine = filled(self, end - begin, 0);
  part(self.group, filled(self, self.count, addend_of(self)), mine, ReduceOp::sum);
  expect_sum(self, mine);
}

template <auto part>
void run_all_to_all(const SimRank& self) {
  const auto size = static_cast<std::size_t>(self.group.size());
  const std::vector<std::int64_t> each(size, self.count);
  const std::int64_t all = self.group.size() * self.count;
  const Tensor out = filled(self, all, 0);
  part(self.group, filled(self, all, value_of(self.group.rank())), out, each, each);
  expect_blocks(self, out);
}

template <auto part>
void run_barrier(const SimRank& self) {
  part(self.group, filled(self, 1, 0));
}

// The broadcast that one writes first: the root deals with every other rank itself.
void star_broadcast(comm::Peers& peers, const Tensor& data, int from) {
  if (peers.rank() != from) return peers.recv(data, from);
  for (int rank = 0; rank < peers.size(); ++rank) {
    if (rank != from) peers.send(data, rank);
  }
}
void star_reduce(comm::Peers& peers, const Tensor& data, int to, ReduceOp op) {
  if (peers.rank() != to) return peers.send(data, to);
  const Tensor received = data.empty_like(data.numel());
  for (int rank = 0; rank < peers.size(); ++rank) {
    if (rank == to) continue;
    peers.recv(received, rank);
    data.reduce_(received, op);
  }
}

// The group's own, which the simulator prices as one operation.
using Group = comm::ProcessGroup;
using Counts = const std::vector<std::int64_t>&;
void native_all_reduce(Group& group, const Tensor& data, ReduceOp op) {
  group.all_reduce(data, op);
}
void native_broadcast(Group& group, const Tensor& data, int from) { group.broadcast(data, from); }
void native_reduce(Group& group, const Tensor& data, int to, ReduceOp op) {
  group.reduce(data, to, op);
}
void native_scatter(Group& group, const Tensor& all, const Tensor& mine, int from) {
  group.scatter(all, mine, from);
}
void native_gather(Group& group, const Tensor& mine, const Tensor& all, int to) {
  group.gather(mine, all, to);
}
void native_all_gather(Group& group, const Tensor& mine, const Tensor& all) {
  group.all_gather(mine, all);
}
void native_reduce_scatter(Group& group, const Tensor& all, const Tensor& mine, ReduceOp op) {
  group.reduce_scatter(all, mine, op);
}
void native_all_to_all(Group& group, const Tensor& in, const Tensor& out, Counts, Counts) {
  group.all_to_all(in, out);
}
void native_barrier(Group& group, const Tensor&) { group.barrier(); }

constexpr std::array programs{
    SimProgram{"exchange", run_exchange, exchange_cost},
    SimProgram{"broadcast", run_broadcast<broadcast>, broadcast_cost},
    SimProgram{"reduce", run_reduce<reduce>, reduce_cost, Leaves::sums},
    SimProgram{"scatter", run_scatter<scatter>, scatter_cost},
    SimProgram{"gather", run_gather<gather>, gather_cost},
    SimProgram{"all_gather", run_all_gather<all_gather>, all_gather_cost},
    SimProgram{"reduce_scatter", run_reduce_scatter<reduce_scatter>, reduce_scatter_cost,
               Leaves::sums},
    SimProgram{"all_to_all", run_all_to_all<all_to_all>, all_to_all_cost},
    SimProgram{"barrier", run_barrier<barrier>,
               [](int ranks, std::int64_t) { return barrier_cost(ranks); }},
    SimProgram{"naive_all_reduce", run_all_reduce_part<naive_all_reduce>, naive_all_reduce_cost,
               Leaves::sums},
    SimProgram{"ring_all_reduce", run_all_reduce_part<ring_all_reduce>, ring_all_reduce_cost,
               Leaves::sums},
    SimProgram{"tree_all_reduce", run_all_reduce_part<tree_all_reduce>, tree_all_reduce_cost,
               Leaves::sums},
    SimProgram{"halving_doubling_all_reduce", run_all_reduce_part<halving_doubling_all_reduce>,
               halving_doubling_all_reduce_cost, Leaves::sums},
    SimProgram{"hierarchical_all_reduce", run_hierarchical, nullptr, Leaves::sums},
    SimProgram{"star_broadcast", run_broadcast<star_broadcast>, nullptr},
    SimProgram{"star_reduce", run_reduce<star_reduce>, nullptr},
    SimProgram{"all_reduce", run_all_reduce_part<native_all_reduce>, nullptr},
    SimProgram{"native_broadcast", run_broadcast<native_broadcast>, nullptr},
    SimProgram{"native_reduce", run_reduce<native_reduce>, nullptr},
    SimProgram{"native_scatter", run_scatter<native_scatter>, nullptr},
    SimProgram{"native_gather", run_gather<native_gather>, nullptr},
    SimProgram{"native_all_gather", run_all_gather<native_all_gather>, nullptr},
    SimProgram{"native_reduce_scatter", run_reduce_scatter<native_reduce_scatter>, nullptr},
    SimProgram{"native_all_to_all", run_all_to_all<native_all_to_all>, nullptr},
    SimProgram{"native_barrier", run_barrier<native_barrier>, nullptr}};

}  // namespace

std::span<const SimProgram> sim_programs() { return programs; }

}  // namespace lockstep::apps
