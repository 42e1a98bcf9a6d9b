// The exam of assign_buckets: the plans that PyTorch makes, and plans of random parameters, which
// the judge works out kind by kind. A wrong plan is told by the known mistake that gives it, or by
// the first place that differs.
#include "grader/parts/07_ddp/assign_buckets/case.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::assign_buckets {

namespace {

using collectives::BucketPlan;
using ddp::ParamInfo;
using Bucket = std::vector<std::size_t>;

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::int64_t bytes_of_parameter(const ParamInfo& info) {
  return info.count * static_cast<std::int64_t>(bytes_of(info.dtype));
}

// The parameters of each kind are cut by themselves; then all buckets are ordered by the parameter
// that closed them, and those that none closed by their first one.
BucketPlan right_plan(const BucketQuestion& question) {
  const std::size_t never = question.parameters.size();
  std::map<std::pair<DType, int>, Bucket> kinds;
  for (std::size_t i = 0; i < never; ++i) {
    kinds[{question.parameters[i].dtype, question.parameters[i].device}].push_back(i);
  }
  std::map<std::pair<std::size_t, std::size_t>, Bucket> ordered;  // by what closed it, first member
  for (const auto& [kind, members] : kinds) {
    std::size_t begin = 0;
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      bytes += bytes_of_parameter(question.parameters[members[k]]);
      const bool full =
          bytes >= (begin == 0 ? question.limits.first_bytes : question.limits.cap_bytes);
      if (!full && k + 1 < members.size()) continue;
      const Bucket bucket(members.begin() + static_cast<std::ptrdiff_t>(begin),
                          members.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      ordered[{full ? members[k] : never, bucket.front()}] = bucket;
      begin = k + 1;
      bytes = 0;
    }
  }
  BucketPlan plan;
  for (const auto& [place, bucket] : ordered) plan.buckets.push_back(bucket);
  return plan;
}

std::string text_of_question(const BucketQuestion& question) {
  constexpr std::size_t shown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, question.parameters.size()); ++i) {
    const ParamInfo& info = question.parameters[i];
    list += text(i > 0 ? ", " : "", info.count, " ", name_of(info.dtype),
                 info.device > 0 ? text(" on device ", info.device) : "");
  }
  if (question.parameters.size() > shown) {
    list += text(", … (", question.parameters.size(), " parameters)");
  }
  return text("[", list, "], limits of ", grouped(question.limits.first_bytes), " and ",
              grouped(question.limits.cap_bytes), " bytes");
}

// A fault of a plan, with the sentence for a plan that no known mistake gives.
struct Fault {
  std::string message;
  Cause cause;
};

// Every parameter in exactly one bucket, and no bucket without any.
std::optional<Fault> fault_of_form(const BucketQuestion& question, const BucketPlan& seen) {
  std::vector<int> times(question.parameters.size());
  for (std::size_t b = 0; b < seen.buckets.size(); ++b) {
    if (seen.buckets[b].empty()) {
      return Fault{text("bucket ", b, " of the plan has no parameter"),
                   {"empty_bucket", "no bucket of a plan is empty"}};
    }
    for (const std::size_t i : seen.buckets[b]) {
      if (i < times.size()) {
        ++times[i];
        continue;
      }
      return Fault{text("bucket ", b, " holds parameter ", i, ", but there are ", times.size()),
                   {"no_parameter", "a plan holds places in the list, counted from 0"}};
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) {
      return Fault{text("parameter ", i, " is in no bucket"),
                   {"lost", "its gradient would never be reduced"}};
    }
    if (times[i] > 1) {
      return Fault{text("parameter ", i, " is in more than one place"),
                   {"twice", "a parameter goes into one bucket, even if it closes that bucket"}};
    }
  }
  return std::nullopt;
}

