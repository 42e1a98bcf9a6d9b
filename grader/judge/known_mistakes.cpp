#include "grader/judge/known_mistakes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

// These causes no mutant tells better: a value that was kept from an earlier call is seen in two
// cases and not in one.
constexpr std::array<std::string_view, 3> told_already{"stale", "stub", "unreadable_result"};

// Numbers at `a` and `b` of which one can be the other, added in another order.
template <typename Number>
bool nearly_equal(const std::byte* a, const std::byte* b, double tolerance) {
  Number one, other;
  std::memcpy(&one, a, sizeof one);
  std::memcpy(&other, b, sizeof other);
  if (std::isnan(one) || std::isnan(other)) return std::isnan(one) && std::isnan(other);
  const double larger = std::max(std::fabs(double{one}), std::fabs(double{other}));
  return std::isnormal(one) && std::isfinite(larger) &&
         std::fabs(double{one} - double{other}) <= tolerance * larger;
}

// The end of a number that lies over byte `at` and is nearly equal in both; `at` when there is
// none. Results are bytes without a schema, so any place may begin a number: what is equal but for
// its last digits as some number is taken for one.
template <typename Number>
std::size_t end_of_number(const Bytes& a, const Bytes& b, std::size_t at, double tolerance) {
  const std::size_t from = at < sizeof(Number) ? 0 : at - sizeof(Number) + 1;
  for (std::size_t begin = from; begin <= at && begin + sizeof(Number) <= a.size(); ++begin) {
    if (nearly_equal<Number>(a.data() + begin, b.data() + begin, tolerance)) {
      return begin + sizeof(Number);
    }
  }
  return at;
}

bool same_but_for_last_digits(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return false;
  constexpr double wide = 1e-12, narrow = 3e-6;  // some 4,000 and some 25 units in the last place
  for (std::size_t at = 0; at < a.size();) {
    if (a[at] == b[at]) {
      ++at;
      continue;
    }
    std::size_t end = end_of_number<double>(a, b, at, wide);
    if (end == at) end = end_of_number<float>(a, b, at, narrow);
    if (end == at) return false;
    at = end;
  }
  return true;
}

// The judge's words tell mistakes apart where there is no result, or it is right.
bool same_words(const Failure& one, const Failure& other) {
  const auto without_cause = [](const Failure& failure) {
    return failure.message.substr(0, lead_in(failure.message));
  };
  return without_cause(one) == without_cause(other) && one.expected == other.expected &&
         one.seen == other.seen;
}

// A case of an exam, played by a program that is no part of the report.
std::optional<Evidence> evidence_of(const std::string& exercise,
                                    const std::vector<std::string>& program,
                                    const JudgeOptions& options, const Check& check,
                                    const CaseRunner::Place& began_at, const CaseAddress& at) {
  JudgeOptions once = options;
  once.only_case = at;
  once.timeline = nullptr;
  once.debugged.reset();
  if (program.front() == options.mistakes) once.limits.cpu_s = 1;
  CaseRunner runner(exercise, program, once);
  return runner.evidence_of(began_at, check.run);
}

}  // namespace

std::vector<KnownMistake> read_mistakes(const std::string& program) {
  const std::string file = program + ".list";
  std::ifstream in(file);
  std::vector<KnownMistake> all;
  for (std::string line; std::getline(in, line);) {
    const std::size_t check = line.find('\t'), sentence = line.find('\t', check + 1);
    if (check == std::string::npos || sentence == std::string::npos) {
      throw Error(text(file, ":", all.size() + 1, ": not a mistake's name, check and sentence"));
    }
    all.push_back({line.substr(check + 1, sentence - check - 1),
                   {line.substr(0, check), line.substr(sentence + 1)}});
  }
  if (all.empty()) throw Error(file + " has no mistakes");
  return all;
}

bool same_evidence(const Evidence& seen, const Evidence& other) {
  if (seen.failure.verdict != other.failure.verdict) return false;
  if (seen.failure.where != other.failure.where) return false;
  const auto is_there = [](const Bytes& bytes) { return !bytes.empty(); };
  const bool by_results =
      seen.failure.verdict == Verdict::wrong_answer && std::ranges::any_of(seen.results, is_there);
  if (!by_results && !same_words(seen.failure, other.failure)) return false;
  return std::ranges::equal(seen.results, other.results, same_but_for_last_digits);
}

std::optional<Cause> known_cause(const std::string& exercise,
                                 const std::vector<std::string>& player,
                                 const JudgeOptions& options, const Check& check,
                                 const CaseRunner::Place& began_at, const Failure& failure) {
  // A hang would cost its seconds once more.
  if (options.mistakes.empty() || !failure.alone || !worth_variants(failure)) return std::nullopt;
  if (std::ranges::find(told_already, failure.cause) != told_already.end()) return std::nullopt;
  const auto of = [&](const std::vector<std::string>& program, const CaseAddress& at) {
    return evidence_of(exercise, program, options, check, began_at, at);
  };
  std::vector<CaseAddress> addresses{failure.at};
  if (!failure.at.way.empty()) addresses.push_back({failure.at.number, {}});
  std::vector<Evidence> seen;
  for (const CaseAddress& at : addresses) {
    auto one = of(player, at);
    if (!one) return std::nullopt;  // it fails only after other cases
    seen.push_back(std::move(*one));
  }
  const std::vector<KnownMistake> all = read_mistakes(options.mistakes);
  const auto gives_it = [&](std::size_t number) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const auto other = of({options.mistakes, text(number)}, addresses[i]);
      if (!other || !same_evidence(seen[i], *other)) return false;
    }
    return true;
  };
  std::optional<Cause> found;
  // A part of a mistake may fail a later check first, so the other mistakes are tried where the
  // exam has nothing better to say.
  const bool last_word = lead_to(failure.cause) != lead_to("");
  for (const bool of_check : {true, false}) {
    if (!of_check && (found || !last_word)) break;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool fails_it = !all[i].check.empty() && check.name.starts_with(all[i].check);
      if (fails_it != of_check || (found && found->sentence == all[i].cause.sentence)) continue;
      if (!gives_it(i + 1)) continue;
      if (found) return std::nullopt;
      found = all[i].cause;
    }
  }
  return found;
}

}  // namespace lockstep::grader
