#include "grader/exam/driven/script.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

using Kind = DrivenEvent::Kind;
using Made = DrivenEvent::Made;

// Gradients of the unreduced pass before pass p, and of pass p itself, are drawn from salts of
// their own.
std::uint64_t salt_of_pass(std::uint64_t salt, std::size_t pass, Kind kind) {
  return keyed_bits(salt, 2 * pass + (kind == Kind::add ? 0 : 1));
}

bool is_added_before(const DrivenPass& pass, std::size_t i) {
  return pass.before == DrivenPass::Before::added && i % 2 == 0;
}

Made made_by(const DrivenPass& pass, std::size_t i, int rank) {
  if (pass.makes == DrivenPass::Makes::some_elsewhere && i % 3 == 0) return Made::elsewhere;
  const bool absent = (i % 3 == 0 && rank % 2 == 0) || i == 1;
  if (pass.makes == DrivenPass::Makes::some_absent && absent) return Made::not_at_all;
  return Made::in_place;
}

std::vector<std::int64_t> order_of_gradients(const DrivenPass& pass, std::int64_t count,
                                             std::uint64_t salt, int rank) {
  if (pass.order == DrivenPass::Order::of_each_rank) {
    return keyed_order(count, salt + static_cast<std::uint64_t>(rank));
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  return order;
}

class Writer {
 public:
  Writer(const DrivenScript& script, std::uint64_t salt, int rank)
      : script_(script), plan_(script.plan()), salt_(salt), rank_(rank) {}

  std::vector<ScriptedEvent> written() {
    for (pass_ = 0; pass_ < script_.passes.size(); ++pass_) write_pass(script_.passes[pass_]);
    if (script_.end != DrivenScript::End::finished) write_unfinished_pass();
    put({.kind = Kind::done});
    return std::move(events_);
  }

 private:
  void write_pass(const DrivenPass& pass) {
    if (pass.part == DrivenPass::Part::is_remade) put({.kind = Kind::remake});
    if (pass.before != DrivenPass::Before::kept) put_takes();
    const auto order = order_in(pass);
    for (const std::int64_t i : order) {
      if (is_added_before(pass, static_cast<std::size_t>(i))) {
        put_gradient(Kind::add, i, Made::in_place);
      }
    }
    for (const std::int64_t i : order) {
      put_gradient(Kind::ready, i, made_by(pass, static_cast<std::size_t>(i), rank_));
    }
    put({.kind = Kind::finalize});
  }

  void write_unfinished_pass() {
    auto order = order_in({});
    if (script_.end == DrivenScript::End::unfinished) order.resize(1);
    put_takes();
    for (const std::int64_t i : order) {
      const bool missing = std::cmp_equal(i, script_.missing);
      if (script_.end == DrivenScript::End::one_missing && missing) continue;
      put_gradient(Kind::ready, i, Made::in_place);
    }
    put({.kind = Kind::finalize_early});
  }

  std::vector<std::int64_t> order_in(const DrivenPass& pass) const {
    return order_of_gradients(pass, std::ssize(script_.sizes), keyed_bits(salt_, 1'000 + pass_),
                              rank_);
  }

  void put_takes() {
    for (std::size_t i = 0; i < script_.sizes.size(); ++i) {
      put({.kind = Kind::take, .parameter = static_cast<std::uint32_t>(i)});
    }
  }

  void put_gradient(Kind kind, std::int64_t parameter, Made made) {
    const auto i = static_cast<std::size_t>(parameter);
    DrivenEvent event{kind, static_cast<std::uint32_t>(i), made, {}};
    if (made != Made::not_at_all) {
      const auto values = drawn_gradient(plan_, salt_of_pass(salt_, pass_, kind), rank_, i);
      event.values = to_bytes(script_.dtype, values);
    }
    put(std::move(event));
  }

  void put(DrivenEvent event) {
    const bool computes = event.kind == Kind::add || event.kind == Kind::ready;
    const auto place = static_cast<std::uint64_t>(rank_) * 4096 + events_.size();
    const double takes_s =
        computes ? script_.gap_s * (0.5 + keyed_uniform(salt_ ^ 0x9a95, place)) : 0;
    events_.push_back({std::move(event), takes_s, pass_});
  }

  const DrivenScript& script_;
  GradientPlan plan_;
  std::uint64_t salt_;
  int rank_;
  std::size_t pass_ = 0;
  std::vector<ScriptedEvent> events_;
};

// Adds what rank `rank` holds of parameter i when pass p is over for it, before anything is
// reduced.
void add_share(DrivenGradient& gradient, const DrivenScript& script, std::uint64_t salt,
               std::size_t p, std::size_t i, int rank, const std::vector<double>& kept) {
  const DrivenPass& pass = script.passes[p];
  const GradientPlan plan = script.plan();
  const auto size = static_cast<std::size_t>(script.sizes[i]);
  const auto drawn = [&](Kind kind) {
    return drawn_gradient(plan, salt_of_pass(salt, p, kind), rank, i);
  };
  auto& before = gradient.before.emplace_back(size, 0.0);
  if (pass.before == DrivenPass::Before::kept) before = kept;
  if (is_added_before(pass, i)) before = drawn(Kind::add);
  auto& made = gradient.made.emplace_back(size, 0.0);
  if (made_by(pass, i, rank) != Made::not_at_all) made = drawn(Kind::ready);
}

}  // namespace

GradientPlan DrivenScript::plan() const {
  return {dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1), held};
}