// The first bucket that differs, in words.
std::string difference(const BucketPlan& seen, const BucketPlan& right) {
  std::size_t b = 0;
  while (b < seen.buckets.size() && b < right.buckets.size() &&
         seen.buckets[b] == right.buckets[b]) {
    ++b;
  }
  const auto held = [&](const BucketPlan& plan, std::string_view holds, std::string_view is_none) {
    return b < plan.buckets.size() ? text(holds, listed(plan.buckets[b])) : std::string(is_none);
  };
  return text("bucket ", b, " of your plan ", held(seen, "holds ", "does not exist"),
              "; it should ", held(right, "hold ", "not exist"));
}

// "bucket 2, of float32, begins with parameter 5 and closes at 400 bytes, the cap; parameters 5 to
// 9 of its kind have 420": where a plan leaves the right one.
std::string limits_at_difference(const BucketQuestion& question, const BucketPlan& seen,
                                 const BucketPlan& right) {
  const auto [mine, theirs] = std::ranges::mismatch(seen.buckets, right.buckets);
  if (theirs == right.buckets.end()) return "follow the list by hand, one parameter at a time";
  const Bucket& bucket = *theirs;
  const auto& list = question.parameters;
  const ParamInfo& first = list[bucket.front()];
  const auto is_of_kind = [&](const ParamInfo& info) {
    return info.dtype == first.dtype && info.device == first.device;
  };
  const bool begins = std::ranges::find_if(list, is_of_kind) - list.begin() ==
                      static_cast<std::ptrdiff_t>(bucket.front());
  const auto& limits = question.limits;
  std::int64_t bytes = 0;
  for (const std::size_t i : bucket) bytes += bytes_of_parameter(list[i]);
  const std::int64_t limit = begins ? limits.first_bytes : limits.cap_bytes;
  return text("bucket ", theirs - right.buckets.begin(), " is of ", name_of(first.dtype),
              first.device > 0 ? text(" on device ", first.device) : "", ", where it is ",
              begins ? "the first, with the first limit of " : "a later one, with the cap of ",
              grouped(limit), " bytes; with parameter ", bucket.back(), " it has ", grouped(bytes),
              bytes >= limit ? ", which closes it" : ", and nothing closes it");
}

// The cause where all buckets are right, but not their order.
std::optional<Cause> wrong_order(BucketPlan seen, BucketPlan right) {
  std::ranges::sort(seen.buckets);
  std::ranges::sort(right.buckets);
  if (seen.buckets != right.buckets) return std::nullopt;
  return Cause{"other_order",
               "each bucket holds what it should, but they come in another order: first those that "
               "a limit closed, as they were closed; then those that nothing closed, in the order "
               "of their first members, whatever their kind"};
}

std::optional<Failure> wrong(std::span<const BucketQuestion> asked, const BucketPlan& seen) {
  const BucketPlan right = right_plan(asked.back());
  if (seen == right) return std::nullopt;
  Fault fault{difference(seen, right),
              {"other_plan", limits_at_difference(asked.back(), seen, right)}};
  if (auto order = wrong_order(seen, right)) fault.cause = *std::move(order);
  fault = fault_of_form(asked.back(), seen).value_or(fault);
  Failure failure = because(fault.cause, {.message = fault.message});
  failure.expected = text_of(right);
  failure.seen = text_of(seen);
  return failure;
}

