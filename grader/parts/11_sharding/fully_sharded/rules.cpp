#include "grader/parts/11_sharding/fully_sharded/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::fully_sharded {
namespace {

using Numbers = std::vector<double>;
using Kind = UnitCall::Kind;
using Note = UnitService::Note;

Numbers tolerance_of(const Problem& p, std::span<const double> right) {
  return relative_tolerance(p.dtype == DType::float64 ? 1e-12 : 1e-5, right);
}

// Every rank has all numbers of a unit.
Dealt whole_deal(const Problem& p, std::size_t unit) {
  zero::FlatShards whole = zero::flat_shards(p.units[unit], 1);
  whole.ranks.assign(static_cast<std::size_t>(p.ranks()), whole.ranks.front());
  return deal_of(whole, p.units[unit]);
}
Dealt shard_deal(const Problem& p, std::size_t unit) {
  return p.sharding == Sharding::no_shard ? whole_deal(p, unit)
                                          : deal_of(p.cut(unit), p.units[unit]);
}

std::string name_of(Kind kind) { return kind == Kind::forward ? "forward" : "backward"; }

std::int64_t whole_bytes_of(const Problem& p, std::size_t unit) {
  return p.bytes(p.cut(unit).padded());
}

// This rank's gradients of the units that were reduced before a pass.
std::int64_t gradient_bytes(const Problem& p, const Note& note) {
  std::int64_t bytes = 0;
  for (std::size_t u = 0; u < p.units.size(); ++u) {
    const bool reduced = note.call.kind == Kind::update || note.pass > 0 ||
                         (note.call.kind == Kind::backward && u > note.call.unit);
    if (reduced) bytes += p.bytes(p.cut(u).shard);
  }
  return bytes;
}

// Why a parameter has no value, or another one, in a pass.
Cause cause_of_missing(const Problem& p, const Note& note, std::uint8_t there) {
  const bool forward = note.call.kind == Kind::forward;
  if (there == UnitCall::other_shape) {
    return {"other_shape",
            "the parameter has a value of another shape or type; first give the part of the flat "
            "tensor the parameter's own shape, own.shapes[p]"};
  }
  const bool in_memory =
      p.sharding != Sharding::no_shard && std::ranges::count(note.call.whole, 1) == 0 &&
      note.call.now_bytes >= gradient_bytes(p, note) + whole_bytes_of(p, note.call.unit);
  const bool first = forward && note.step == 0 && note.pass == 0;
  if (in_memory && !first) {
    return {"freed_in_part",
            "a tensor of the whole unit is in memory, and no parameter has a view of it: free took "
            "the views away and left whole_[unit], so gather found the unit whole and did nothing"};
  }
  if (forward) {
    return {"not_gathered",
            "before_forward gathers the unit and gives every parameter a view of what came, in its "
            "shape"};
  }
  return {"freed_too_early",
          "the unit was freed after its forward pass, or before this one ran; before_backward "
          "brings it back, and it stays until after_backward"};
}

// A pass that finds a parameter without its value.
void check_there(CaseRunner& runner, const Played& played, const Problem& p, int rank,
                 const Note& note) {
  const auto missing = std::ranges::find_if(
      note.call.there, [](std::uint8_t there) { return there != UnitCall::right_shape; });
  if (missing == note.call.there.end()) return;
  const std::string where =
      text("rank ", rank, ", step ", note.step + 1, ", ", name_of(note.call.kind), " of unit ",
           note.call.unit, ", parameter ", missing - note.call.there.begin());
  runner.fail(
      played,
      because(
          cause_of_missing(p, note, *missing),
          {.message = text("in the ", name_of(note.call.kind), " pass of unit ", note.call.unit,
                           ", a parameter has no value of its shape on rank ", rank),
           .expected = "a value of the parameter's shape and type",
           .seen = *missing == UnitCall::other_shape ? "a value of another shape or type" : "none",
           .where = where}));
}

// The notes of all ranks about one pass.
void check_values(CaseRunner& runner, const Played& played, const Problem& p, const Trained& right,
                  const UnitService& units, std::size_t at) {
  const Note& first = units.notes(0)[at];
  const std::size_t unit = first.call.unit, step = static_cast<std::size_t>(first.step);
  std::vector<Bytes> seen;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const Note& note = units.notes(rank)[at];
    check_there(runner, played, p, rank, note);
    Bytes& all = seen.emplace_back();
    for (const Bytes& value : note.call.values) all.insert(all.end(), value.begin(), value.end());
  }
  const Numbers& whole = right.values[step][unit];
  std::vector<Mistake<Numbers>> kept;
  for (std::size_t before = 0; before < step; ++before) {
    kept.push_back({{"stale",
                     "the unit was gathered before the last update and kept since; free it after "
                     "its backward pass, so that the next pass gathers anew"},
                    right.values[before][unit]});
  }
  check_pieces(
      runner, played, whole_deal(p, unit),
      {.name = text("in the ", name_of(first.call.kind), " pass of unit ", unit, " in step ",
                    step + 1, ", a value"),
       .dtype = p.dtype,
       .whole = whole,
       .tolerance = tolerance_of(p, whole),
       .mistakes = std::move(kept),
       .otherwise = {"other_values",
                     "the ranges of the ranks lie in another order, or each parameter's view "
                     "begins somewhere else than cut.starts says"}},
      seen);
}

