#include "grader/parts/08_horovod/negotiate/rules.hpp"

#include <algorithm>
#include <cctype>

#include "engine/tensor/shape.hpp"
#include "grader/exam/ranks/traffic.hpp"

namespace lockstep::grader::negotiate {
namespace {

using horovod::Response;
using horovod::Verdict;
using NegotiateReports = std::vector<NegotiateReport>;

// "reduce c, a; refused: w; stalled: b"
std::string shown_answers(const Answers& answers) {
  std::string all;
  const Verdict* last = nullptr;
  for (const auto& [name, verdict] : answers) {
    const bool begins = last == nullptr || *last != verdict;
    if (last != nullptr) all += begins ? "; " : ", ";
    if (begins && verdict == Verdict::refused) all += "refused: ";
    if (begins && verdict == Verdict::stalled) all += "stalled: ";
    if (begins && verdict == Verdict::reduce) all += "reduce ";
    all += name;
    last = &verdict;
  }
  return all.empty() ? "nothing" : all;
}

Answers answers_in(const std::vector<Response>& responses) {
  Answers all;
  for (const Response& response : responses) all.emplace_back(response.name, response.verdict);
  return all;
}

// True if a number stands in a sentence, and not as a part of a longer one.
bool tells_number(const std::string& sentence, int number) {
  const std::string digits = text(number);
  for (std::size_t at = 0; (at = sentence.find(digits, at)) != std::string::npos; ++at) {
    const auto is_digit = [&](std::size_t place) {
      return place < sentence.size() && std::isdigit(static_cast<unsigned char>(sentence[place]));
    };
    if ((at == 0 || !is_digit(at - 1)) && !is_digit(at + digits.size())) return true;
  }
  return false;
}

std::string tensor_text(const AskedGradient& one) {
  Shape shape;
  for (const std::int64_t size : one.shape) shape.push_back(size);
  return text(name_of(one.dtype), " ", text_of(shape));
}

const AskedGradient* request_of(const Brought& brought, const std::string& name) {
  const auto found = std::ranges::find(brought.ready, name, &AskedGradient::name);
  return found == brought.ready.end() ? nullptr : &*found;
}

// Says what a reason lacks; empty if it says enough.
std::string lacking_in_refusal(const Round& round, const Response& response) {
  const AskedGradient& first = *request_of(round[0], response.name);
  for (int rank = 1; rank < std::ssize(round); ++rank) {
    const AskedGradient& other = *request_of(round[static_cast<std::size_t>(rank)], response.name);
    if (tensor_text(other) == tensor_text(first)) continue;
    const bool both = response.why.find(tensor_text(first)) != std::string::npos &&
                      response.why.find(tensor_text(other)) != std::string::npos;
    if (both && tells_number(response.why, rank)) return {};
  }
  return text("both tensors and the rank that differs; one of them is ", tensor_text(first));
}

std::string lacking_in_stall(const Round& round, const Response& response) {
  for (int rank = 0; rank < std::ssize(round); ++rank) {
    if (request_of(round[static_cast<std::size_t>(rank)], response.name) != nullptr) continue;
    if (!tells_number(response.why, rank)) return text("rank ", rank, ", which does not have it");
  }
  const std::size_t lacks = response.why.find(" not on ");
  for (int rank = 0; lacks != std::string::npos && rank < std::ssize(round); ++rank) {
    if (request_of(round[static_cast<std::size_t>(rank)], response.name) == nullptr) continue;
    const std::string after = response.why.substr(lacks, response.why.find(',', lacks) - lacks);
    if (tells_number(after, rank)) return text("the right ranks: rank ", rank, " has it");
  }
  return {};
}

std::string lacking_in(const Round& round, const Response& response) {
  if (response.verdict == Verdict::reduce) return {};
  if (response.why.find(response.name) == std::string::npos) return "the gradient's name";
  return response.verdict == Verdict::refused ? lacking_in_refusal(round, response)
                                              : lacking_in_stall(round, response);
}

struct RoundOfRank {
  const NegotiateProblem& problem;
  std::size_t number;
  int rank;