// Without one of the parameters, with one limit for both, with fewer elements.
std::vector<BucketQuestion> smaller(const BucketQuestion& question) {
  std::vector<BucketQuestion> offered;
  const std::size_t all = question.parameters.size();
  if (all > 2) {
    for (const std::size_t from : {std::size_t{0}, all / 2}) {
      BucketQuestion& half = offered.emplace_back(question);
      const auto first = half.parameters.begin() + static_cast<std::ptrdiff_t>(from);
      half.parameters = {first, first + static_cast<std::ptrdiff_t>(all / 2)};
    }
  }
  for (std::size_t i = 0; i < all && all > 1; ++i) {
    auto& fewer = offered.emplace_back(question).parameters;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return offered;
}

Sizes sizes_of(const BucketQuestion& question) {
  Sizes sizes{std::ssize(question.parameters)};
  for (const ParamInfo& info : question.parameters) sizes.counts.push_back(info.count);
  return sizes;
}

FunctionContract<BucketQuestion, BucketPlan> usual_contract() {
  return {.text_of = text_of_question,
          .wrong = wrong,
          .is_right = [](const BucketQuestion& question,
                         const BucketPlan& seen) { return seen == right_plan(question); },
          .smaller = smaller,
          .sizes = sizes_of};
}

std::vector<ParamInfo> of_type(DType dtype, const std::vector<std::int64_t>& counts) {
  std::vector<ParamInfo> infos;
  for (const std::int64_t count : counts) infos.push_back({count, dtype});
  return infos;
}

// Weight and bias of each layer, as they are registered.
std::vector<ParamInfo> layers(int how_many, std::int64_t weight, std::int64_t bias) {
  std::vector<ParamInfo> infos;
  for (int i = 0; i < how_many; ++i) {
    infos.push_back({weight, DType::float32});
    infos.push_back({bias, DType::float32});
  }
  return infos;
}
std::vector<ParamInfo> backwards(std::vector<ParamInfo> infos) {
  std::ranges::reverse(infos);
  return infos;
}

// An easy one; test_c10d_common.py; the buckets of ten and of four linear layers, PyTorch 1.13.1.
std::vector<BucketQuestion> pytorchs() {
  std::vector<ParamInfo> mixed;
  for (int i = 0; i < 3; ++i) {
    mixed.push_back({50, DType::float32});
    mixed.push_back({25, DType::float64});
  }
  const auto ten = layers(10, 1024 * 1024, 1024), four = layers(4, 600 * 600, 600);
  return {{of_type(DType::float32, {10, 20, 100, 5, 5}), {100, 100}},
          {of_type(DType::float32, {100, 200, 100, 50}), {400, 400}},
          {of_type(DType::float32, {10, 10, 10, 10}), {40, 80}},
          {mixed, {400, 400}},
          {mixed, {200, 400}},
          {ten, {mib, 25 * mib}},
          {backwards(ten), {mib, 25 * mib}},
          {backwards(four), {mib, 25 * mib}},
          {backwards(four), {mib, 2 * mib}}};
}

// Lists of every length, and each count of elements; limits that nothing reaches are the largest.
std::vector<BucketQuestion> every_size() {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::vector<BucketQuestion> questions{{of_type(DType::float32, {10, 20, 5}), {never, never}},
                                        {of_type(DType::float64, {10, 20, 5}), {40, never}}};
  for (const int length : every_rank_count) {
    const auto counts = every_count(length, 0);
    BucketQuestion& question = questions.emplace_back();
    for (int i = 0; i < length; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) % (counts.size() - 2);
      const auto dtype = all_dtypes[static_cast<std::size_t>(i / 3) % all_dtypes.size()];
      question.parameters.push_back({counts[at], dtype, i % 5 == 4 ? 1 : 0});
    }
    question.limits = {4 * length, 64 * length};
    questions.push_back({of_type(DType::float32, counts), {16, 4 << 16}});
  }
  return questions;
}

// Parameters of the first `dtypes` of a list, on so many devices.
std::vector<BucketQuestion> random_plans(CaseRunner& runner, int how_many, int dtypes,
                                         int devices) {
  constexpr DType of[] = {DType::float32, DType::bfloat16, DType::float64, DType::float16};
  std::vector<BucketQuestion> questions;
  for (int k = 0; k < how_many; ++k) {
    BucketQuestion& question = questions.emplace_back();
    for (std::int64_t left = runner.draw_between(3, 20); left > 0; --left) {
      const auto dtype = of[runner.draw_between(0, dtypes - 1)];
      question.parameters.push_back({runner.draw_between(1, 60), dtype,
                                     static_cast<int>(runner.draw_between(0, devices - 1))});
    }
    // Sums reach a limit exactly now and then: all of them are even, and multiples of 4 in float32.
    question.limits = {4 * runner.draw_between(1, 40), 4 * runner.draw_between(30, 120)};
  }
  return questions;
}

