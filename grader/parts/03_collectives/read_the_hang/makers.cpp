// The hangs of the exam read_the_hang. Ranks stand here in roles; the exam renumbers them.
#include <numeric>

#include "grader/parts/03_collectives/read_the_hang/rules.hpp"

namespace lockstep::grader::read_the_hang {

using comm::Activity;
using comm::CallKind;
using comm::CallRecord;
using comm::HangKind;

namespace {

using Ranks = std::vector<int>;

CallRecord send_to(int peer) { return {CallKind::send, 0, 0, peer, 16}; }
CallRecord recv_from(int peer) { return {CallKind::recv, 0, 0, peer, 16}; }
CallRecord barrier() { return {CallKind::barrier, 0, 0, -1, 0}; }
CallRecord all_reduce(std::int64_t count, int group = 0) {
  return {CallKind::all_reduce, group, 0, -1, count};
}
CallRecord all_gather(std::int64_t count, int group = 0) {
  return {CallKind::all_gather, group, 0, -1, count};
}
CallRecord broadcast(int root, int group = 0, std::int64_t count = 1000) {
  return {CallKind::broadcast, group, 0, root, count};
}

// A world of `ranks`, halved into groups 1 (even) and 2 (odd ranks), that has done some collectives
// already: of all groups, so that numbers differ between them.
struct HungJob {
  HungJob(int ranks, const Draw& draw) : size(ranks) {
    hang.groups.resize(3);
    hang.programs.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      hang.groups[0].push_back(rank);
      hang.groups[rank % 2 == 0 ? 1 : 2].push_back(rank);
    }
    for (int group = 0; group < 3; ++group) {
      for (int i = draw(6); i >= 0; --i) {
        all(group, draw(2) == 0 ? all_reduce(1000, group) : all_gather(1000, group));
        ++called[static_cast<std::size_t>(group)];
      }
    }
  }

  void all(int group, const CallRecord& call) {
    for (const int rank : hang.groups[static_cast<std::size_t>(group)]) one(rank, call);
  }
  void others(const Ranks& but, const CallRecord& call) {
    for (int rank = 0; rank < size; ++rank) {
      if (std::find(but.begin(), but.end(), rank) == but.end()) one(rank, call);
    }
  }
  void one(int rank, const CallRecord& call) {
    hang.programs[static_cast<std::size_t>(rank)].calls.push_back(call);
  }
  void computes(int rank) {
    hang.programs[static_cast<std::size_t>(rank)].then = Activity::computing;
  }
  HangCase is(HangKind kind, const Ranks& culprits, int group = -1) {
    const std::int64_t number = group < 0 ? 0 : called[static_cast<std::size_t>(group)] + 1;
    hang.right = {kind, culprits, number};
    return hang;
  }

