#include "grader/parts/08_horovod/negotiate/misreadings.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::grader::negotiate {
namespace {

using horovod::Outlook;
using horovod::Verdict;

enum class Released : std::uint8_t { on_all, on_any, on_rank_0, on_two };
enum class Order : std::uint8_t { of_rank_0, own, of_last_rank, by_name, backwards };
enum class Compared : std::uint8_t { dtype_and_shape, dtype, shape, elements, nothing, two_ranks };
enum class Late : std::uint8_t { beyond, reached, on_rank_0, never, ready_too, everything };
enum class AllWait : std::uint8_t { all, rank_0, any, never, of_those_with_some };
enum class Moves : std::uint8_t { counts, refused_does_not, does_not_count, late_too };
enum class Names : std::uint8_t { all, of_rank_0 };
enum class Sections : std::uint8_t { one_after_another, in_one_order };

// A way to read the contract; the defaults are right.
struct Reading {
  Released released = Released::on_all;
  Order order = Order::of_rank_0;
  Compared compared = Compared::dtype_and_shape;
  Late late = Late::beyond;
  AllWait all_wait = AllWait::all;
  Moves moves = Moves::counts;
  Names names = Names::all;
  Sections sections = Sections::one_after_another;
};

std::int64_t elements_of(const AskedGradient& one) {
  return std::accumulate(one.shape.begin(), one.shape.end(), std::int64_t{1}, std::multiplies{});
}

// Follows one reading through a round, as one rank would.
class Reader {
 public:
  Reader(const Round& round, int rank, const Reading& reading)
      : round_(round), rank_(static_cast<std::size_t>(rank)), reading_(reading) {}

  Answers answers() const {
    Answers all;
    std::vector<std::string> waiting;
    for (const std::string& name : names()) {
      const auto having = ranks_with(name);
      if (!is_released(having)) {
        waiting.push_back(name);
      } else {
        all.emplace_back(name, differs(having) ? Verdict::refused : Verdict::reduce);
      }
    }
    const auto moves = [&](const auto& answer) {
      return reading_.moves != Moves::refused_does_not || answer.second == Verdict::reduce;
    };
    const bool moving = reading_.moves != Moves::does_not_count && std::ranges::any_of(all, moves);
    const bool late_moves =
        reading_.moves == Moves::late_too &&
        std::ranges::any_of(waiting, [&](const auto& name) { return is_late(ranks_with(name)); });
    const bool stuck = all_wait() && !moving && !late_moves;
    for (const std::string& name : waiting) {
      if (stuck || is_late(ranks_with(name))) all.emplace_back(name, Verdict::stalled);
    }
    if (reading_.late == Late::ready_too) {
      for (auto& [name, verdict] : all) {
        if (is_late(ranks_with(name))) verdict = Verdict::stalled;
      }
    }
    if (reading_.sections == Sections::one_after_another) {
      std::ranges::stable_sort(all, {}, &Answers::value_type::second);
    }
    return all;
  }

 private:
  using Having = std::vector<std::pair<std::size_t, const AskedGradient*>>;  // rank, request

  Having ranks_with(const std::string& name) const {
    Having having;
    for (std::size_t rank = 0; rank < round_.size(); ++rank) {
      for (const AskedGradient& one : round_[rank].ready) {
        if (one.name == name) having.emplace_back(rank, &one);
      }
    }
    return having;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    const auto take = [&](std::size_t rank) {
      for (const AskedGradient& one : round_[rank].ready) {
        if (std::ranges::find(all, one.name) == all.end()) all.push_back(one.name);
      }
    };
    if (reading_.order == Order::own) take(rank_);
    if (reading_.order == Order::of_last_rank) take(round_.size() - 1);
    for (std::size_t rank = 0; rank < round_.size(); ++rank) {
      if (rank == 0 || reading_.names == Names::all) take(rank);
    }
    if (reading_.order == Order::by_name) std::ranges::sort(all);
    if (reading_.order == Order::backwards) std::ranges::reverse(all);
    return all;
  }

  bool is_released(const Having& having) const {
    switch (reading_.released) {
      case Released::on_any:
        return true;
      case Released::on_rank_0:
        return having.front().first == 0;
      case Released::on_two:
        return having.size() >= std::min<std::size_t>(2, round_.size());
      default:
        return having.size() == round_.size();
    }
  }

  bool differs(const Having& having) const {
    const AskedGradient& first = *having.front().second;
    for (std::size_t k = 1; k < having.size(); ++k) {
      if (reading_.compared == Compared::two_ranks && k > 1) break;
      const AskedGradient& other = *having[k].second;
      const bool dtype = first.dtype != other.dtype, shape = first.shape != other.shape;
      const bool elements = elements_of(first) != elements_of(other);
      switch (reading_.compared) {
        case Compared::dtype:
          if (dtype) return true;
          break;
        case Compared::shape:
          if (shape) return true;
          break;
        case Compared::elements:
          if (dtype || elements) return true;
          break;
        case Compared::nothing:
          break;
        default:
          if (dtype || shape) return true;
      }
    }
    return false;
  }

  bool is_late(const Having& having) const {
    if (reading_.late == Late::everything) return true;
    return std::ranges::any_of(having, [&](const auto& one) {
      const double limit_s = round_[0].stall_limit_s, waited_s = one.second->waited_s;
      switch (reading_.late) {
        case Late::reached:
          return waited_s >= limit_s;
        case Late::on_rank_0:
          return one.first == 0 && waited_s > limit_s;
        case Late::never:
          return false;
        default:
          return waited_s > limit_s;
      }
    });
  }

