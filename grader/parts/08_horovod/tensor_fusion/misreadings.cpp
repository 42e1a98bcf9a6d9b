#include "grader/parts/08_horovod/tensor_fusion/misreadings.hpp"

#include <algorithm>
#include <numeric>

#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::tensor_fusion {
namespace {

using horovod::FusionPlan;
using horovod::Ready;

enum class Size : std::uint8_t { bytes, elements, four_bytes_each, bytes_in_32_bits };
// When a gradient of the right dtype joins. counts_passed: what was passed over counts, too.
enum class Joins : std::uint8_t { if_it_fits, below, closes, always, never, counts_passed };
// How far the search goes. first_fit: past everything.
enum class Past : std::uint8_t {
  as_far_as_it_goes,
  nobody,
  others,
  first_fit,
  one_too_many,
  passed_alone,
  each,
  below,
  set_back
};
enum class Dtypes : std::uint8_t { one, mixed };
enum class Zero : std::uint8_t { disables, a_limit, no_limit };
enum class Order : std::uint8_t { as_ready, largest_first, smallest_first, backwards };
enum class Passed : std::uint8_t { next, last, lost };
enum class Empties : std::uint8_t { kept, dropped };
enum class Rest : std::uint8_t { kept, dropped };

// A way to read the contract; the defaults are right.
struct Reading {
  Size size = Size::bytes;
  Joins joins = Joins::if_it_fits;
  Past past = Past::as_far_as_it_goes;
  Dtypes dtypes = Dtypes::one;
  Zero zero = Zero::disables;
  Order order = Order::as_ready;
  Passed passed = Passed::next;
  Empties empties = Empties::kept;
  Rest rest = Rest::kept;
};

std::int64_t size_of(const Ready& ready, Size size) {
  const std::int64_t bytes = ready.count * static_cast<std::int64_t>(bytes_of(ready.dtype));
  switch (size) {
    case Size::elements:
      return ready.count;
    case Size::four_bytes_each:
      return 4 * ready.count;
    case Size::bytes_in_32_bits:
      return in_32_bits(bytes);
    default:
      return bytes;
  }
}

std::vector<std::size_t> order_of(const FusionQuestion& question, Order order) {
  std::vector<std::size_t> all(question.in_order.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return size_of(question.in_order[i], Size::bytes); };
  if (order == Order::largest_first) std::ranges::stable_sort(all, std::greater{}, size);
  if (order == Order::smallest_first) std::ranges::stable_sort(all, std::less{}, size);
  if (order == Order::backwards) std::ranges::reverse(all);
  return all;
}

// Follows one reading through a question.
class Reader {
 public:
  Reader(const FusionQuestion& question, const Reading& reading)
      : question_(question), reading_(reading) {}

  FusionPlan plan() {
    left_ = order_of(question_, reading_.order);
    if (reading_.empties == Empties::dropped) {
      std::erase_if(left_, [&](std::size_t i) { return question_.in_order[i].count == 0; });
    }
    FusionPlan plan;
    while (!left_.empty()) plan.groups.push_back(next_group());
    if (reading_.rest == Rest::dropped && !plan.groups.empty()) plan.groups.pop_back();
    return plan;
  }

 private:
  std::int64_t size_at(std::size_t i) const {
    return size_of(question_.in_order[i], reading_.size);
  }

  std::vector<std::size_t> next_group() {
    std::vector<std::size_t> group{left_.front()}, passed;
    bytes_ = size_at(group[0]);
    passed_bytes_ = 0;
    const bool fuses = question_.threshold_bytes > 0 || reading_.zero != Zero::disables;
    std::size_t at = 1;
    for (; fuses && at < left_.size(); ++at) {
      const std::size_t next = left_[at];
      const bool own = question_.in_order[next].dtype == question_.in_order[group[0]].dtype;
      if ((own || reading_.dtypes == Dtypes::mixed) && joins(next)) {
        group.push_back(next);
        bytes_ += size_at(next);
        if (reading_.past == Past::set_back) passed_bytes_ = 0;
        continue;
      }
      if (!passes_over(next, group[0])) break;
      passed.push_back(next);
    }
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(at));
    const auto where = reading_.passed == Passed::next ? left_.begin() : left_.end();
    if (reading_.passed != Passed::lost) left_.insert(where, passed.begin(), passed.end());
    return group;
  }

  bool joins(std::size_t next) const {
    const std::int64_t limit = question_.threshold_bytes, with_it = bytes_ + size_at(next);
    if (limit == 0 && reading_.zero == Zero::no_limit) return true;
    switch (reading_.joins) {
      case Joins::below:
        return with_it < limit;
      case Joins::closes:
        return bytes_ < limit;
      case Joins::always:
        return true;
      case Joins::never:
        return false;
      case Joins::counts_passed:
        return with_it + passed_bytes_ <= limit;
      default:
        return with_it <= limit;
    }
  }

  bool passes_over(std::size_t next, std::size_t first) {
    passed_bytes_ += size_at(next);
    const std::int64_t all = bytes_ + passed_bytes_, limit = question_.threshold_bytes;
    switch (reading_.past) {
      case Past::nobody:
        return false;
      case Past::others:
        return question_.in_order[next].dtype != question_.in_order[first].dtype;
      case Past::first_fit:
        return true;
      case Past::one_too_many:
        return all - size_at(next) <= limit;
      case Past::passed_alone:
        return passed_bytes_ <= limit;
      case Past::each:
        return bytes_ + size_at(next) <= limit;
      case Past::below:
        return all < limit;
      default:
        return all <= limit;
    }
  }