  const Round& round() const { return problem.rounds[number]; }
  std::string name() const {
    return problem.rounds.size() == 1 ? text("rank ", rank)
                                      : text("round ", number + 1, ", rank ", rank);
  }
};

void check_answers(CaseRunner& runner, const Played& played, const RoundOfRank& at,
                   const std::vector<Response>& responses) {
  const Answers seen = answers_in(responses), right = right_answers(at.round());
  if (same_answers(seen, right)) return;
  std::optional<Cause> cause;
  if (at.number > 0 && same_answers(seen, right_answers(at.problem.rounds[at.number - 1]))) {
    cause = {"round_before", "this is what the round before was answered"};
  }
  Answers unseen = right;  // without the names of rounds before
  for (std::size_t k = 0; k < at.number; ++k) {
    for (const auto& [name, verdict] : right_answers(at.problem.rounds[k])) {
      std::erase_if(unseen, [&](const auto& answer) { return answer.first == name; });
    }
  }
  if (!cause && same_answers(seen, unseen)) {
    cause = {"remembered",
             "a name comes again in every step; a round keeps nothing of earlier ones"};
  }
  if (!cause && seen.empty() && at.rank == 0) {
    cause = {
        "none_found",
        "rank 0, which decides, finds no such name: take names whole, and count each rank that "
        "has one once"};
  }
  if (!cause && seen.empty()) {
    cause = {"no_answer", "rank 0 decides, and its list must come to every rank"};
  }
  const auto is_too_lenient = [&](const auto& answer) {
    const std::pair refused{answer.first, Verdict::refused};
    return answer.second == Verdict::reduce && std::ranges::find(right, refused) != right.end();
  };
  if (!cause && std::ranges::any_of(seen, is_too_lenient)) {
    cause = {"not_compared",
             "a sum of different tensors would be garbage; compare the dtype and the whole shape "
             "of every rank"};
  }
  const auto without_stalled = [](Answers answers) {
    std::erase_if(answers, [](const auto& one) { return one.second == Verdict::stalled; });
    return answers;
  };
  const Cause unknown{
      "other_answers",
      same_answers(without_stalled(seen), without_stalled(right))
          ? "what is stalled differs: a name whose longest wait, on any rank that has it, is above "
            "the limit; and all that wait, when all ranks wait and none is reduced or refused"
          : "count for each name the ranks on which it is ready, and keep rank 0's order; every "
            "rank takes part in each round, also with nothing ready"};
  runner.fail(played, because(cause.value_or(unknown),
                              {.message = text(at.name(), " is told '", shown_answers(seen),
                                               "'; it should be '", shown_answers(right), "'"),
                               .expected = shown_answers(right),
                               .seen = shown_answers(seen),
                               .where = at.name()}));
}

void check_reasons(CaseRunner& runner, const Played& played, const RoundOfRank& at,
                   const std::vector<Response>& responses) {
  for (const Response& response : responses) {
    const std::string lacking = lacking_in(at.round(), response);
    if (lacking.empty()) continue;
    runner.fail(played,
                {.cause = "reason",
                 .message = text(at.name(), " is told that ", response.name, " is ",
                                 response.verdict == Verdict::refused ? "refused" : "stalled",
                                 ", but the reason does not name ", lacking, ": '", response.why,
                                 "'; the reader needs both ranks"),
                 .where = at.name()});
  }
}

void check_alike(CaseRunner& runner, const Played& played, const RoundOfRank& at,
                 const std::vector<Response>& first, const std::vector<Response>& other) {
  if (first == other) return;
  runner.fail(played,
              because({"ranks_differ",
                       "each rank makes its own list; only rank 0 knows what all have, so its list "
                       "is the one that all return"},
                      {.message = text(at.name(),
                                       " returns another list than rank 0, in its order "
                                       "or its reasons"),
                       .expected = shown_answers(answers_in(first)),
                       .seen = shown_answers(answers_in(other)),
                       .where = at.name()}));
}

void compare_rounds(CaseRunner& runner, const Played& played, const NegotiateProblem& p,
                    std::uint64_t, const NegotiateReports& reports) {
  for (const NegotiateReport& report : reports) {
    if (report.rounds.size() != p.rounds.size()) throw MalformedMessage("not a list a round");
  }
  for (std::size_t k = 0; k < p.rounds.size(); ++k) {
    for (int rank = 0; rank < p.members.size(); ++rank) {
      const RoundOfRank at{p, k, rank};
      const auto& mine = reports[static_cast<std::size_t>(rank)].rounds[k];
      check_answers(runner, played, at, mine);
      check_reasons(runner, played, at, mine);
      check_alike(runner, played, at, reports[0].rounds[k], mine);
    }
  }
}

NegotiateCase case_of_rank(const NegotiateProblem& p, std::uint64_t, int rank) {
  NegotiateCase one;
  for (const Round& round : p.rounds) one.rounds.push_back(round[static_cast<std::size_t>(rank)]);
  return one;
}

// One round of them, fewer ranks, fewer gradients.
std::vector<NegotiateProblem> smaller_problems(const NegotiateProblem& p) {
  std::vector<NegotiateProblem> offered;
  for (std::size_t k = 0; k < p.rounds.size() && p.rounds.size() > 1; ++k) {
    offered.emplace_back(p).rounds = {p.rounds[k]};
  }
  for (int ranks = 2; ranks < p.members.size(); ++ranks) {
    NegotiateProblem& fewer = offered.emplace_back(p);
    fewer.members = whole_world(ranks);
    for (Round& round : fewer.rounds) round.resize(static_cast<std::size_t>(ranks));
  }
  for (const Brought& brought : p.rounds.front()) {
    for (const AskedGradient& one : brought.ready) {
      NegotiateProblem& fewer = offered.emplace_back(p);
      for (Round& round : fewer.rounds) {
        for (Brought& each : round) {
          std::erase_if(each.ready, [&](const auto& other) { return other.name == one.name; });
        }
      }
    }
  }
  return offered;
}

// The bytes that a round in which all is released costs all ranks together, as the contract has it.
std::int64_t bytes_by_contract(const NegotiateProblem& p) {
  const std::int64_t others = p.members.size() - 1;
  std::int64_t requests = 5, responses = 4;
  for (const AskedGradient& one : p.rounds.front().front().ready) {
    const auto length = static_cast<std::int64_t>(one.name.size());
    requests += length + 25 + 8 * std::ssize(one.shape);
    responses += length + 9;
  }
  constexpr std::int64_t lengths = 8 + 8;  // of either list
  return others * (lengths + requests + responses);
}

}  // namespace

void check_bytes_of_round(CaseRunner& runner, const Played& played, const NegotiateProblem& p) {
  const double seen = total_bytes(played.counters);
  const auto most = static_cast<double>(bytes_by_contract(p));
  std::int64_t names = 0;
  for (const AskedGradient& one : p.rounds.front().front().ready) names += std::ssize(one.name);
  const double least = static_cast<double>(names * (p.members.size() - 1));
  runner.note_par("bytes", seen, most, played);
  // A quarter more than the contract's encoding, for one of your own.
  if (seen > 1.25 * most) {
    runner.fail(played, wasteful("everyone_is_told", seen, most, "from all ranks together",
                                 "requests go to rank 0 alone, and only its answer goes to all; "
                                 "with all requests sent to all ranks, a round costs N times as "
                                 "much"));
  }
  if (seen < least) {
    runner.fail(played, {.cause = "too_few_bytes",
                         .message = "the names of the gradients did not travel: rank 0 cannot know "
                                    "what is ready elsewhere",
                         .expected = text(least),
                         .seen = text(seen)});
  }
}

NegotiateContract contract_of_rounds() {
  return {.case_of = case_of_rank,
          .compare = compare_rounds,
          .ask_of =
              [](const NegotiateProblem& p, std::uint64_t, int, const NegotiateCase&,
                 Situations& asked) {
                if (p.rounds.size() > 1) asked.insert(Situation::same_call_twice);
              },
          .smaller = smaller_problems};
}

}  // namespace lockstep::grader::negotiate