  bool all_wait() const {
    const auto waits = [](const Brought& one) { return one.outlook == Outlook::waits; };
    switch (reading_.all_wait) {
      case AllWait::rank_0:
        return waits(round_[0]);
      case AllWait::any:
        return std::ranges::any_of(round_, waits);
      case AllWait::never:
        return false;
      case AllWait::of_those_with_some:
        return std::ranges::all_of(
            round_, [&](const Brought& one) { return one.ready.empty() || waits(one); });
      default:
        return std::ranges::all_of(round_, waits);
    }
  }

  const Round& round_;
  std::size_t rank_;
  const Reading& reading_;
};

struct Misreading {
  Cause cause;
  Reading reading;
};

const std::vector<Misreading>& misreadings() {
  static const Cause too_early{
      "released_too_early",
      "a gradient is released that is not ready on all ranks, and those that do not have it would "
      "not come to its sum; count the ranks of each name, and compare with group.size()"};
  // Those that say more stand before those that say less.
  static const std::vector<Misreading> all{
      {{"local_order",
        "each rank keeps its own order, so the ranks would sum different gradients; the order of "
        "rank 0 is that of all"},
       {.order = Order::own}},
      {too_early, {.released = Released::on_any}},
      {too_early, {.released = Released::on_rank_0}},
      {too_early, {.released = Released::on_two}},
      {{"sorted_by_name",
        "the names are sorted, as a std::map does; they keep rank 0's order, in which gradients "
        "became ready"},
       {.order = Order::by_name}},
      {{"order_of_last_rank", "the order is rank 0's, not that of the rank that was read last"},
       {.order = Order::of_last_rank}},
      {{"backwards", "the order is that in which gradients became ready on rank 0"},
       {.order = Order::backwards}},
      {{"elements_compared",
        "shapes with as many elements are taken for one shape; [2, 3] and [3, 2] are not the same "
        "tensor"},
       {.compared = Compared::elements}},
      {{"two_compared", "two of the ranks are compared; any rank can be the one that differs"},
       {.compared = Compared::two_ranks}},
      {{"shape_not_compared",
        "the ranks' shapes are not compared; a sum of different tensors would be garbage"},
       {.compared = Compared::dtype}},
      {{"dtype_not_compared",
        "the ranks' dtypes are not compared; a sum of different tensors would be garbage"},
       {.compared = Compared::shape}},
      {{"nothing_compared",
        "dtypes and shapes are not compared; a sum of different tensors would be garbage"},
       {.compared = Compared::nothing}},
      {{"only_names_of_rank_0",
        "a gradient that rank 0 does not have is looked at, too: other ranks wait for it"},
       {.names = Names::of_rank_0}},
      {{"late_on_rank_0", "the rank that has waited too long can be any of them"},
       {.late = Late::on_rank_0}},
      {{"never_late", "what has waited for longer than the limit is stalled"},
       {.late = Late::never}},
      {{"late_at_the_limit", "a gradient is late when it has waited for longer than the limit"},
       {.late = Late::reached}},
      {{"ready_and_late",
        "a gradient that is ready on all ranks is reduced, however long it has waited"},
       {.late = Late::ready_too}},
      {{"late_moves",
        "a gradient that is stalled because it is late moves nothing: when all ranks wait and "
        "nothing is reduced or refused, the others are stalled, too"},
       {.moves = Moves::late_too}},
      {{"never_stuck",
        "when all ranks wait and nothing is reduced or refused, nothing ever would be; say so at "
        "once"},
       {.all_wait = AllWait::never}},
      {{"nothing_ready_waits",
        "a rank that has nothing ready was taken for one that waits, but it goes on, and may bring "
        "something"},
       {.all_wait = AllWait::of_those_with_some}},
      {{"rank_0_waits",
        "not all ranks wait; rank 0's outlook is taken for that of all, but every rank tells its "
        "own, and another may bring more"},
       {.all_wait = AllWait::rank_0}},
      {{"one_rank_waits",
        "one rank waits, but another may bring more; only when all wait, nothing can come"},
       {.all_wait = AllWait::any}},
      {{"refused_does_not_move",
        "a gradient was refused in this round, so the step ends with that; the others are not "
        "stalled because of it"},
       {.moves = Moves::refused_does_not}},
      {{"stuck_though_moving",
        "something is reduced or refused in this round, so there will be another; only when "
        "nothing moves, nothing ever will"},
       {.moves = Moves::does_not_count}},
      {{"waiting_is_stalled",
        "a gradient that some ranks do not have yet goes on waiting; it is in no response until it "
        "is late"},
       {.late = Late::everything}},
      {{"sections", "what is reduced stands first, then what is refused, then what is stalled"},
       {.sections = Sections::in_one_order}}};
  return all;
}

}  // namespace

Answers right_answers(const Round& round) { return Reader(round, 0, {}).answers(); }

bool same_answers(const Answers& seen, const Answers& right) {
  const auto free_order = [](Answers answers) {
    const auto rest = std::ranges::find_if(
        answers, [](const auto& answer) { return answer.second != Verdict::reduce; });
    const auto by_verdict = [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    };
    // Each section by itself: one that stands in another's place stays there.
    for (auto first = rest; first != answers.end();) {
      const auto last = std::find_if(first, answers.end(),
                                     [&](const auto& one) { return one.second != first->second; });
      std::sort(first, last, by_verdict);
      first = last;
    }
    return answers;
  };
  return free_order(seen) == free_order(right);
}

std::optional<Cause> misreading_of(const Round& round, int rank, const Answers& seen) {
  for (const auto& [cause, reading] : misreadings()) {
    if (same_answers(seen, Reader(round, rank, reading).answers())) return cause;
  }
  return std::nullopt;
}

}  // namespace lockstep::grader::negotiate
