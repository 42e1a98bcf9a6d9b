// The judge's own chain of parts (play/chain_play.hpp): what each rank is given of it, and what
// comes out when one device computes all of it.
#pragma once

#include <cstdint>
#include <vector>

#include "grader/play/chain_play.hpp"

namespace lockstep::grader {

constexpr int chain_width = 4;

struct Chain {
  int width = 0;
  std::vector<int> rows{};                          // by micro-batch
  std::vector<std::vector<double>> matrices{};      // by part
  std::vector<std::vector<double>> inputs{};        // by micro-batch
  std::vector<std::vector<double>> coefficients{};  // by micro-batch
};

// Whole numbers drawn from the salt, so small that all sums are exact.
Chain make_chain(std::uint64_t salt, int parts, std::vector<int> rows);
// The same with finer numbers, which float64 holds exactly and float32 does not.
Chain with_fine_inputs(Chain chain);
Chain with_fine_coefficients(Chain chain);
// True if this is the right number with the digits that float32 has.
bool is_rounded(double seen, double right);
// m of them, multiples of 1/64, none of them 0 and not all equal; their sum is 1.
std::vector<double> make_weights(std::uint64_t salt, int micro_batches);

// x [b, W] · a [W, W]
std::vector<double> times(const std::vector<double>& x, const std::vector<double>& a, int width);
// Adds xᵀ · g to a sum [W, W]; x and g [b, W].
void add_product(std::vector<double>& sum, const std::vector<double>& x,
                 const std::vector<double>& g);
std::vector<double> transposed(const std::vector<double>& a, int width);

// The share of a rank that has these parts.
ChainShare share_of(const Chain& chain, const std::vector<int>& mine);

struct ChainResult {
  double loss = 0;                               // Σ weight · loss
  std::vector<std::vector<double>> gradients{};  // by part, of Σ seed · loss
};
ChainResult result_of(const Chain& chain, const std::vector<double>& weights,
                      const std::vector<double>& seeds);

}  // namespace lockstep::grader
