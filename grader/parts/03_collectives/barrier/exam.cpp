// The exam of barrier: no rank leaves before the last rank arrives, and messages are few.
#include "grader/parts/03_collectives/barrier/case.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "grader/exam/collective_rules.hpp"
#include "grader/exam/lost_peer_rules.hpp"
#include "grader/exam/reported_service.hpp"
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

// Each rank has another token, so that a receive into it shows.
Bytes token_of(int rank) { return to_bytes(DType::int64, std::vector<double>{1234567.0 + rank}); }

// What a rank returned of one call. It is `group_rank` in the group.
void check_token(CaseRunner& runner, const Played& played, int rank, int group_rank,
                 ByteReader& result) {
  result.get<std::int64_t>();  // how much room there was
  if (std::ranges::equal(result.get_bytes(), token_of(rank))) return;
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
      check_token(runner, played, rank, meeting.members.group_rank(rank), played.results->of(rank));
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

std::optional<Played> meet(CaseRunner& runner, const Meeting& meeting) {
  Turnstile turnstile(meeting.late);
  CaseSetup setup;
  setup.services = {&turnstile};
  setup.schedule_seed = runner.draw();
  setup.limits.bytes_max = 1 << 16;
  const int late = meeting.late.front();
  setup.description =
      text(meeting.members.description(), ", ", meeting.late.size(),
           meeting.late.size() == 1 ? " barrier" : " barriers",
           late < 0 ? "" : text(", rank ", meeting.members.group_rank(late), " is late"));
  for (int rank = 0; rank < meeting.members.world; ++rank) {
    CollectiveCase one;
    one.group = meeting.members.choice_of(rank);
    one.dtype = DType::int64;
    CollectiveCall call;
    call.buffers.push_back({1, token_of(rank)});
    one.calls.assign(meeting.late.size(), call);
    setup.inputs.push_back(fields_to_bytes(one));
  }
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
  check_tokens(runner, *played, meeting);
  return played;
}

// A rank dies at one of its requests; the first is made before it comes to the barrier.
void check_death(CaseRunner& runner, int ranks, const Death& death) {
  Turnstile turnstile({-1});
  CaseSetup setup;
  setup.services = {&turnstile};
  setup.schedule_seed = runner.draw();
  setup.limits.bytes_max = 1 << 16;
  setup.description = text(ranks, " ranks, rank ", death.rank, " dies ",
                           death.at_request == 1 ? "before it arrives" : "in the barrier");
  setup.faults.kills.push_back({.rank = death.rank, .at_call = death.at_request});
  for (int rank = 0; rank < ranks; ++rank) {
    CollectiveCase one;
    one.dtype = DType::int64;
    one.peer = Peer::lost;
    one.calls.emplace_back().buffers.push_back({1, token_of(rank)});
    setup.inputs.push_back(fields_to_bytes(one));
  }
  const auto played = play_with_a_death(runner, setup);
  if (!played) return;
  for (int rank = 0; rank < ranks; ++rank) {
    if (played->results->killed(rank)) continue;
    ByteReader& result = played->results->of(rank);
    const LostPeerEnding seen = read_fields<LostPeerEnding>(result);
    if (auto failure = failure_of(seen, rank, *played->results)) {
      runner.fail(*played, std::move(*failure));
    }
    const bool returned = seen.ending.kind == Ending::Kind::returned;
    turnstile.require_passages(rank, 1, returned ? 1 : 0);
    check_token(runner, *played, rank, rank, result);
    if (!returned || death.at_request > 1) continue;
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

void check_cost(CaseRunner& runner, int ranks) {
  const auto played = meet(runner, {whole_world(ranks), {-1}});
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
       [](CaseRunner& runner) {
         for (const auto& [n, rank, request] :
              {std::tuple{2, 1, 1}, {4, 0, 1}, {5, 4, 1}, {4, 3, 2}, {5, 2, 4}}) {
           check_death(runner, n, {rank, request});
         }
       },
       std::vector<std::size_t>{0}},
  };
}

}  // namespace lockstep::grader::barrier
