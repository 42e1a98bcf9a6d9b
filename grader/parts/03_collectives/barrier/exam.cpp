// The exam of barrier: no rank leaves before the last rank arrives, and messages are few.
#include "grader/parts/03_collectives/barrier/case.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/collective/rules.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::barrier {
namespace {

// Much longer than any barrier takes.
constexpr double late_s = 1e-3;

// Delays the late ranks before they arrive, and records when each rank arrives and leaves.
class Turnstile final : public TypedService<TurnstileCall> {
 public:
  explicit Turnstile(std::vector<int> late) : late_(std::move(late)) {}

  struct Passage {
    std::vector<double> came_s, left_s;  // by call
  };
  std::map<int, Passage> passages;  // by world rank

  // A player that is not its adapter may have left out its reports.
  void require_passages(int rank, std::size_t came, std::size_t left) {
    const Passage& passage = passages[rank];
    if (passage.came_s.size() == came && passage.left_s.size() == left) return;
    throw MalformedMessage(text("rank ", rank, " came to ", passage.came_s.size(),
                                " barriers and left ", passage.left_s.size(), ", instead of ", came,
                                " and ", left));
  }

 private:
  std::optional<Answer> answer(const sim::Actor& who, TurnstileCall, double now) override {
    Passage& passage = passages[who.rank];
    if (passage.left_s.size() < passage.came_s.size()) {
      passage.left_s.push_back(now);
      return Answer{{}, now};
    }
    const std::size_t call = passage.came_s.size();
    if (call >= late_.size()) throw Error("a rank called more barriers than the case has");
    passage.came_s.push_back(who.rank == late_[call] ? now + late_s : now);
    return Answer{{}, passage.came_s.back()};
  }