std::vector<ScriptedEvent> script_of(const DrivenScript& script, std::uint64_t salt, int rank) {
  return Writer(script, salt, rank).written();
}

void ask_of(const DrivenScript& script, std::uint64_t salt, int rank, Situations& asked) {
  for (std::size_t p = 0; p < script.passes.size(); ++p) {
    ask_of(drawn_gradients(script.plan(), salt_of_pass(salt, p, Kind::ready), rank), asked);
  }
  if (script.passes.size() > 1) asked.insert(Situation::same_call_twice);
}

ScriptService::ScriptService(Members members, std::vector<std::vector<ScriptedEvent>> by_rank)
    : members_(std::move(members)), by_rank_(std::move(by_rank)), notes_(by_rank_.size()) {}

std::optional<sim::Service::Answer> ScriptService::answer(const sim::Actor& who, EventCall,
                                                          double now) {
  const auto rank = static_cast<std::size_t>(members_.group_rank(who.rank));
  if (rank >= by_rank_.size()) throw Error(text("rank ", who.rank, " has no backward pass"));
  auto& notes = notes_[rank];
  if (notes.size() == by_rank_[rank].size()) {
    throw Error(text("rank ", who.rank, " asks for an event after the last one"));
  }
  const ScriptedEvent& next = by_rank_[rank][notes.size()];
  const double given_s = now + next.takes_s;
  notes.push_back({next, now, given_s});
  return answer_with(next.event, given_s);
}

void ScriptService::require_all() const {
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (notes_[rank].size() == by_rank_[rank].size()) continue;
    throw MalformedMessage(text("rank ", rank, " asked for ", notes_[rank].size(), " of ",
                                by_rank_[rank].size(), " events"));
  }
}

ScriptService service_of(const DrivenScript& script, const Members& members, std::uint64_t salt) {
  std::vector<std::vector<ScriptedEvent>> by_rank;
  for (int rank = 0; rank < members.size(); ++rank) {
    by_rank.push_back(script_of(script, salt, rank));
  }
  return {members, std::move(by_rank)};
}

std::vector<std::vector<DrivenGradient>> right_gradients(const DrivenScript& script,
                                                         std::uint64_t salt, int ranks) {
  const double weight = script.weight_of(ranks), epsilon = epsilon_of(script.dtype);
  std::vector<std::vector<DrivenGradient>> passes;
  for (std::size_t p = 0; p < script.passes.size(); ++p) {
    auto& gradients = passes.emplace_back(script.sizes.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      DrivenGradient& right = gradients[i];
      const bool kept = script.passes[p].before == DrivenPass::Before::kept && p > 0;
      const auto size = static_cast<std::size_t>(script.sizes[i]);
      const DrivenGradient last = kept ? passes[p - 1][i] : DrivenGradient{};
      const std::vector<double> old = kept ? last.values : std::vector<double>(size);
      for (int rank = 0; rank < ranks; ++rank) {
        add_share(right, script, salt, p, i, rank, old);
      }
      for (std::size_t e = 0; e < size; ++e) {
        double sum = 0, magnitude = 0;
        for (std::size_t r = 0; r < right.made.size(); ++r) {
          sum += weight * (right.before[r][e] + right.made[r][e]);
          magnitude += weight * (std::fabs(right.before[r][e]) + std::fabs(right.made[r][e]));
        }
        right.values.push_back(sum);
        // The inherited value was rounded already. Adding to it rounds once, share is rounded once,
        // each product once, and so is the product with the sum; N-1 additions in any order:
        // (N+4)·eps·weight·Σ|g|.
        const double inherited = kept ? weight * ranks * last.tolerance[e] : 0;
        right.tolerance.push_back((ranks + 4) * epsilon * magnitude + inherited);
      }
    }
  }
  return passes;
}

}  // namespace lockstep::grader