// A unit's gradient in a step is made of these; those of the step before do not belong there.
std::vector<Term> terms_of(const Problem& p, std::uint64_t salt, int step, std::size_t unit) {
  std::vector<Term> all;
  for (int pass = std::max(0, step - 1) * p.passes; pass < (step + 1) * p.passes; ++pass) {
    const bool belongs = pass >= step * p.passes;
    for (int rank = 0; rank < p.ranks(); ++rank) {
      Numbers one;
      for (std::size_t i = 0; i < p.units[unit].size(); ++i) {
        const auto made = gradient_of(p, salt, rank, pass, p.first_parameter(unit) + i);
        const auto end = one.size() + static_cast<std::size_t>(p.units[unit][i]);
        if (made) one.insert(one.end(), made->begin(), made->end());
        one.resize(end);
      }
      all.push_back({text("rank ", rank, "'s gradient of pass ", pass % p.passes + 1,
                          belongs ? "" : " of the step before"),
                     belongs ? 1.0 / p.ranks() : 0, std::move(one)});
    }
  }
  return all;
}

void check_gradients(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                     const Trained& right, const Reports& reports, std::size_t step) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const ShardedReport& report = reports[static_cast<std::size_t>(rank)];
    if (report.left[step] == 0) continue;
    runner.fail(played,
                {.cause = "grads_left",
                 .message = text("after step ", step + 1, ", ",
                                 counted(static_cast<std::int64_t>(report.left[step]), "parameter"),
                                 " of rank ", rank,
                                 report.left[step] == 1 ? " still has its" : " still have their",
                                 " whole grad; the next pass would add to it, and it is as large "
                                 "as the parameter. Make it undefined once it is reduced"),
                 .expected = "no grad",
                 .seen = text(report.left[step]),
                 .where = text("rank ", rank)});
  }
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    std::vector<Bytes> pieces;
    for (const ShardedReport& report : reports) pieces.push_back(report.gradients[step].at(unit));
    const Numbers& whole = right.gradients[step][unit];
    check_pieces(
        runner, played, shard_deal(p, unit),
        {.name = text("the gradient of unit ", unit, " after step ", step + 1),
         .dtype = p.dtype,
         .whole = whole,
         .tolerance = relative_tolerance(p.dtype == DType::float64 ? 1e-12 : 1e-5, whole),
         .terms = [&, step, unit] { return terms_of(p, salt, static_cast<int>(step), unit); },
         .otherwise = {"other_gradients",
                       "no usual mistake gives it: look at what is in the flat tensor when "
                       "it is reduced, and at what is added to `gradients`"}},
        pieces);
  }
}

// The whole units that may be alive in a pass, in bytes of values and gradients.
std::int64_t enough_in(const Problem& p, const Note& note) {
  const auto whole = [&](std::size_t unit) { return whole_bytes_of(p, unit); };
  const std::size_t unit = note.call.unit;
  std::int64_t bytes = 4096 + gradient_bytes(p, note);  // of small tensors, too
  for (std::size_t u = 0; u < unit && p.sharding == Sharding::shard_grad_op; ++u) bytes += whole(u);
  if (note.call.kind == Kind::update) return bytes;
  const bool forward = note.call.kind == Kind::forward;
  if (p.sharding != Sharding::no_shard) {
    // A forward pass tells of the hooks before it, too: the unit in front was whole until then.
    bytes += std::max(whole(unit), forward && unit > 0 ? whole(unit - 1) : 0);
  }
  if (forward) return bytes;
  // A grad_place of this unit, and the reduction of the one behind it.
  bytes += whole(unit);
  if (unit + 1 < p.units.size()) bytes += whole(unit + 1);
  return bytes;
}

// And in the hooks before the pass: behind a backward pass, the unit's values, its gradients, and
// the flat tensor that is reduced.
std::int64_t enough_before(const Problem& p, const Note& note) {
  const std::int64_t whole = whole_bytes_of(p, note.call.unit);
  return enough_in(p, note) + (note.call.kind == Kind::update ? 3 : 1) * whole;
}

