#include "grader/parts/11_sharding/zero_2_gradients/rules.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader::zero_2_gradients {
namespace {

using Kind = DrivenEvent::Kind;
using Numbers = std::vector<double>;
using Right = std::vector<std::vector<DrivenGradient>>;  // by pass and parameter

// The numbers of a bucket's parameters, one after the other.
Numbers of_bucket(const Problem& p, std::size_t bucket, const auto& numbers_of) {
  Numbers all;
  for (const std::size_t i : p.plan.buckets[bucket]) {
    const Numbers one = numbers_of(i);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

bool is_kept(const Problem& p, std::size_t pass) {
  return pass > 0 && p.script.passes[pass].before == DrivenPass::Before::kept;
}

// Lists what the sum of a bucket after a pass is made of, and what zero_grad has taken out.
std::vector<Term> terms_of(const Problem& p, std::size_t bucket, const Right& right,
                           std::size_t pass) {
  std::vector<Term> all;
  bool counts = true;  // since zero_grad
  for (std::size_t at = pass + 1; at-- > 0;) {
    const auto add = [&](const std::string& name, double weight, int rank, auto part) {
      all.push_back({text(name, p.script.passes.size() > 1 ? text(" of pass ", at + 1) : "",
                          " of rank ", rank),
                     weight, of_bucket(p, bucket, [&](std::size_t i) {
                       return (right[at][i].*part)[static_cast<std::size_t>(rank)];
                     })});
    };
    for (int rank = 0; rank < p.ranks(); ++rank) {
      add("the new gradient", counts ? 1.0 / p.ranks() : 0, rank, &DrivenGradient::made);
      if (!is_kept(p, at)) {
        add("the grad from before", counts ? 1.0 / p.ranks() : 0, rank, &DrivenGradient::before);
      }
    }
    counts = counts && is_kept(p, at);
  }
  return all;
}

// In float32 and wider sums, halves add up without a rounding worth speaking of. One rank has no
// other rounding: its share is 1.
Numbers tolerance_of(const Problem& p, const DrivenGradient& right) {
  if (p.ranks() > 1 || p.sums() == p.script.dtype) return right.tolerance;
  Numbers all;
  for (const double value : right.values) all.push_back(1e-6 * std::fabs(value));
  return all;
}

void check_left(CaseRunner& runner, const Played& played, const Problem& p, int rank,
                std::size_t pass, const Zero2Sums& after) {
  const std::string where = text("rank ", rank, ", pass ", pass + 1);
  if (after.sums.size() != p.plan.buckets.size() || after.dtypes.size() != after.sums.size()) {
    throw MalformedMessage("not a sum a bucket");
  }
  if (after.grads_left > 0) {
    const Cause kept{
        "grads_left",
        "once a gradient is in its bucket's flat tensor, start makes the grad undefined"};
    runner.fail(
        played,
        because(kept,
                {.message = text("after pass ", pass + 1, ", ",
                                 counted(static_cast<std::int64_t>(after.grads_left), "parameter"),
                                 " of rank ", rank,
                                 after.grads_left == 1 ? " still has its" : " still have their",
                                 " whole grad, to which the next pass would add"),
                 .expected = "no grad",
                 .seen = text(after.grads_left),
                 .where = where}));
  }
  for (std::size_t b = 0; b < after.sums.size(); ++b) {
    if (after.dtypes[b] == p.sums() || after.sums[b].empty()) continue;
    runner.fail(played, {.cause = "type_of_sum",
                         .message = text("the sum of bucket ", b, " on rank ", rank, " is ",
                                         name_of(after.dtypes[b]), " where passes add up in ",
                                         name_of(p.sums()), ", which the argument `sums` asks for"),
                         .expected = std::string(name_of(p.sums())),
                         .seen = std::string(name_of(after.dtypes[b])),
                         .where = where});
  }
}

// Which buckets have started in a pass, by the gradients that came.
class StartedBuckets {
 public:
  explicit StartedBuckets(const Problem& p)
      : buckets_(&p.plan.buckets), came_(p.script.sizes.size()) {}
  void take(std::size_t parameter) {
    came_.at(parameter) = true;
    const auto is_there = [&](std::size_t i) { return came_[i]; };
    while (next_ < buckets_->size() && std::ranges::all_of((*buckets_)[next_], is_there)) ++next_;
  }
  // The first parameter of those that still has its grad.
  std::optional<std::size_t> kept(const std::vector<std::uint8_t>& has_grad) const {
    for (std::size_t b = 0; b < next_; ++b) {
      for (const std::size_t i : (*buckets_)[b]) {
        if (has_grad[i] != 0) return i;
      }
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::vector<std::size_t>>* buckets_;
  std::vector<bool> came_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<std::int64_t> Problem::counts(std::size_t bucket) const {
  std::vector<std::int64_t> all;
  for (const std::size_t i : plan.buckets[bucket]) all.push_back(script.sizes[i]);
  return all;
}

DType Problem::sums() const {
  return script.dtype == DType::float64 ? DType::float64 : DType::float32;
}

std::int64_t Problem::bytes(std::int64_t numbers) const {
  return numbers * static_cast<std::int64_t>(bytes_of(script.dtype));
}

std::string Problem::description() const {
  return text(members.description(), ", ", counted(std::ssize(script.sizes), "parameter"), " of ",
              name_of(script.dtype), " in ", counted(std::ssize(plan.buckets), "bucket"), ", ",
              counted(std::ssize(script.passes), "pass"), name_of(script.held));
}

void check_sums(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                const Reports& reports, const ScriptService& events) {
  events.require_all();
  const auto right = right_gradients(p.script, salt, p.ranks());
  for (const Zero2Report& report : reports) {
    if (report.after.size() != right.size()) throw MalformedMessage("not a report a pass");
  }
  for (std::size_t pass = 0; pass < right.size(); ++pass) {
    for (int rank = 0; rank < p.ranks(); ++rank) {
      check_left(runner, played, p, rank, pass,
                 reports[static_cast<std::size_t>(rank)].after[pass]);
    }
    for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) {
      std::vector<Bytes> pieces;
      for (const Zero2Report& report : reports) pieces.push_back(report.after[pass].sums[b]);
      check_pieces(
          runner, played, deal_of(p.cut(b), p.counts(b)),
          {.name =
               text("the sum of bucket ", b,
                    p.script.passes.size() > 1 ? text(" after pass ", pass + 1) : std::string()),
           .dtype = p.sums(),
           .whole = of_bucket(p, b, [&](std::size_t i) { return right[pass][i].values; }),
           .tolerance =
               of_bucket(p, b, [&](std::size_t i) { return tolerance_of(p, right[pass][i]); }),
           .terms = [&, b, pass] { return terms_of(p, b, right, pass); },
           .otherwise = {"other_values",
                         "no usual mistake gives it: look at what is in the bucket when it "
                         "starts, at what is added to its sum, and in which type"}},
          pieces);
    }
  }
}

void check_freed(CaseRunner& runner, const Played& played, const Problem& p, const Reports& reports,
                 const ScriptService& events) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto& grads = reports[static_cast<std::size_t>(rank)].grads;
    StartedBuckets started(p);
    std::size_t call = 0;
    for (const auto& note : events.notes(rank)) {
      const DrivenEvent& event = note.scripted.event;
      if (event.kind == Kind::finalize) started = StartedBuckets(p);
      if (event.kind != Kind::ready) continue;
      started.take(event.parameter);
      if (call == grads.size() || grads[call].size() != p.script.sizes.size()) {
        throw MalformedMessage("not the grads of each call");
      }
      const auto kept = started.kept(grads[call++]);
      if (!kept) continue;
      runner.fail(
          played,
          because({"gradients_kept",
                   "start copies a gradient into the flat tensor, and does not make the grad "
                   "undefined then"},
                  {.verdict = Verdict::efficiency,
                   .message = text("the sums are right, but after on_gradient_ready of parameter ",
                                   event.parameter, ", the grad of parameter ", *kept, " of rank ",
                                   rank, " is still there, though its bucket has started"),
                   .expected = "no grad",
                   .seen = "a grad",
                   .where = text("rank ", rank, ", parameter ", *kept)}));
    }
  }
}

}  // namespace lockstep::grader::zero_2_gradients