  const FusionQuestion& question_;
  const Reading& reading_;
  std::vector<std::size_t> left_;
  std::int64_t bytes_ = 0, passed_bytes_ = 0;
};

struct Misreading {
  Cause cause;
  Reading reading;
};

const std::vector<Misreading>& misreadings() {
  static const std::vector<Misreading> all{
      {{"four_bytes_each",
        "an element has bytes_of(dtype) bytes: 2 for the half types, 8 for float64"},
       {.size = Size::four_bytes_each}},
      {{"overflow", "an int holds at most 2,147,483,647 bytes; keep the bytes in int64_t"},
       {.size = Size::bytes_in_32_bits}},
      {{"closing_rule",
        "the threshold is the size of a buffer: a gradient that does not fit begins the next "
        "group; DDP's buckets are closed by the one that reaches the limit"},
       {.joins = Joins::closes}},
      {{"exactly_full", "a group may have exactly threshold_bytes: compare with <=, not with <"},
       {.joins = Joins::below}},
      {{"no_look_ahead",
        "a gradient of another dtype does not end a group; it is passed over, while the group's "
        "bytes and those passed over are together no more than the threshold"},
       {.past = Past::nobody}},
      {{"compared_before_added",
        "the search goes one gradient too far: add its bytes to those passed over before you "
        "compare them, with the group's, with the threshold"},
       {.past = Past::one_too_many}},
      {{"looks_too_far",
        "nothing ends the search among gradients of other dtypes; it ends when the group's bytes "
        "and those passed over are together more than the threshold"},
       {.past = Past::others}},
      {{"overtakes",
        "a gradient of the group's dtype that does not fit ends the group; a smaller one behind "
        "it must not take its place"},
       {.past = Past::first_fit}},
      {{"own_bytes_not_counted",
        "the bytes passed over are compared with the threshold by themselves; the group's own "
        "bytes count, too"},
       {.past = Past::passed_alone}},
      {{"passed_not_added_up",
        "each gradient that is passed over is looked at alone; the bytes of all of them count"},
       {.past = Past::each}},
      {{"full_stops",
        "the search ends at exactly the threshold; it ends when the group's bytes and those passed "
        "over are together more than that: compare with >, not with >="},
       {.past = Past::below}},
      {{"passed_set_back",
        "the bytes passed over are set back to 0 when a gradient joins; they count until the group "
        "is complete"},
       {.past = Past::set_back}},
      {{"passed_takes_room",
        "what was passed over takes no room in the buffer; it counts when the next one is passed "
        "over, not when one joins"},
       {.joins = Joins::counts_passed}},
      {{"passed_come_last",
        "what a group passed over is grouped next, before the rest of the list"},
       {.passed = Passed::last}},
      {{"lost", "it would never be reduced; what a group passed over is grouped next"},
       {.passed = Passed::lost}},
      {{"limit_in_elements", "the threshold is in bytes, and a gradient's count is in elements"},
       {.size = Size::elements}},
      {{"never_fused", "every gradient is alone, so each of them pays the latency"},
       {.joins = Joins::never}},
      {{"threshold_ignored",
        "a group is as large as the list; its bytes must stay at or below the threshold"},
       {.joins = Joins::always}},
      {{"mixes_dtypes", "a group is summed as one buffer, so all of its gradients have one dtype"},
       {.dtypes = Dtypes::mixed}},
      {{"mixes_dtypes", "a group is summed as one buffer, so all of its gradients have one dtype"},
       {.joins = Joins::always, .dtypes = Dtypes::mixed}},
      {{"zero_is_a_limit",
        "a threshold of 0 disables fusion; even gradients without elements are alone then"},
       {.zero = Zero::a_limit}},
      {{"zero_is_no_limit", "a threshold of 0 disables fusion; it does not mean 'no limit'"},
       {.zero = Zero::no_limit}},
      {{"empty_lost",
        "a gradient without elements belongs to a group as well: somebody waits for it"},
       {.empties = Empties::dropped}},
      {{"rest_dropped", "the group that is still open at the end belongs to the plan, too"},
       {.rest = Rest::dropped}},
      {{"sorted_by_size",
        "groups and members keep the order of the list, the only order that all ranks share"},
       {.order = Order::largest_first}},
      {{"sorted_by_size",
        "groups and members keep the order of the list, the only order that all ranks share"},
       {.order = Order::smallest_first}},
      {{"backwards", "the first group begins with the first gradient of the list"},
       {.order = Order::backwards}}};
  return all;
}

}  // namespace

std::optional<Cause> misreading_of(std::span<const FusionQuestion> asked, const FusionPlan& seen) {
  const auto plan_of = [](const FusionQuestion& question, const Reading& reading) {
    return Reader(question, reading).plan();
  };
  for (const auto& [cause, reading] : misreadings()) {
    const auto is_right_for = [&](const FusionQuestion& question) {
      return plan_of(question, reading) == plan_of(question, {});
    };
    if (plan_of(asked.back(), reading) != seen) continue;
    if (std::ranges::all_of(asked.first(asked.size() - 1), is_right_for)) return cause;
  }
  return std::nullopt;
}

}  // namespace lockstep::grader::tensor_fusion
