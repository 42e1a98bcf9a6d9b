// The exam of a part that reduces gradients in fewer bytes (play/lossy_play.hpp): the family ranks,
// for several calls in a row. An exam says what each rank brings to each call and what is right;
// dealing out, reading what came back, and making a failing problem smaller are here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/lossy/rules.hpp"
#include "grader/exam/ranks/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {

// Settings has text(), what a person reads of it: "in float16".
template <typename Settings>
struct LossyProblem {
  Members members{};
  Settings settings{};
  std::int64_t count = 0;  // elements of a gradient
  int calls = 1;
  int buckets = 1;  // calls are about one after the other
  DType dtype = DType::float32;
  std::uint64_t schedule_seed = 0;
  int in_flight = 1;      // calls that have begun before the first of them is waited for
  bool nonsense = false;  // the settings are to be refused

  std::string description() const {
    return text(members.description(), ", ", count, count == 1 ? " element of " : " elements of ",
                name_of(dtype), " ", settings.text(), calls > 1 ? text(", ", calls, " calls") : "",
                in_flight > 1 ? text(", ", in_flight, " at a time") : "");
  }
};

template <typename Settings>
struct LossyContract {
  using Problem = LossyProblem<Settings>;
  // The gradient that a rank brings to a call, and the state of a bucket that it keeps at first.
  // Both are rounded to the dtype.
  std::function<Numbers(const Problem&, std::uint64_t salt, int rank, std::size_t call)> gradient;
  std::function<Numbers(const Problem&, std::uint64_t salt, int rank, std::size_t bucket)> state{};
  std::function<void(CaseRunner&, const Played&, const Problem&, const LossySeen&,
                     const LossyNotes&)>
      compare;
};

// Numbers of several magnitudes and both signs, other ones on every rank and in every call, none of
// them zero.
inline Numbers drawn_numbers(std::int64_t count, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values(static_cast<std::size_t>(count));
  const std::uint64_t of_rank =
      keyed_bits(keyed_bits(salt, call), static_cast<std::uint64_t>(rank));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = keyed_bits(of_rank, i);
    const double size = (0.5 + static_cast<double>(bits >> 40) * 0x1p-24) * (1 + rank);
    values[i] =
        (bits & 1 ? -size : size) * std::pow(10.0, static_cast<double>((bits >> 1) % 4) - 2);
  }
  return values;
}

// Integers from -50 to 50 but 0, as numbers.
inline Numbers drawn_integers(std::int64_t count, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_numbers(count, salt, rank, call);
  for (double& value : values) {
    const double sign = value < 0 ? -1 : 1;
    value = sign * (1 + std::floor(std::fmod(std::fabs(value) * 1e4, 50.0)));
  }
  return values;
}

template <typename Settings>
class LossyFamily {
 public:
  using Problem = LossyProblem<Settings>;
  using Case = LossyCase<Settings>;
  using Contract = RanksContract<Problem, Case, LossyReport, LossyNotes>;

  static Contract ranks_contract(const LossyContract<Settings>& lossy) {
    return {
        .case_of = [lossy](const Problem& p, std::uint64_t salt,
                           int rank) { return case_of(lossy, p, salt, rank); },
        .compare =
            [lossy](CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                    const std::vector<LossyReport>& reports, const LossyNotes& notes) {
              if (p.nonsense) return require_refusals(runner, played, p, reports);
              require_notes(p, notes);
              lossy.compare(runner, played, p, seen_in(lossy, p, salt, reports), notes);
            },
        .ask_of = [lossy](const Problem& p, std::uint64_t salt, int rank, const Case&,
                          Situations& asked) { ask_of(lossy, p, salt, rank, asked); },
        .smaller = smaller,
        .services =
            [lossy](CaseRunner&, const Problem& p, std::uint64_t salt) {
              return std::tuple(LossyNotes(p.calls, [=](int world_rank, std::size_t call) {
                if (!p.members.contain(world_rank)) throw Error("no member");
                const int rank = p.members.group_rank(world_rank);
                if (std::cmp_greater_equal(call, p.calls)) return LossyNotes::Next{{}, gap_s(rank)};
                return LossyNotes::Next{to_bytes(p.dtype, lossy.gradient(p, salt, rank, call)),
                                        gap_s(rank)};
              }));
            },
        .explain = [](Failure& found, const Problem& p,
                      const LossyNotes& notes) { explain_crash(found, p.calls, notes); }};
  }

 private:
  static Numbers in_type(DType dtype, const Numbers& values) {
    return as_doubles(dtype, to_bytes(dtype, values));
  }

  static double gap_s(int rank) { return 2e-6 * (1 + rank % 3); }

  static Case case_of(const LossyContract<Settings>& lossy, const Problem& p, std::uint64_t salt,
                      int rank) {
    Case one{.settings = p.settings, .dtype = p.dtype};
    one.calls = static_cast<std::uint32_t>(p.calls);
    if (p.calls > 0) one.gradient = to_bytes(p.dtype, lossy.gradient(p, salt, rank, 0));
    for (std::size_t b = 0; lossy.state && std::cmp_less(b, p.buckets); ++b) {
      one.states.push_back(to_bytes(p.dtype, lossy.state(p, salt, rank, b)));
    }
    one.gap_s = gap_s(rank);
    one.in_flight = static_cast<std::uint32_t>(p.in_flight);
    one.nonsense = p.nonsense;
    return one;
  }

