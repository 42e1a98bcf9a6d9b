// Loops over float64 copies instead of tensor operations, Householder's reflections instead of Gram
// and Schmidt, P and Q in tensors of their own, and a Pending instead of `then`.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/parallel/compress/low_rank.hpp"
#include "engine/parallel/compress/power_sgd.hpp"

namespace lockstep::compress {
namespace {

using Doubles = std::vector<double>;

Doubles doubles_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64);
  const auto values = wide.data<double>();
  return {values.begin(), values.end()};
}

// n × r, row by row: the first r columns of the orthogonal factor.
Doubles reflected(Doubles a, std::size_t n, std::size_t r) {
  std::vector<Doubles> mirrors;
  const auto reflect = [n, r](const Doubles& v, Doubles& m) {
    for (std::size_t j = 0; j < r; ++j) {
      double along = 0;
      for (std::size_t i = 0; i < n; ++i) along += v[i] * m[i * r + j];
      for (std::size_t i = 0; i < n; ++i) m[i * r + j] -= 2 * along * v[i];
    }
  };
  for (std::size_t k = 0; k < r; ++k) {
    Doubles v(n);
    double squares = 0;
    for (std::size_t i = k; i < n; ++i) squares += a[i * r + k] * a[i * r + k];
    for (std::size_t i = k; i < n; ++i) v[i] = a[i * r + k];
    v[k] += std::copysign(std::sqrt(squares), v[k]);
    double length = 0;
    for (const double x : v) length += x * x;
    for (double& x : v) x = length == 0 ? 0 : x / std::sqrt(length);
    reflect(v, a);
    mirrors.push_back(std::move(v));
  }
  Doubles q(n * r);
  for (std::size_t k = 0; k < r; ++k) q[k * r + k] = 1;
  for (std::size_t k = r; k-- > 0;) reflect(mirrors[k], q);
  return q;
}

struct Thin {
  std::size_t at, n, m, r;
  Doubles p;
};

class Pass final : public comm::Pending {
 public:
  Pass(comm::ProcessGroup& group, const collectives::GradientBucket& bucket, LowRankState& state,
       const PowerSgdOptions& options, std::int64_t pass)
      : group_(group), flat_(bucket.flat), state_(state) {
    Layout layout;  // of Q alone, for prepare_qs
    std::size_t at = 0;
    for (const Tensor& gradient : bucket.gradients) {
      const std::int64_t count = gradient.numel();
      const std::int64_t n = gradient.size(0), m = n == 0 ? 0 : count / n;
      const std::int64_t r = std::min({n, m, options.rank});
      if (is_worth_compressing(n, m, r, options.compression_min)) {
        layout.matrices.push_back({0, n, m, r, 0, layout.q_count});
        layout.q_count += m * r;
        thin_.push_back({at,
                         static_cast<std::size_t>(n),
                         static_cast<std::size_t>(m),
                         static_cast<std::size_t>(r),
                         {}});
      } else {
        plain_.push_back({at, static_cast<std::size_t>(count)});
      }
      at += static_cast<std::size_t>(count);
    }
    if (!state.qs.defined()) state.qs = zeros({layout.q_count}, flat_.dtype(), flat_.device());
    const auto of_pass = random_bits(options.seed, static_cast<std::uint64_t>(pass));
    prepare_qs(layout, state.qs, random_bits(of_pass, bucket.index));
    const Doubles q = doubles_of(state.qs);
    g_ = doubles_of(state.residual);
    const Doubles mine = doubles_of(flat_);
    for (std::size_t i = 0; i < g_.size(); ++i) g_[i] += mine[i];
    Doubles sent;
    std::size_t q_at = 0;
    for (const Thin& one : thin_) {
      for (std::size_t i = 0; i < one.n; ++i) {
        for (std::size_t k = 0; k < one.r; ++k) {
          double sum = 0;
          for (std::size_t j = 0; j < one.m; ++j) {
            sum += g_[one.at + i * one.m + j] * q[q_at + j * one.r + k];
          }
          sent.push_back(sum);
        }
      }
      q_at += one.m * one.r;
    }
    for (const auto& [begin, count] : plain_) {
      for (std::size_t i = 0; i < count; ++i) sent.push_back(g_[begin + i]);
    }
    first_ = from_values(sent, {std::ssize(sent)}, flat_.dtype(), flat_.device());
    work_ = group.all_reduce_async(first_, ReduceOp::average);
  }

  void wait() override {
    work_.wait();
    const Doubles arrived = doubles_of(first_);
    Doubles result(g_.size()), q;
    auto next = arrived.begin();
    for (Thin& one : thin_) {
      const auto end = next + static_cast<std::ptrdiff_t>(one.n * one.r);
      one.p = reflected(Doubles(next, end), one.n, one.r);
      next = end;
      for (std::size_t j = 0; j < one.m; ++j) {
        for (std::size_t k = 0; k < one.r; ++k) {
          double sum = 0;
          for (std::size_t i = 0; i < one.n; ++i) {
            sum += g_[one.at + i * one.m + j] * one.p[i * one.r + k];
          }
          q.push_back(sum);
        }
      }
    }
    for (const auto& [begin, count] : plain_) {
      for (std::size_t i = 0; i < count; ++i) result[begin + i] = *next++;
    }
    state_.qs.copy_(from_values(q, {std::ssize(q)}, flat_.dtype(), flat_.device()));
    if (!q.empty()) group_.all_reduce(state_.qs, ReduceOp::average);
    q = doubles_of(state_.qs);
    std::size_t q_at = 0;
    for (const Thin& one : thin_) {
      for (std::size_t i = 0; i < one.n; ++i) {
        for (std::size_t j = 0; j < one.m; ++j) {
          double& sum = result[one.at + i * one.m + j];
          for (std::size_t k = 0; k < one.r; ++k) {
            sum += one.p[i * one.r + k] * q[q_at + j * one.r + k];
          }
        }
      }
      q_at += one.m * one.r;
    }
    for (std::size_t i = 0; i < g_.size(); ++i) g_[i] -= result[i];
    for (const auto& [begin, count] : plain_) {
      for (std::size_t i = 0; i < count; ++i) g_[begin + i] = 0;
    }
    const Shape shape{flat_.numel()};
    flat_.copy_(from_values(result, shape, flat_.dtype(), flat_.device()));
    state_.residual.copy_(from_values(g_, shape, flat_.dtype(), flat_.device()));
  }

 private:
  comm::ProcessGroup& group_;
  Tensor flat_, first_;
  LowRankState& state_;
  std::vector<Thin> thin_;
  std::vector<std::pair<std::size_t, std::size_t>> plain_;
  Doubles g_;
  comm::Work work_;
};

}  // namespace

comm::Work power_sgd_reduce(comm::ProcessGroup& group, const collectives::GradientBucket& bucket,
                            LowRankState& state, const PowerSgdOptions& options,
                            std::int64_t pass) {
  return comm::Work(std::make_unique<Pass>(group, bucket, state, options, pass));
}

}  // namespace lockstep::compress
