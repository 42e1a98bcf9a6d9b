// Finds what an action needs before it can start, and how far a plan gets on these terms: by its
// order alone, or with the clock. For the room's own use.
#pragma once

#include <functional>
#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// The products of a part for its neighbours, once for each micro-batch: its output, to the part
// after it; the gradient of its input, to the part before it.
enum class Product : std::uint8_t { output, gradient };

struct Need {
  Product product = Product::output;
  int part = 0;
  int micro_batch = 0;
};

int parts_of(const Plan& plan);
int part_of(const Plan& plan, int stage, const Action& action);

// All that must be there before `action` starts.
std::vector<Need> needs_of(const Plan& plan, int stage, const Action& action);

// When each product was made, as far as the plan gets.
class Products {
 public:
  explicit Products(const Plan& plan);
  bool made(const Need& need) const { return at(need) >= 0; }
  double at(const Need& need) const { return times_[index(need)]; }  // negative if it was not made
  // Notes what `action` gives, if anything, at `time`.
  void give(const Plan& plan, int stage, const Action& action, double time);

 private:
  std::size_t index(const Need& need) const;
  std::size_t parts_, micro_batches_;
  std::vector<double> times_;
};

// Carries the plan out as far as it gets. `carry_out(stage, action, products)` is called for each
// action whose needs are there, after those before it on its stage, and returns its end.
//   Requires  actions of micro-batches and chunks that there are (fault_of)
//   Returns   how many actions of each stage were carried out: fewer than all if stages wait for
//             what never comes
using CarryOut = std::function<double(int stage, const Action& action, const Products& products)>;
std::vector<std::size_t> progress_of(const Plan& plan, const CarryOut& carry_out);

}  // namespace lockstep::pipeline
