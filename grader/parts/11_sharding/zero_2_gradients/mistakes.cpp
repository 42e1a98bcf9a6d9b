#include "grader/parts/11_sharding/zero_2_gradients/mistakes.hpp"

#include <algorithm>
#include <utility>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::zero_2_gradients {
namespace {

bool is_kept(const Problem& p, std::size_t pass) {
  return pass > 0 && p.script.passes[pass].before == DrivenPass::Before::kept;
}

// The sum of a bucket after a pass, if each pass takes `carried` times what the sum held before,
// and rounds what it leaves to a type, if there is one.
Numbers over_passes(const Problem& p, std::size_t bucket, const Right& right, std::size_t pass,
                    double carried, std::optional<DType> rounded = std::nullopt) {
  return of_bucket(p, bucket, [&](std::size_t i) {
    Numbers sum;
    for (std::size_t at = 0; at <= pass; ++at) {
      const Numbers before = is_kept(p, at) ? sum : Numbers();
      sum = right[at][i].values;
      for (std::size_t e = 0; e < before.size(); ++e) {
        sum[e] += carried * before[e] - right[at - 1][i].values[e];
      }
      if (rounded) sum = as_doubles(*rounded, to_bytes(*rounded, sum));
    }
    return sum;
  });
}

// Each rank's grads of a pass, one behind the other, with no room for one that is missing.
Numbers without_gaps(const Problem& p, std::size_t bucket, const Right& right, std::size_t pass) {
  Numbers sum;
  for (std::size_t at = 0; at <= pass; ++at) {
    if (!is_kept(p, at)) sum.clear();
    for (int rank = 0; rank < p.ranks(); ++rank) {
      std::size_t place = 0;
      for (const std::size_t i : p.plan.buckets[bucket]) {
        Numbers grad = right[at][i].made[static_cast<std::size_t>(rank)];
        const Numbers& before = right[at][i].before[static_cast<std::size_t>(rank)];
        for (std::size_t e = 0; e < grad.size() && !is_kept(p, at); ++e) grad[e] += before[e];
        const auto is_zero = [](double value) { return value == 0; };
        const bool missing = std::ranges::all_of(grad, is_zero);
        sum.resize(std::max(sum.size(), place + grad.size()));
        for (std::size_t e = 0; e < grad.size() && !missing; ++e) {
          sum[place++] += grad[e] / p.ranks();
        }
      }
    }
  }
  std::size_t count = 0;
  for (const std::size_t i : p.plan.buckets[bucket]) count += right[pass][i].values.size();
  sum.resize(count);
  return sum;
}

}  // namespace

std::optional<Cause> cause_of_rest(std::size_t pass, std::size_t started) {
  if (pass == 0 || started > 0) return std::nullopt;
  return Cause{"not_reset",
               "no bucket started in this pass; finalize has to set `missing` of each bucket to "
               "the number of its parameters again, and next_ to 0"};
}

std::vector<Mistake<Numbers>> mistakes_of(const Problem& p, std::size_t bucket, int rank,
                                          const Right& right, std::size_t pass,
                                          std::size_t started) {
  const auto scaled = [&](double factor) {
    return of_bucket(p, bucket, [&](std::size_t i) {
      Numbers values = right[pass][i].values;
      for (double& value : values) value *= factor;
      return values;
    });
  };
  const auto own = [&](double factor) {
    return of_bucket(p, bucket, [&](std::size_t i) {
      const DrivenGradient& one = right[pass][i];
      Numbers values = one.made[static_cast<std::size_t>(rank)];
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = factor * (values[e] + one.before[static_cast<std::size_t>(rank)][e]);
      }
      return values;
    });
  };
  // The mean of this pass alone.
  const Numbers made = of_bucket(p, bucket, [&](std::size_t i) {
    const DrivenGradient& one = right[pass][i];
    Numbers values(one.values.size());
    for (const Numbers& of_rank : one.made) {
      for (std::size_t e = 0; e < values.size(); ++e) values[e] += of_rank[e] / p.ranks();
    }
    return values;
  });
  const double n = p.ranks();
  std::vector<Mistake<Numbers>> all{
      {{"not_reduced",
        "it is this rank's own gradient: the others' were not added, or it was read before the "
        "reduction was over"},
       own(1)},
      {{"not_reduced",
        "it is this rank's own gradient: the others' were not added, or it was read before the "
        "reduction was over"},
       own(1 / n)},
      {{"not_added",
        "it is what this pass made alone; passes add up until zero_grad, and a grad from before "
        "the pass travels along"},
       made}};
  if (pass == 0) {  // what every pass has would have shown in the first
    all.insert(all.begin(),
               {{{"summed_not_averaged",
                  "the gradients of the ranks were summed, and not multiplied by 1/N"},
                 scaled(n)},
                {{"divided_twice", "the gradients were multiplied by 1/N twice"}, scaled(1 / n)}});
  }
  // These are the right sums where nothing was there before and no grad is missing.
  const auto add_other = [&](const Cause& cause, Numbers gives) {
    if (!resembles(gives, scaled(1))) all.push_back({cause, std::move(gives)});
  };
  add_other({"sum_divided_again",
             "what passes before had added up was multiplied by 1/N once more: multiply what came "
             "in this pass, and add it then"},
            over_passes(p, bucket, right, pass, 1.0 / p.ranks()));
  if (p.sums() != p.script.dtype) {
    add_other({"sum_rounded",
               text("the sum was rounded to ", name_of(p.script.dtype),
                    " after each pass: convert "
                    "what came to the sums' type first, then add, and keep the sum in that type")},
              over_passes(p, bucket, right, pass, 1, p.script.dtype));
  }
  add_other({"grads_moved",
             "a parameter without a grad has its place in the bucket, too: the k-th begins at "
             "starts[k]. Here the grads behind it moved up"},
            without_gaps(p, bucket, right, pass));
  if (pass > 0) {
    const Cause stale{"stale", "it is what was right after the pass before"};
    all.push_back({cause_of_rest(pass, started).value_or(stale),
                   of_bucket(p, bucket, [&](std::size_t i) { return right[pass - 1][i].values; })});
    const Numbers before = all.back().gives;
    Numbers both = scaled(1);
    for (std::size_t e = 0; e < both.size(); ++e) both[e] += before[e];
    all.push_back({{"added_to_old", "the sum from before zero_grad is in it"}, both});
  }
  return all;
}

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

}  // namespace lockstep::grader::zero_2_gradients