std::vector<BucketQuestion> overshoots() {
  const std::int64_t cap = 25 * mib;
  const auto floats = [](const std::vector<std::int64_t>& counts) {
    return of_type(DType::float32, counts);
  };
  return {{floats({10, cap, 10}), {40, cap}},
          {floats({10, cap, 10}), {41, cap}},
          {floats({cap, cap, cap}), {mib, cap}},
          {floats({10, 10}), {80, 80}},
          {floats({10, 10}), {81, 81}},
          {floats({10, 10}), {79, 79}},
          {floats({1, 1, 1, 50, 1, 1}), {12, 16}},
          {floats({5, 5, 5, 5}), {1000, 10}}};
}

std::vector<BucketQuestion> nothing_at_all() {
  const auto floats = [](const std::vector<std::int64_t>& counts) {
    return of_type(DType::float32, counts);
  };
  return {{{}, {mib, mib}},
          {floats({0}), {mib, mib}},
          {floats({0, 0, 0}), {mib, mib}},
          {floats({3, 0, 4, 0}), {12, 16}},
          {floats({0, 3, 0, 4}), {12, 16}},
          {floats({3, 1, 4}), {0, 0}},
          {floats({0, 1, 0, 2, 2}), {0, 16}},
          {{{0, DType::float64}, {2, DType::float32}, {0, DType::float64}}, {8, 8}}};
}

std::vector<BucketQuestion> beyond_32_bits() {
  constexpr std::int64_t billion = 1'000'000'000;
  const auto floats = [](const std::vector<std::int64_t>& counts) {
    return of_type(DType::float32, counts);
  };
  return {
      {floats({billion, billion, billion}), {mib, 5 * billion}},
      {floats({billion / 2, billion / 2, billion, 7}), {3 * billion, 3 * billion}},
      {floats({3 * billion, 3 * billion, 5}), {mib, 25 * mib}},
      // 32 bits of this count are 5, and a float has no number beside 2^26.
      {floats({(std::int64_t{1} << 32) + 5, 3, 4}), {mib, 16}},
      {floats({1 << 24, 1, 5, 7, 30}), {(std::int64_t{4} << 24) + 4, 40}},
      {of_type(DType::bfloat16, {billion, billion, 3 * billion, 9}), {4 * billion, 5 * billion}}};
}

}  // namespace

Exam exam() {
  const auto contract = usual_contract();
  return {
      {"PyTorch's own cases, and four and ten linear layers, give PyTorch's buckets",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "PyTorch's buckets", pytorchs());
       }},
      {"parameters of one type fill buckets in their order, and the last bucket is kept",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "one type", random_plans(runner, 24, 1, 1));
       }},
      {"a limit closes a bucket when it is reached, and the parameter that reaches it is inside",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "around the limits", overshoots());
       }},
      {"each type on each device fills buckets of its own, with a first bucket of its own",
       [contract](CaseRunner& runner) {
         auto questions = random_plans(runner, 12, 3, 1);
         for (const auto& [dtypes, devices] : {std::pair{1, 3}, {4, 2}}) {
           for (auto& more : random_plans(runner, 12, dtypes, devices)) {
             questions.push_back(std::move(more));
           }
         }
         judge(runner, contract, "types and devices", questions);
       }},
      {"no parameters, parameters without elements, and limits of 0",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "nothing in it", nothing_at_all());
       }},
      {"counts and bytes beyond 32 bits",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "large", beyond_32_bits());
         judge(runner, contract, "every size", every_size());
       }},
  };
}

}  // namespace lockstep::grader::assign_buckets