  static void ask_of(const LossyContract<Settings>& lossy, const Problem& p, std::uint64_t salt,
                     int rank, Situations& asked) {
    for (std::size_t call = 0; std::cmp_less(call, p.calls); ++call) {
      grader::ask_of(in_type(p.dtype, lossy.gradient(p, salt, rank, call)), p.dtype, asked);
    }
    if (p.count > 1 << 16) asked.insert(Situation::beyond_2_16);
    if (p.in_flight > 1 && p.count > 0) asked.insert(Situation::two_in_flight);
    if (p.calls > p.buckets) asked.insert(Situation::same_call_twice);
    if (p.schedule_seed != 0) asked.insert(Situation::order_of_ranks);
  }

  static LossySeen seen_in(const LossyContract<Settings>& lossy, const Problem& p,
                           std::uint64_t salt, const std::vector<LossyReport>& reports) {
    LossySeen seen{.members = p.members,
                   .dtype = p.dtype,
                   .gradients = {},
                   .kept = {},
                   .results = {},
                   .states = {},
                   .returned = {}};
    const auto calls = static_cast<std::size_t>(p.calls);
    for (const LossyReport& report : reports) {
      const std::size_t states = lossy.state ? calls : 0;
      if (report.results.size() == calls && report.states.size() == states &&
          report.returned.size() == states) {
        continue;
      }
      throw MalformedMessage("not a report of every call");
    }
    for (std::size_t call = 0; call < calls; ++call) {
      auto& given = seen.gradients.emplace_back();
      auto& results = seen.results.emplace_back();
      auto& states = seen.states.emplace_back();
      auto& returned = seen.returned.emplace_back();
      for (int rank = 0; rank < p.members.size(); ++rank) {
        const LossyReport& report = reports[static_cast<std::size_t>(rank)];
        given.push_back(in_type(p.dtype, lossy.gradient(p, salt, rank, call)));
        results.push_back(as_doubles(p.dtype, report.results[call]));
        if (!lossy.state) continue;
        states.push_back(as_doubles(p.dtype, report.states[call]));
        returned.push_back(as_doubles(p.dtype, report.returned[call]));
      }
    }
    for (std::size_t b = 0; lossy.state && std::cmp_less(b, p.buckets); ++b) {
      auto& kept = seen.kept.emplace_back();
      for (int rank = 0; rank < p.members.size(); ++rank) {
        kept.push_back(in_type(p.dtype, lossy.state(p, salt, rank, b)));
      }
    }
    return seen;
  }

  static void require_refusals(CaseRunner& runner, const Played& played, const Problem& p,
                               const std::vector<LossyReport>& reports) {
    if (std::ranges::all_of(reports, &LossyReport::refused)) return;
    runner.fail(played,
                because({"accepts_nonsense",
                         "look at the arguments first, whatever the number of elements"},
                        {.message = text(counted(p.count, "element"), " ", p.settings.text(),
                                         " were reduced, and must be refused"),
                         .expected = "ContractError",
                         .seen = "a reduction"}));
  }

  // Every member made every call.
  static void require_notes(const Problem& p, const LossyNotes& notes) {
    using Kind = LossyNote::Kind;
    const ReportOrder<Kind> order{{Kind::called}, {Kind::returned}, {Kind::waited}};
    for (const int rank : p.members.ranks) {
      for (int call = 1; call <= p.calls; ++call) {
        std::vector<Kind> kinds;
        for (const auto& note : notes.told(static_cast<std::uint32_t>(call), rank)) {
          kinds.push_back(note.report.kind);
        }
        require_order(text("rank ", rank), kinds, {order});
      }
    }
  }

  // Fewer ranks, fewer calls, fewer elements.
  static std::vector<Problem> smaller(const Problem& p) {
    std::vector<Problem> offered;
    if (p.nonsense) return offered;
    if (p.members.size() < p.members.world) {
      offered.emplace_back(p).members = whole_world(p.members.size());
    }
    for (int ranks = 1; ranks < p.members.size(); ++ranks) {
      offered.emplace_back(p).members = whole_world(ranks);
    }
    for (int calls = p.buckets; calls < p.calls; calls *= 2) offered.emplace_back(p).calls = calls;
    if (!p.settings.any_count()) return offered;
    for (const std::int64_t count : {p.count / 8, p.count / 2, p.count - 1}) {
      // An element for each rank stays, where there was one.
      const std::int64_t least = std::min<std::int64_t>(p.count, p.members.size());
      if (0 < count && least <= count && count < p.count) offered.emplace_back(p).count = count;
    }
    // Equal shares stay equal, so that what a rank sends is a whole number of bytes.
    if (p.count % p.members.size() == 0) {
      std::erase_if(offered,
                    [](const Problem& one) { return one.count % one.members.size() != 0; });
    }
    return offered;
  }
};

}  // namespace lockstep::grader