  std::vector<int> late_;
};

// Some ranks of a world meet as often as `late` is long; late[i] is late for barrier i, -1: no
// rank.
struct Meeting {
  Members members;
  std::vector<int> late;
};

// Each rank has another token, so that a receive into it shows; cases have tokens of all types.
Bytes token_of(DType dtype, int rank) { return to_bytes(dtype, std::vector<double>{97.0 + rank}); }

DType type_of_token(const Members& members) {
  return all_dtypes[static_cast<std::size_t>(members.size()) % all_dtypes.size()];
}

// Sets up what all cases have in common.
CaseSetup setup_of(const Members& members, std::size_t barriers, Peer peer, Turnstile& turnstile) {
  CaseSetup setup;
  setup.services = {&turnstile};
  setup.limits.bytes_max = 1 << 16;
  setup.description =
      text(members.description(), ", ", counted(static_cast<int>(barriers), "barrier"));
  for (int rank = 0; rank < members.world; ++rank) {
    CollectiveCase one;
    one.group = members.choice_of(rank);
    one.dtype = type_of_token(members);
    one.peer = peer;
    CollectiveCall call;
    call.buffers.push_back({1, token_of(one.dtype, members.group_rank(rank))});
    one.calls.assign(barriers, call);
    setup.inputs.push_back(fields_to_bytes(one));
  }
  const auto add = [&](Situation situation) { setup.situations.push_back(situation); };
  if (members.size() == 13) add(Situation::rank_counts);
  if (members.size() >= std::ssize(all_dtypes)) add(Situation::every_dtype);
  if (members.size() < members.world) add(Situation::another_group);
  if (barriers > 1) add(Situation::same_call_twice);
  return setup;
}

// Checks what a rank returned from one call. It is `group_rank` in the group.
void check_token(CaseRunner& runner, const Played& played, const Members& members, int rank) {
  ByteReader& result = played.results->of(rank);
  const int group_rank = members.group_rank(rank);
  result.get<std::int64_t>();  // how much room there was
  if (std::ranges::equal(result.get_bytes(), token_of(type_of_token(members), group_rank))) return;
  Failure failure;
  failure.cause = "scribbled";
  failure.where = text("rank ", group_rank);
  failure.message = text("the token of rank ", group_rank,
                         " changed; likely cause: the rank received something into it");
  runner.fail(played, failure);
}

void check_tokens(CaseRunner& runner, const Played& played, const Meeting& meeting) {
  for (const int rank : meeting.members.ranks) {
    for (std::size_t call = 0; call < meeting.late.size(); ++call) {
      check_token(runner, played, meeting.members, rank);
    }
  }
}

[[noreturn]] void left_too_early(CaseRunner& runner, const Played& played, const Meeting& meeting,
                                 std::size_t call, int early, int late, double between_s) {
  Failure failure;
  failure.cause = "left_too_early";
  failure.where = text("rank ", meeting.members.group_rank(early), call ? ", second call" : "");
  failure.expected = "no rank leaves before the last rank arrives";
  failure.seen = text(between_s * 1e6, " µs too early");
  const auto& messages = played.counters.messages;
  const bool silent =
      std::ranges::none_of(messages, [&](const auto& message) { return message.src == late; });
  const std::string why =
      silent
          ? text("rank ", meeting.members.group_rank(late),
                 " sent no message at all; it takes no step, or it sends an empty tensor, which "
                 "is no message")
          : text("no message from rank ", meeting.members.group_rank(late), " had reached rank ",
                 meeting.members.group_rank(early), ", directly or through other ranks",
                 call
                     ? ", in this barrier; the messages that it received belong to the previous one"
                     : "");
  failure.message =
      text("rank ", meeting.members.group_rank(early), " left the barrier ", between_s * 1e6,
           " µs before rank ", meeting.members.group_rank(late), " arrived; likely cause: ", why);
  runner.fail(played, failure);
}

// The ranks of which each rank had heard in the end: those that sent to it, and those of which they
// had heard when they sent. As bits, by rank of the world.
std::vector<std::uint32_t> heard_of(const sim::Counters& counters, int world) {
  struct Heard {
    double at_s;
    std::uint32_t ranks;
  };
  std::vector<std::vector<Heard>> heard;
  for (int rank = 0; rank < world; ++rank) heard.push_back({{-1, std::uint32_t{1} << rank}});
  std::vector<sim::MessageRecord> messages = counters.messages;
  std::ranges::stable_sort(messages, {}, &sim::MessageRecord::arrived_s);
  for (const sim::MessageRecord& message : messages) {
    std::uint32_t told = 0;
    for (const Heard& one : heard[static_cast<std::size_t>(message.src)]) {
      if (one.at_s <= message.sent_s) told |= one.ranks;
    }
    heard[static_cast<std::size_t>(message.dst)].push_back({message.arrived_s, told});
  }
  std::vector<std::uint32_t> all;
  for (const auto& of_rank : heard) {
    std::uint32_t ranks = 0;
    for (const Heard& one : of_rank) ranks |= one.ranks;
    all.push_back(ranks);
  }
  return all;
}

// A send here returns only when its receive is posted, so it tells where its receiver is. Peers
// promise less, and among real processes a send waits for nobody: what a rank knows of another, it
// must have received.
void check_heard(CaseRunner& runner, const Played& played, const Members& members) {
  const auto heard = heard_of(played.counters, members.world);
  for (const int rank : members.ranks) {
    for (const int other : members.ranks) {
      if (heard[static_cast<std::size_t>(rank)] >> other & 1) continue;
      const int mine = members.group_rank(rank), its = members.group_rank(other);
      const int steps = tree_depth(members.size());
      const auto sends_to = [&](int from, int to) {
        return std::ranges::any_of(played.counters.messages, [&](const auto& message) {
          return message.src == from && message.dst == to;
        });
      };
      Failure failure;
      failure.cause = "never_heard";
      failure.where = text("rank ", mine);
      failure.expected = text("a message from rank ", its, ", directly or through other ranks");
      failure.seen = "none";
      failure.message = text(
          "rank ", mine, " left the barrier without a message from rank ", its,
          ", directly or through other ranks; likely cause: ",
          played.counters.depth < steps
              ? text("a step is missing: ", members.size(), " ranks need ", steps,
                     " of them, ⌈log₂N⌉, not ⌊log₂N⌋")
          : sends_to(rank, other)
              ? std::string("it relies on a send that returns only when its receive is posted, "
                            "which no real group promises (engine/comm/peers.hpp)")
              : text("no rank from which rank ", mine, " received knew of rank ", its,
                     " by then. In step s a rank sends to (rank + 2^s) % N and receives from (rank "
                     "- 2^s + N) % N, which exist for any N"));
      runner.fail(played, failure);
    }
  }
}

// priced: what the messages cost is compared, too.
enum class Compared : unsigned char { passages, priced };

std::optional<Played> meet(CaseRunner& runner, const Meeting& meeting,
                           Compared compared = Compared::passages) {
  Turnstile turnstile(meeting.late);
  CaseSetup setup = setup_of(meeting.members, meeting.late.size(), Peer::stays, turnstile);
  setup.schedule_seed = runner.draw();
  setup.situations.push_back(Situation::order_of_ranks);
  if (compared == Compared::priced && meeting.members.size() == 13) {
    setup.situations.push_back(Situation::cost_at_13_ranks);
  }
  const int late = meeting.late.front();
  if (late >= 0) setup.description += text(", rank ", meeting.members.group_rank(late), " is late");
  auto played = runner.play(setup);
  if (!played) return played;
  for (std::size_t call = 0; call < meeting.late.size(); ++call) {
    int last = meeting.members.ranks.front(), first = last;
    auto& passages = turnstile.passages;
    for (const int rank : meeting.members.ranks) {
      turnstile.require_passages(rank, meeting.late.size(), meeting.late.size());
      if (passages[rank].came_s[call] > passages[last].came_s[call]) last = rank;
      if (passages[rank].left_s[call] < passages[first].left_s[call]) first = rank;
    }
    const double between_s = passages[last].came_s[call] - passages[first].left_s[call];
    if (between_s > 0) left_too_early(runner, *played, meeting, call, first, last, between_s);
  }
  if (meeting.late.size() == 1) check_heard(runner, *played, meeting.members);
  check_tokens(runner, *played, meeting);
  return played;
}

// A rank dies at one of its requests; the first is made before it comes to the barrier.
void check_death(CaseRunner& runner, int ranks, const Death& death) {
  const Members members = whole_world(ranks);
  Turnstile turnstile({-1});
  CaseSetup setup = setup_of(members, 1, Peer::lost, turnstile);
  const bool dies = death.at_request > 0;
  if (dies) {
    setup.description += text(", rank ", death.rank, " dies ",
                              death.at_request == 1 ? "before it arrives" : "in the barrier");
    setup.faults.kills.push_back({.rank = death.rank, .at_call = death.at_request});
  }
  using enum Situation;
  setup.situations = dies ? std::vector{lost_at_each_request, unchanged_after_a_failure}
                          : std::vector{after_an_exception};
  const auto played = dies ? play_with_a_death(runner, setup) : runner.play(setup);
  if (!played) return;
  for (int rank = 0; rank < ranks; ++rank) {
    if (played->results->killed(rank)) continue;
    const LostPeerEnding seen = read_fields<LostPeerEnding>(played->results->of(rank));
    if (auto failure = failure_of(seen, rank, *played->results)) {
      runner.fail(*played, std::move(*failure));
    }
    const bool returned = seen.ending.kind == Ending::Kind::returned;
    turnstile.require_passages(rank, 1, returned ? 1 : 0);
    check_token(runner, *played, members, rank);
    if (!returned || death.at_request != 1) continue;
    Failure failure;
    failure.cause = "left_too_early";
    failure.where = text("rank ", rank);
    failure.expected = "a CommError, because not all ranks arrived";
    failure.seen = "a normal return";
    failure.message =
        text("rank ", rank, " left the barrier, though rank ", death.rank,
             " died before it arrived; likely cause: rank ", rank, " does not wait for rank ",
             death.rank, ", directly or through other ranks");
    runner.fail(*played, failure);
  }
}

void deaths(CaseRunner& runner) {
  static constexpr std::pair<int, int> ranks_and_dead[] = {{3, 1}, {4, 0}, {5, 4}, {2, 1}, {7, 3}};
  const auto requests_of = [&](int number) {
    const auto [ranks, dies] = ranks_and_dead[number];
    Turnstile turnstile({-1});
    const auto counters = runner.rehearse(setup_of(whole_world(ranks), 1, Peer::lost, turnstile));
    return counters.ranks[static_cast<std::size_t>(dies)].requests;
  };
  at_each_request(runner, {.cases = 16,
                           .problems = static_cast<int>(std::size(ranks_and_dead)),
                           .requests_of = requests_of,
                           .judge = [&](int number, std::int64_t request) {
                             const auto [ranks, dies] = ranks_and_dead[number];
                             check_death(runner, ranks, {dies, request});
                           }});
}

void check_cost(CaseRunner& runner, int ranks) {
  const auto played = meet(runner, {whole_world(ranks), {-1}}, Compared::priced);
  if (!played) return;
  Price price;
  price.shape = "a barrier";
  price.depth = price.sends = price.receives = 2 * tree_depth(ranks);
  price.why_depth = "the ranks send one after the other; all of them can send in every step";
  price.why_fan =
      "one rank exchanges messages with all the others; a message can also report the ranks that "
      "its sender has heard from";
  check_price(runner, *played, {.members = whole_world(ranks), .calls = 1}, price);
  for (const auto& message : played->counters.messages) {
    if (message.bytes <= 8) continue;
    Failure failure;
    failure.verdict = Verdict::efficiency;
    failure.cause = "long_messages";
    failure.expected = "at most 8 bytes a message";
    failure.seen = text(message.bytes, " bytes");
    failure.message = text("rank ", message.src, " sent a message of ", message.bytes,
                           " bytes; likely cause: the part sends more than the token, although a "
                           "message only has to arrive");
    runner.fail(*played, failure);
  }
}

}  // namespace

Exam exam() {
  return {
      {"no rank leaves before the last rank arrives, whichever rank is late",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 4, 1, 5, 6, 7, 8}) {
           for (int late = 0; late < n; ++late) meet(runner, {whole_world(n), {late}});
         }
         for (const auto& [n, late] : {std::pair{12, 11}, {13, 0}, {13, 12}, {16, 7}, {17, 16}}) {
           meet(runner, {whole_world(n), {late}});
         }
       }},
      {"two barriers in a row do not mix, even if a different rank is late each time",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 5, 8}) {
           for (int late = 0; late < n; ++late) {
             meet(runner, {whole_world(n), {late, (late + n - 1) % n}});
           }
         }
       }},
      {"the same holds in a group whose ranks differ from the global ranks",
       [](CaseRunner& runner) {
         for (const int late : {6, 1, 4}) meet(runner, {split_members(), {late, 3}});
       }},
      {"no chain of messages, no rank's sends and no rank's receives exceed 2·log2 N",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 4, 5, 6, 7, 8, 12, 13, 17}) check_cost(runner, n);
       }},
      {"when a peer is lost, a rank throws CommError and never returns before all ranks arrive",
       deaths, std::vector<std::size_t>{0}},
  };
}

}  // namespace lockstep::grader::barrier
