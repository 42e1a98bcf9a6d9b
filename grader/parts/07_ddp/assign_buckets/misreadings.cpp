#include "grader/parts/07_ddp/assign_buckets/misreadings.hpp"

#include <algorithm>
#include <numeric>

#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::assign_buckets {
namespace {

using collectives::BucketPlan;

enum class Size : std::uint8_t { bytes, elements, four_bytes_each, bytes_in_32_bits };
enum class Full : std::uint8_t { reached, exceeded, would_exceed };
enum class Small : std::uint8_t { first_of_each_kind, first_of_all, none, every };
enum class Kinds : std::uint8_t { fill_their_own, by_dtype, by_device, mixed, cut_on_change };
enum class Rest : std::uint8_t { by_first_member, dropped, as_kinds_came, sorted_with_all };
enum class Order : std::uint8_t { as_ready, largest_first, smallest_first, backwards };

// What is done; the defaults are right.
struct Reading {
  Size size = Size::bytes;
  Full full = Full::reached;
  Small small = Small::first_of_each_kind;
  Kinds kinds = Kinds::fill_their_own;
  Rest rest = Rest::by_first_member;
  Order order = Order::as_ready;
  enum class Empties : std::uint8_t { kept, dropped } empties = Empties::kept;
  enum class Count : std::uint8_t { begins_anew, goes_on } count = Count::begins_anew;
};

std::int64_t size_of(const ddp::ParamInfo& info, Size size) {
  const std::int64_t bytes = info.count * static_cast<std::int64_t>(bytes_of(info.dtype));
  switch (size) {
    case Size::elements:
      return info.count;
    case Size::four_bytes_each:
      return 4 * info.count;
    case Size::bytes_in_32_bits:
      return in_32_bits(bytes);
    default:
      return bytes;
  }
}

bool share_a_bucket(const ddp::ParamInfo& a, const ddp::ParamInfo& b, Kinds kinds) {
  const bool one_dtype = kinds == Kinds::by_device || a.dtype == b.dtype;
  const bool one_device = kinds == Kinds::by_dtype || a.device == b.device;
  return kinds == Kinds::mixed || (one_dtype && one_device);
}

std::vector<std::size_t> order_of(const BucketQuestion& question, Order order) {
  std::vector<std::size_t> all(question.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return size_of(question.parameters[i], Size::bytes); };
  if (order == Order::largest_first) std::ranges::stable_sort(all, std::greater{}, size);
  if (order == Order::smallest_first) std::ranges::stable_sort(all, std::less{}, size);
  if (order == Order::backwards) std::ranges::reverse(all);
  return all;
}

// Follows one reading through a question.
class Reader {
 public:
  Reader(const BucketQuestion& question, const Reading& reading)
      : question_(question), reading_(reading) {}

  BucketPlan plan() {
    for (const std::size_t i : order_of(question_, reading_.order)) take(i);
    std::erase_if(open_, [](const Open& open) { return open.members.empty(); });
    if (reading_.rest == Rest::by_first_member) {
      std::ranges::sort(open_, {}, [](const Open& open) { return open.members.front(); });
    }
    if (reading_.rest != Rest::dropped) {
      for (Open& open : open_) plan_.buckets.push_back(open.members);
    }
    if (reading_.rest == Rest::sorted_with_all) std::ranges::sort(plan_.buckets);
    return std::move(plan_);
  }

 private:
  struct Open {
    ddp::ParamInfo kind;
    std::int64_t size = 0;
    bool first = true;
    std::vector<std::size_t> members{};
  };

  void take(std::size_t i) {
    const ddp::ParamInfo& info = question_.parameters[i];
    if (reading_.empties == Reading::Empties::dropped && info.count == 0) return;
    Open& open = open_for(info);
    const std::int64_t size = size_of(info, reading_.size);
    if (reading_.full == Full::would_exceed && !open.members.empty() &&
        open.size + size > limit_of(open)) {
      close(open);
    }
    open.members.push_back(i);
    open.size += size;
    const bool is_full = reading_.full == Full::reached    ? open.size >= limit_of(open)
                         : reading_.full == Full::exceeded ? open.size > limit_of(open)
                                                           : false;
    if (is_full) close(open);
  }

  Open& open_for(const ddp::ParamInfo& info) {
    if (reading_.kinds == Kinds::cut_on_change && !open_.empty() &&
        !share_a_bucket(open_.back().kind, info, reading_.kinds)) {
      if (!open_.back().members.empty()) close(open_.back());
      open_.back().kind = info;
    }
    const auto found = std::ranges::find_if(
        open_, [&](const Open& open) { return share_a_bucket(open.kind, info, reading_.kinds); });
    if (found != open_.end()) return *found;
    open_.push_back({.kind = info});
    return open_.back();
  }

