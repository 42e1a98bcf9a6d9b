#include "grader/exam/schedule/chain_rules.hpp"

#include <cmath>

#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

// Numbers from -most to most, from a place of their own in the salt's sequence.
std::vector<double> drawn_numbers(std::uint64_t salt, std::uint64_t place, int count, int most) {
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t bits = keyed_bits(salt, 1000 * place + static_cast<std::uint64_t>(i));
    all.push_back(static_cast<double>(bits % static_cast<std::uint64_t>(2 * most + 1)) - most);
  }
  return all;
}

}  // namespace

std::vector<double> times(const std::vector<double>& x, const std::vector<double>& a, int width) {
  const auto w = static_cast<std::size_t>(width);
  std::vector<double> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t o = 0; o < w; ++o) y[k / w * w + o] += x[k] * a[k % w * w + o];
  }
  return y;
}

std::vector<double> transposed(const std::vector<double>& a, int width) {
  const auto w = static_cast<std::size_t>(width);
  std::vector<double> t(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) t[k % w * w + k / w] = a[k];
  return t;
}

void add_product(std::vector<double>& sum, const std::vector<double>& x,
                 const std::vector<double>& g) {
  const auto width = static_cast<std::size_t>(chain_width);
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t o = 0; o < width; ++o) {
      sum[k % width * width + o] += x[k] * g[k / width * width + o];
    }
  }
}

Chain make_chain(std::uint64_t salt, int parts, std::vector<int> rows) {
  Chain chain{.width = chain_width, .rows = std::move(rows)};
  constexpr int square = chain_width * chain_width;
  for (int part = 0; part < parts; ++part) {
    auto matrix = drawn_numbers(salt, 1 + static_cast<std::uint64_t>(part), square, 1);
    // No part is the zero matrix, and none passes its input on as it is.
    for (int i = 0; i < chain_width; ++i) {
      matrix[static_cast<std::size_t>(i * chain_width + (i + 1) % chain_width)] = 1 + part % 2;
    }
    chain.matrices.push_back(std::move(matrix));
  }
  for (std::size_t m = 0; m < chain.rows.size(); ++m) {
    const int count = chain.rows[m] * chain_width;
    chain.inputs.push_back(drawn_numbers(salt, 100 + m, count, 3));
    chain.coefficients.push_back(drawn_numbers(salt, 300 + m, count, 3));
    // No micro-batch is without a say.
    chain.inputs.back().front() = 2;
    chain.coefficients.back().back() = 2;
  }
  return chain;
}

namespace {

// A whole number of up to 26 bits has room for both terms of the product in float64.
void refine(std::vector<std::vector<double>>& rows) {
  for (auto& row : rows) {
    for (double& one : row) one *= 1 + 0x1p-26;
  }
}

}  // namespace

Chain with_fine_inputs(Chain chain) {
  refine(chain.inputs);
  return chain;
}

Chain with_fine_coefficients(Chain chain) {
  refine(chain.coefficients);
  return chain;
}

bool is_rounded(double seen, double right) {
  return std::fabs(seen - right) <= 1e-6 * std::fabs(right);
}

std::vector<double> make_weights(std::uint64_t salt, int micro_batches) {
  constexpr int whole = 64;
  std::vector<int> shares(static_cast<std::size_t>(micro_batches), 2);
  for (int left = whole - 2 * micro_batches; left > 0; --left) {
    const std::uint64_t bits = keyed_bits(salt, 90'000 + static_cast<std::uint64_t>(left));
    ++shares[bits % shares.size()];
  }
  if (micro_batches > 1 && shares[0] == shares[1]) {  // 2 or more, both
    ++shares[0];
    --shares[1];
  }
  std::vector<double> weights;
  for (const int share : shares) weights.push_back(static_cast<double>(share) / whole);
  return weights;
}

ChainShare share_of(const Chain& chain, const std::vector<int>& mine) {
  const int parts = static_cast<int>(chain.matrices.size());
  ChainShare share{.parts = parts, .width = chain.width, .rows = chain.rows, .mine = mine};
  for (const int part : mine) {
    share.matrices.push_back(chain.matrices[static_cast<std::size_t>(part)]);
    if (part == 0) share.inputs = chain.inputs;
    if (part == parts - 1) share.coefficients = chain.coefficients;
  }
  return share;
}

ChainResult result_of(const Chain& chain, const std::vector<double>& weights,
                      const std::vector<double>& seeds) {
  const auto width = static_cast<std::size_t>(chain.width);
  ChainResult result;
  result.gradients.assign(chain.matrices.size(), std::vector<double>(width * width));
  for (std::size_t m = 0; m < chain.rows.size(); ++m) {
    std::vector<std::vector<double>> through{chain.inputs[m]};
    for (const auto& matrix : chain.matrices) {
      through.push_back(times(through.back(), matrix, chain.width));
    }
    std::vector<double> back = chain.coefficients[m];
    for (std::size_t k = 0; k < back.size(); ++k) {
      result.loss += weights[m] * back[k] * through.back()[k];
      back[k] *= seeds[m];
    }
    for (std::size_t part = chain.matrices.size(); part-- > 0;) {
      const std::vector<double>& x = through[part];
      for (std::size_t k = 0; k < x.size(); ++k) {
        for (std::size_t o = 0; o < width; ++o) {
          result.gradients[part][k % width * width + o] += x[k] * back[k / width * width + o];
        }
      }
      back = times(back, transposed(chain.matrices[part], chain.width), chain.width);
    }
  }
  return result;
}

}  // namespace lockstep::grader
