#include "grader/exam/function/dense_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::grader {

std::size_t DenseAttention::place(const Row& row, std::int64_t token, std::int64_t which,
                                  std::int64_t d) const {
  const std::int64_t column = which * s_.width() + row.head * s_.head_size + d;
  return static_cast<std::size_t>((row.batch * s_.tokens + token) * 3 * s_.width() + column);
}

std::size_t DenseAttention::output_place(const Row& row, std::int64_t d) const {
  const std::int64_t column = row.head * s_.head_size + d;
  return static_cast<std::size_t>((row.batch * s_.tokens + row.token) * s_.width() + column);
}

DenseAttention::Row DenseAttention::row_of(const Numbers& qkv, std::int64_t batch,
                                           std::int64_t head, std::int64_t token) const {
  Row row{batch, head, token};
  for (std::int64_t key = 0; key < s_.tokens; ++key) {
    if (!sees_(token, key)) continue;
    double score = 0;
    for (std::int64_t d = 0; d < s_.head_size; ++d) {
      score += qkv[place(row, token, 0, d)] * qkv[place(row, key, 1, d)];
    }
    row.keys.push_back(key);
    row.shares.push_back(score / std::sqrt(static_cast<double>(s_.head_size)));
  }
  row.log_sum = -std::numeric_limits<double>::infinity();
  if (row.keys.empty()) return row;
  const double most = *std::max_element(row.shares.begin(), row.shares.end());
  double sum = 0;
  for (double& share : row.shares) sum += share = std::exp(share - most);
  for (double& share : row.shares) share /= sum;
  row.log_sum = most + std::log(sum);
  return row;
}

void DenseAttention::each_row(const Numbers& qkv,
                              const std::function<void(const Row&)>& visit) const {
  for (std::int64_t b = 0; b < s_.batch; ++b) {
    for (std::int64_t h = 0; h < s_.heads; ++h) {
      for (std::int64_t t = 0; t < s_.tokens; ++t) visit(row_of(qkv, b, h, t));
    }
  }
}

Numbers DenseAttention::forward(const Numbers& qkv) const {
  Numbers output(qkv.size() / 3);
  each_row(qkv, [&](const Row& row) {
    for (std::size_t k = 0; k < row.keys.size(); ++k) {
      for (std::int64_t d = 0; d < s_.head_size; ++d) {
        output[output_place(row, d)] += row.shares[k] * qkv[place(row, row.keys[k], 2, d)];
      }
    }
  });
  return output;
}

Numbers DenseAttention::log_sums(const Numbers& qkv) const {
  Numbers all;
  each_row(qkv, [&](const Row& row) { all.push_back(row.log_sum); });
  return all;
}

Numbers DenseAttention::backward(const Numbers& qkv, const Numbers& grad) const {
  Numbers all(qkv.size());
  const double scale = 1 / std::sqrt(static_cast<double>(s_.head_size));
  each_row(qkv, [&](const Row& row) {
    Numbers of_shares(row.keys.size());
    double mean = 0;
    for (std::size_t k = 0; k < row.keys.size(); ++k) {
      for (std::int64_t d = 0; d < s_.head_size; ++d) {
        const double g = grad[output_place(row, d)];
        of_shares[k] += g * qkv[place(row, row.keys[k], 2, d)];
        all[place(row, row.keys[k], 2, d)] += row.shares[k] * g;
      }
      mean += row.shares[k] * of_shares[k];
    }
    for (std::size_t k = 0; k < row.keys.size(); ++k) {
      const double of_score = scale * row.shares[k] * (of_shares[k] - mean);
      for (std::int64_t d = 0; d < s_.head_size; ++d) {
        all[place(row, row.token, 0, d)] += of_score * qkv[place(row, row.keys[k], 1, d)];
        all[place(row, row.keys[k], 1, d)] += of_score * qkv[place(row, row.token, 0, d)];
      }
    }
  });
  return all;
}

}  // namespace lockstep::grader