  std::int64_t limit_of(const Open& open) const {
    const auto& [first, cap] = question_.limits;
    switch (reading_.small) {
      case Small::every:
        return first;
      case Small::none:
        return cap;
      case Small::first_of_all:
        return plan_.buckets.empty() ? first : cap;
      default:
        return open.first ? first : cap;
    }
  }

  void close(Open& open) {
    plan_.buckets.push_back(std::move(open.members));
    open.members.clear();
    open.first = false;
    if (reading_.count == Reading::Count::begins_anew) open.size = 0;
  }

  const BucketQuestion& question_;
  const Reading& reading_;
  std::vector<Open> open_;
  BucketPlan plan_;
};

struct Misreading {
  Cause cause;
  Reading reading;
};

const std::vector<Misreading>& misreadings() {
  static const std::vector<Misreading> all{
      {{"cap_as_maximum",
        "a limit closes a bucket and does not bound it; the parameter that reaches the limit is "
        "still inside"},
       {.full = Full::would_exceed}},
      {{"no_first_limit",
        "the first bucket of a kind is closed at the first limit, so that communication begins "
        "early"},
       {.small = Small::none}},
      {{"first_of_all", "each kind has a first bucket of its own, which the first limit closes"},
       {.small = Small::first_of_all}},
      {{"bytes_go_on", "a new bucket begins with 0 bytes"}, {.count = Reading::Count::goes_on}},
      {{"closed_too_late", "a bucket is closed when its bytes reach the limit, not beyond it"},
       {.full = Full::exceeded}},
      {{"first_limit_always",
        "only the first bucket of a kind has the first limit; all later ones "
        "have the cap"},
       {.small = Small::every}},
      {{"limit_in_elements", "limits are in bytes, and a parameter's count is in elements"},
       {.size = Size::elements}},
      {{"four_bytes_each",
        "an element has bytes_of(dtype) bytes: 2 for the half types, 8 for float64"},
       {.size = Size::four_bytes_each}},
      {{"overflow", "an int holds at most 2,147,483,647 bytes; keep the bytes in int64_t"},
       {.size = Size::bytes_in_32_bits}},
      {{"empty_parameter_lost",
        "a parameter without elements belongs to a bucket as well: its gradient is waited for"},
       {.empties = Reading::Empties::dropped}},
      {{"rest_dropped", "a bucket that is still open at the end belongs to the plan, too"},
       {.rest = Rest::dropped}},
      {{"rest_order",
        "the buckets that are never closed follow in the order of their first members, not in the "
        "order in which their kinds appeared"},
       {.rest = Rest::as_kinds_came}},
      {{"sorted",
        "the buckets that were closed stand in the order in which they were closed; only those "
        "that never were are ordered by their first members"},
       {.rest = Rest::sorted_with_all}},
      {{"sorted_by_size",
        "the parameters keep their order, which is that of their gradients; sorted by size, a "
        "bucket waits for a gradient that comes late"},
       {.order = Order::largest_first}},
      {{"sorted_by_size",
        "the parameters keep their order, which is that of their gradients; sorted by size, a "
        "bucket waits for a gradient that comes late"},
       {.order = Order::smallest_first}},
      {{"backwards",
        "the list is in the order in which gradients are expected already; do not reverse it"},
       {.order = Order::backwards}},
      {{"mixes_dtypes", "a bucket is one tensor, so all of its parameters have one dtype"},
       {.kinds = Kinds::by_device}},
      {{"mixes_devices", "a bucket is one tensor, so all of its parameters are on one device"},
       {.kinds = Kinds::by_dtype}},
      {{"mixes_kinds", "a bucket is one tensor, so it holds one dtype on one device"},
       {.kinds = Kinds::mixed}},
      {{"cut_on_change",
        "a bucket stays open while parameters of other kinds come, and goes on with the next of "
        "its own"},
       {.kinds = Kinds::cut_on_change}}};
  return all;
}

}  // namespace

std::optional<Cause> misreading_of(std::span<const BucketQuestion> asked, const BucketPlan& seen) {
  const auto plan_of = [](const BucketQuestion& question, const Reading& reading) {
    return Reader(question, reading).plan();
  };
  for (const auto& [cause, reading] : misreadings()) {
    const auto is_right_for = [&](const BucketQuestion& question) {
      return plan_of(question, reading) == plan_of(question, {});
    };
    if (plan_of(asked.back(), reading) != seen) continue;
    if (std::ranges::all_of(asked.first(asked.size() - 1), is_right_for)) return cause;
  }
  return std::nullopt;
}

}  // namespace lockstep::grader::assign_buckets