  HangCase hang;
  int size;
  std::vector<std::int64_t> called = std::vector<std::int64_t>(3);
};

HangCase sends_round(const Draw& draw) {
  HungJob c(2 + draw(7), draw);
  for (int rank = 0; rank < c.size; ++rank) c.one(rank, send_to((rank + 1) % c.size));
  Ranks everybody(static_cast<std::size_t>(c.size));
  std::iota(everybody.begin(), everybody.end(), 0);
  return c.is(HangKind::cycle, everybody);
}

// 3 → 2 → 0 ⇄ 1, and the rest waits in a barrier for all four.
HangCase waits_behind_a_cycle(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  c.one(0, recv_from(1));
  c.one(1, recv_from(0));
  c.one(2, recv_from(0));
  c.one(3, send_to(2));
  c.others({0, 1, 2, 3}, barrier());
  return c.is(HangKind::cycle, {0, 1});
}

// 0 → 1 → 2 → 0; rank 4 waits for 3, which computes; the rest waits for all of them.
HangCase cycle_beside_a_slow_rank(const Draw& draw) {
  HungJob c(6 + draw(3), draw);
  c.one(0, send_to(1));
  c.one(1, recv_from(2));
  c.one(2, send_to(0));
  c.computes(3);
  c.one(4, recv_from(3));
  c.others({0, 1, 2, 3, 4}, barrier());
  return c.is(HangKind::cycle, {0, 1, 2});
}

HangCase waits_for_a_message_instead(const Draw& draw) {
  HungJob c(3 + draw(6), draw);
  c.one(1, recv_from(0));
  c.all(0, all_reduce(1000));
  c.one(0, send_to(1));
  return c.is(HangKind::left_out, {1}, 0);
}

// Ranks 2, 4 … wait in the collective of group 1, which no odd rank calls.
HangCase waits_for_a_message_in_its_group(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  c.one(0, recv_from(2));
  c.all(1, all_reduce(1000, 1));
  c.one(2, send_to(0));
  return c.is(HangKind::left_out, {0}, 1);
}

// The same, and rank 4 of the group has not come either: it waits for an odd rank that computes.
HangCase waits_outside_the_knot(const Draw& draw) {
  HungJob c(7 + draw(2), draw);
  c.one(0, recv_from(2));
  c.one(4, recv_from(1));
  c.computes(1);
  c.all(1, all_reduce(1000, 1));
  c.one(2, send_to(0));
  return c.is(HangKind::left_out, {0, 4}, 1);
}

HangCase another_order(const Draw& draw) {
  HungJob c(3 + draw(6), draw);
  const bool gathers = draw(2) == 0;
  c.one(0, gathers ? all_gather(64) : barrier());
  c.others({0}, all_reduce(64));
  c.one(0, all_reduce(64));
  c.others({0}, gathers ? all_gather(64) : barrier());
  return c.is(HangKind::wrong_call, {0}, 0);
}

HangCase another_count(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  const int count = 100 + draw(1000);
  const Ranks few = draw(2) == 0 ? Ranks{0} : Ranks{0, 1};
  for (const int rank : few) c.one(rank, all_reduce(count - 1));
  c.others(few, all_reduce(count));
  return c.is(HangKind::wrong_count, few, 0);
}

HangCase another_root(const Draw& draw) {
  HungJob c(3 + draw(6), draw);
  c.one(0, broadcast(draw(2)));
  c.others({0}, broadcast(2));
  return c.is(HangKind::wrong_root, {0}, 0);
}

// Group 1 has ranks 0, 2, 4 …; the odd ranks wait in another group's collective, of the same number
// as often as not, and for a slow one.
HangCase another_call_in_a_group(const Draw& draw) {
  HungJob c(7 + draw(2), draw);
  c.one(0, all_reduce(64, 1));
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, all_gather(64, 1));
  for (int rank = 3; rank < c.size; rank += 2) c.one(rank, all_reduce(64, 2));
  c.computes(1);
  return c.is(HangKind::wrong_call, {0}, 1);
}

HangCase leaves_one_step_early(const Draw& draw) {
  HungJob c(3 + draw(6), draw);
  const Ranks gone = c.size > 4 && draw(2) == 0 ? Ranks{0, 1} : Ranks{0};
  c.others(gone, all_reduce(1000));
  return c.is(HangKind::early_exit, gone, 0);
}

// 0 → 1 → 2, which has returned; the others wait for rank 0 and nothing else.
HangCase leaves_at_the_end_of_a_chain(const Draw& draw) {
  HungJob c(4 + draw(5), draw);
  c.one(0, recv_from(1));
  c.one(1, recv_from(2));
  c.others({0, 1, 2}, send_to(0));
  return c.is(HangKind::early_exit, {2});
}

// One has returned and another is only slow: the first will never come.
HangCase leaves_while_another_computes(const Draw& draw) {
  HungJob c(4 + draw(5), draw);
  c.computes(1);
  c.others({0, 1}, barrier());
  return c.is(HangKind::early_exit, {0}, 0);
}

// Rank 0 of group 1 has returned too early. The odd ranks have returned, too, but no rank waits for
// them.
HangCase leaves_its_group(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, all_reduce(1000, 1));
  return c.is(HangKind::early_exit, {0}, 1);
}

// The slow rank's last collective is of the same kind as what the others wait in, one earlier.
HangCase is_slow(const Draw& draw) {
  HungJob c(2 + draw(7), draw);
  c.all(0, all_reduce(1000));
  ++c.called[0];
  c.computes(0);
  c.others({0}, all_reduce(1000));
  return c.is(HangKind::slow, {0}, 0);
}

HangCase is_slow_at_the_end_of_a_chain(const Draw& draw) {
  HungJob c(4 + draw(5), draw);
  for (int rank = 0; rank + 1 < c.size; ++rank) c.one(rank, recv_from(rank + 1));
  c.computes(c.size - 1);
  return c.is(HangKind::slow, {c.size - 1});
}