// The strategy keeps the values of unit `other` while this pass runs.
bool keeps(const Problem& p, const Note& note, std::size_t other) {
  if (note.call.kind == Kind::update) return p.sharding == Sharding::no_shard;
  if (p.sharding == Sharding::no_shard || other == note.call.unit) return true;
  return p.sharding == Sharding::shard_grad_op && other < note.call.unit;
}
std::optional<std::size_t> not_kept(const Problem& p, const Note& note,
                                    const std::vector<std::uint8_t>& whole) {
  for (std::size_t u = 0; u < whole.size(); ++u) {
    if (whole[u] != 0 && !keeps(p, note, u)) return u;
  }
  return std::nullopt;
}

// Between two passes, nobody looks at the process. But a gather that begins while another unit has
// its values makes two units whole.
void check_gathers(CaseRunner& runner, const Played& played, const Problem& p, int rank,
                   const Note& note) {
  const auto other = not_kept(p, note, note.call.whole_at_gather);
  if (!other || note.call.kind == Kind::update) return;
  runner.fail(
      played,
      because({"units_alive", text("free unit ", *other, " before you gather unit ", note.call.unit,
                                   ", so that one unit is whole at a time; a freed value is "
                                   "undefined, not an empty tensor")},
              {.verdict = Verdict::efficiency,
               .message = text("the results are right, but unit ", *other,
                               " still had its values on rank ", rank, " when the gather for the ",
                               name_of(note.call.kind), " pass of unit ", note.call.unit, " began"),
               .expected = "no other unit whole",
               .seen = text("unit ", *other, " whole"),
               .where = text("rank ", rank)}));
}

// Why more is held than is enough.
Cause cause_of_memory(const Problem& p, const Note& note, std::int64_t enough) {
  const bool pass = note.call.kind != Kind::update;
  if (const auto other = not_kept(p, note, note.call.whole)) {
    return {"units_alive",
            text("the parameters of unit ", *other, " have their values",
                 pass ? ", and its pass does not run: gather a unit when its pass begins, and free "
                        "it when that is over"
                      : ", though no pass runs: free the unit after its backward pass")};
  }
  if (note.call.now_bytes > enough) {
    return {"units_alive",
            "no parameter of another unit has a value, yet memory as large as a unit is held: some "
            "tensor that you keep looks at it, and a view of one element is enough"};
  }
  return {"units_alive",
          "the pass itself holds no more than it needs, but the hooks before it did: two tensors "
          "as large as a unit existed at one time"};
}

}  // namespace

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports, const UnitService& units) {
  const Trained right = train(p, salt);
  for (const ShardedReport& report : reports) {
    const auto steps = static_cast<std::size_t>(p.steps);
    if (report.gradients.size() != steps || report.left.size() != steps) {
      throw MalformedMessage("not a report a step");
    }
    for (const auto& of_step : report.gradients) {
      if (of_step.size() != p.units.size()) throw MalformedMessage("not a gradient a unit");
    }
  }
  for (std::size_t at = 0; at < units.notes(0).size(); ++at) {
    const Note& note = units.notes(0)[at];
    if (note.call.kind == Kind::update) {
      check_gradients(runner, played, p, salt, right, reports, static_cast<std::size_t>(note.step));
    } else {
      check_values(runner, played, p, right, units, at);
    }
  }
}

void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const UnitService& units) {
  // The adapter has its ranges as tensors, and the case in two forms: as it came, and taken apart.
  // It shows a unit in two forms, too.
  std::int64_t own_bytes = 0, shown_bytes = 0;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    own_bytes += p.bytes(p.cut(unit).shard);
    shown_bytes = std::max(shown_bytes, 2 * whole_bytes_of(p, unit));
  }
  for (int rank = 0; rank < p.ranks(); ++rank) {
    for (const Note& note : units.notes(rank)) {
      check_gathers(runner, played, p, rank, note);
      const bool forward = note.call.kind == Kind::forward;
      const std::int64_t enough = enough_in(p, note);
      check_member_memory(
          runner, played, rank,
          {forward ? note.call.most_bytes : note.call.now_bytes, note.process_bytes},
          {.tensor_bytes = enough,
           .adapter_bytes = 3 * own_bytes + shown_bytes,
           .of_what = note.call.kind != Kind::update
                          ? text("the ", name_of(note.call.kind), " pass of unit ", note.call.unit,
                                 forward ? " and the hooks before it" : "")
                          : std::string("an update"),
           .cause = cause_of_memory(p, note, enough)});
      check_member_peak(
          runner, played, rank, {.process_peak_bytes = note.peak_bytes},
          {.tensor_bytes = enough_before(p, note),
           .adapter_bytes = 3 * own_bytes + shown_bytes,
           .of_what = note.call.kind == Kind::update
                          ? std::string("the hooks before an update")
                          : text("the hooks before a ", name_of(note.call.kind), " pass"),
           .cause = {"units_alive",
                     "a hook holds more than its unit and the one that it lets go: gather one unit "
                     "at a time"}});
    }
  }
}

}  // namespace lockstep::grader::fully_sharded
