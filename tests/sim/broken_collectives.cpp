// Mistakes of ranks that call collectives.
#include "tests/sim/broken_programs.hpp"

namespace lockstep::test {

namespace {

using comm::Work;
using sim::FindingKind;

void cycle_through_a_barrier(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.barrier();
  if (self.rank() == 0) self.group.send(self.ones(), 1);
  if (self.rank() == 1) self.at('b'), self.group.recv(self.ones(), 0);
  if (self.rank() == 1) self.group.barrier();
}

void one_rank_leaves_it_out(Self& self) {
  if (self.rank() == 2) return;
  self.at('a'), self.group.all_reduce(self.ones(), ReduceOp::sum);
}

void barrier_left_out(Self& self) {
  if (self.rank() != 3) self.at('a'), self.group.barrier();
  self.at('b'), self.group.all_reduce(self.ones(), ReduceOp::sum);
}

void another_order(Self& self) {
  if (self.rank() == 1) {
    self.at('a'), self.group.broadcast(self.ones(), 0);
    self.group.barrier();
  } else {
    self.at('b'), self.group.barrier();
    self.group.broadcast(self.ones(), 0);
  }
}

void another_count(Self& self) {
  const std::int64_t count = self.rank() == 2 ? 6 : 5;
  self.at('a'), self.group.all_reduce(self.ones(count), ReduceOp::sum);
}

void another_type(Self& self) {
  const DType dtype = self.rank() == 2 ? DType::float64 : DType::float32;
  self.at('a'), self.group.all_reduce(self.ones(5, dtype), ReduceOp::sum);
}

void another_operator(Self& self) {
  const ReduceOp op = self.rank() == 1 ? ReduceOp::max : ReduceOp::sum;
  self.at('a'), self.group.all_reduce(self.ones(), op);
}

void another_root(Self& self) {
  self.at('a'), self.group.broadcast(self.ones(), self.rank() == 0 ? 0 : 1);
}

void another_kind(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.reduce(self.ones(), 0, ReduceOp::sum);
  if (self.rank() != 0) self.at('b'), self.group.all_reduce(self.ones(), ReduceOp::sum);
}

void parts_do_not_fit(Self& self) {
  const std::vector<std::int64_t> in{1, 2}, out{1, self.rank() == 0 ? 3 : 2};
  const Tensor given = self.ones(3), got = self.ones(out[0] + out[1]);
  self.at('a'), self.group.all_to_all(given, got, in, out);
}

void written_while_reduced(Self& self) {
  const Tensor data = self.ones();
  Work work = self.group.all_reduce_async(data, ReduceOp::sum, self.at('a'));
  if (self.rank() == 1) data.fill_(2);
  work.wait();
}

void split_without_a_member(Self& self) {
  if (self.rank() == 2) return;
  const auto half = self.group.split(0, 0, self.at('a'));
}

void two_groups_in_two_orders(Self& self) {
  const auto pair = self.group.split(self.rank() / 2, 0);
  if (self.rank() != 1) self.at('a'), pair->barrier();
  self.at('b'), self.group.barrier();
  if (self.rank() == 1) pair->barrier();
}

}  // namespace

std::vector<BrokenProgram> broken_collectives() {
  return {
      {"a cycle goes through a barrier",
       "call ordering",
       2,
       cycle_through_a_barrier,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits in barrier for rank 1 ({a}), rank 1 waits in recv from rank "
       "0 (12 bytes, {b}): none can go first; no rank leaves barrier before its whole "
       "group has entered"},
      {"one rank leaves out the last collective",
       "call ordering",
       3,
       one_rank_leaves_it_out,
       FindingKind::deadlock,
       {0, 1, 2},
       "deadlock: ranks 0 and 1 wait in all_reduce(sum) of 3 float32 ({a}) for rank 2, "
       "which has already returned without calling it"},
      {"one rank leaves out a barrier",
       "call ordering",
       4,
       barrier_left_out,
       FindingKind::mismatch,
       {3, 0, 1, 2},
       "mismatch: as collective number 1, rank 3 calls all_reduce(sum) of 3 float32 ({b}), "
       "while ranks 0, 1 and 2 call barrier ({a}); all ranks of a group must call the same "
       "collectives in the same order"},
      {"one rank calls two collectives in the other order",
       "call ordering",
       3,
       another_order,
       FindingKind::mismatch,
       {1, 0, 2},
       "mismatch: as collective number 1, rank 1 calls broadcast from root 0 of 3 float32 "
       "({a}), while ranks 0 and 2 call barrier ({b}); all ranks of a group must call the same "
       "collectives in the same order"},
      {"the counts of a collective differ",
       "parameter matching",
       3,
       another_count,
       FindingKind::mismatch,
       {2, 0, 1},
       "mismatch: as collective number 1, rank 2 calls all_reduce(sum) of 6 float32 ({a}), "
       "while ranks 0 and 1 call all_reduce(sum) of 5 float32 ({a}); all ranks of a group "
       "must call the same collectives in the same order, with the same number of elements"},
      {"the types of a collective differ",
       "parameter matching",
       3,
       another_type,
       FindingKind::mismatch,
       {2, 0, 1},
       "mismatch: as collective number 1, rank 2 calls all_reduce(sum) of 5 float64 ({a}), "
       "while ranks 0 and 1 call all_reduce(sum) of 5 float32 ({a}); all ranks of a group "
       "must call the same collectives in the same order, with the same element type"},
      {"the operators of a collective differ",
       "parameter matching",
       3,
       another_operator,
       FindingKind::mismatch,
       {1, 0, 2},
       "mismatch: as collective number 1, rank 1 calls all_reduce(max) of 3 float32 ({a}), "
       "while ranks 0 and 2 call all_reduce(sum) of 3 float32 ({a}); all ranks of a group "
       "must call the same collectives in the same order, with the same operator"},
      {"the roots of a collective differ",
       "parameter matching",
       3,
       another_root,
       FindingKind::mismatch,
       {0, 1, 2},
       "mismatch: as collective number 1, rank 0 calls broadcast from root 0 of 3 float32 "
       "({a}), while ranks 1 and 2 call broadcast from root 1 of 3 float32 ({a}); all ranks "
       "of a group must call the same collectives in the same order, with the same root"},
      {"one rank calls another collective",
       "call ordering",
       3,
       another_kind,
       FindingKind::mismatch,
       {0, 1, 2},
       "mismatch: as collective number 1, rank 0 calls reduce(sum) to root 0 of 3 float32 "
       "({a}), while ranks 1 and 2 call all_reduce(sum) of 3 float32 ({b}); all ranks of a "
       "group must call the same collectives in the same order"},
      {"the parts that two ranks exchange differ",
       "parameter matching",
       2,
       parts_do_not_fit,
       FindingKind::mismatch,
       {0, 1},
       "mismatch: in collective number 1, all_to_all, rank 0 sends 2 elements to rank 1 "
       "({a}), which expects 1 ({a}); each rank must receive exactly what its peer sends"},
      {"a buffer is written while it is being reduced",
       "local concurrency",
       2,
       written_while_reduced,
       FindingKind::in_flight,
       {1},
       "in flight: rank 1 changed the buffer of its all_reduce ({a}) before wait() "
       "returned; until then, the buffer belongs to the operation"},
      {"one rank does not take part in a split",
       "call ordering",
       3,
       split_without_a_member,
       FindingKind::deadlock,
       {0, 1, 2},
       "deadlock: ranks 0 and 1 wait in split ({a}) for rank 2, which has already returned "
       "without calling it"},
      {"collectives of two groups are called in two orders",
       "call ordering",
       4,
       two_groups_in_two_orders,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits in barrier in group 1 (ranks 0 and 1) for rank 1 ({a}), rank "
       "1 waits in barrier for rank 0 ({b}): none can go first; they call collectives of "
       "several groups in different orders"},
  };
}

}  // namespace lockstep::test