// The even ranks wait for one of them; the odd ones are busy, and nobody waits for these.
HangCase is_slow_in_its_group(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, all_gather(64, 1));
  for (int rank = 1; rank < c.size; rank += 2) c.computes(rank);
  c.computes(0);
  return c.is(HangKind::slow, {0}, 1);
}

// Rank 0 reduces in the group of even ranks what all others reduce in the world.
HangCase another_group(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  c.one(0, all_reduce(1000, 1));
  c.all(0, all_reduce(1000));
  return c.is(HangKind::wrong_group, {0}, 0);
}

// Rank 0 of group 1 begins with the world's collective. The odd ranks still compute.
HangCase the_world_before_its_group(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  c.one(0, all_reduce(1000));
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, all_reduce(1000, 1));
  for (int rank = 1; rank < c.size; rank += 2) c.computes(rank);
  return c.is(HangKind::wrong_group, {0}, 1);
}

// Rank 0 of group 1 brings another count; rank 1 of group 2 has returned.
HangCase another_count_beside_an_exit(const Draw& draw) {
  HungJob c(7 + draw(2), draw);
  c.one(0, all_reduce(63, 1));
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, all_reduce(64, 1));
  for (int rank = 3; rank < c.size; rank += 2) c.one(rank, all_reduce(1000, 2));
  return c.is(HangKind::wrong_count, {0}, 1);
}

// Rank 0 names another root, and brings another count; ranks 1 and 3 wait for each other.
HangCase another_root_beside_a_cycle(const Draw& draw) {
  HungJob c(7 + draw(2), draw);
  c.one(0, broadcast(4, 1, 999));
  for (int rank = 2; rank < c.size; rank += 2) c.one(rank, broadcast(2, 1));
  c.one(1, recv_from(3));
  c.one(3, recv_from(1));
  for (int rank = 5; rank < c.size; rank += 2) c.one(rank, all_reduce(1000, 2));
  return c.is(HangKind::wrong_root, {0}, 1);
}

// 0 ⇄ 1; 3 waits for 2, which has returned; so do the rest, and for all of them.
HangCase leaves_beside_a_cycle(const Draw& draw) {
  HungJob c(5 + draw(4), draw);
  c.one(0, recv_from(1));
  c.one(1, recv_from(0));
  c.one(3, recv_from(2));
  c.others({0, 1, 2, 3}, barrier());
  return c.is(HangKind::early_exit, {2}, 0);
}

}  // namespace

std::vector<HangMaker> hang_makers() {
  return {
      {"all ranks send to the right", sends_round},
      {"two ranks receive from each other, others wait behind them", waits_behind_a_cycle},
      {"a cycle of messages beside a slow rank", cycle_beside_a_slow_rank},
      {"a rank waits for a message instead of joining a collective", waits_for_a_message_instead},
      {"a rank calls two collectives in another order", another_order},
      {"a few ranks pass another count", another_count},
      {"a rank passes another root", another_root},
      {"a rank calls another collective of its group", another_call_in_a_group},
      {"a few ranks returned one step early", leaves_one_step_early},
      {"the rank at the end of a chain has returned", leaves_at_the_end_of_a_chain},
      {"one rank has returned, another computes", leaves_while_another_computes},
      {"one rank is slow", is_slow},
      {"the rank at the end of a chain is slow", is_slow_at_the_end_of_a_chain},
      {"one rank of a group is slow", is_slow_in_its_group},
      {"the right collective in the wrong group", another_group},
      {"another count in one group, an early return in the other", another_count_beside_an_exit,
       Kinds::several},
      {"another root and count, beside a cycle of messages", another_root_beside_a_cycle,
       Kinds::several},
      {"one rank has returned, beside a cycle of messages", leaves_beside_a_cycle, Kinds::several},
      {"a rank of a group has returned, and ranks outside it as well", leaves_its_group},
      {"a rank waits for a message instead of joining a collective of its group",
       waits_for_a_message_in_its_group},
      {"a rank joins the world's collective before that of its group", the_world_before_its_group},
      {"beside one that waits in a message, a rank of a group waits for a slow one",
       waits_outside_the_knot, Kinds::several},
  };
}

}  // namespace lockstep::grader::read_the_hang
