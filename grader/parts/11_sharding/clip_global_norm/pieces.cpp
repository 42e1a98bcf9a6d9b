#include "grader/parts/11_sharding/clip_global_norm/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader::clip_global_norm {
namespace {

double squares_of(const std::vector<double>& values) {
  return std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(),
                               [](double v) { return v * v; });
}

double squares_of(const Elements& tensors) {
  double sum = 0;
  for (const auto& tensor : tensors) sum += squares_of(tensor);
  return sum;
}

// Elements of tensor `id`, whose values differ by place, tensor, call and salt.
std::vector<double> drawn(const Problem& p, std::uint64_t salt, std::int64_t count,
                          std::uint64_t id) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t e = 0; e < values.size(); ++e) {
    const double size = 0.5 + keyed_uniform(salt, (id << 24) + e);
    values[e] = size * static_cast<double>(1 + id % 7) * (e % 3 == 1 ? -1 : 1) * p.scale;
  }
  return values;
}

// Values as the type of the tensors holds them.
std::vector<double> rounded(const Problem& p, const std::vector<double>& values) {
  return as_doubles(p.dtype, to_bytes(p.dtype, values));
}

// The tensors of a rank in the order of its lists; undefined ones are left out.
Elements own_tensors(const Problem& p, std::uint64_t salt, int rank) {
  Elements all;
  for (std::size_t i = 0; i < p.layout.own.size(); ++i) {
    const std::int64_t size = p.layout.own[i];
    if (size < 0) continue;
    const std::uint64_t id = 64 * static_cast<std::uint64_t>(rank) + i;
    auto values = drawn(p, salt, size > 1 ? size + rank : size, id);
    if (rank == p.size() - 1) make_odd(values, p.odd);
    all.push_back(rounded(p, values));
  }
  return all;
}

std::vector<double> shared_tensor(const Problem& p, std::uint64_t salt, std::size_t k) {
  const auto values = rounded(p, drawn(p, salt, p.layout.shared[k], 5000 + k));
  const DType dtype = p.dtype_of_copies();
  return as_doubles(dtype, to_bytes(dtype, values));
}

bool is_close(double a, double b, double by) {
  return a == b || std::fabs(a - b) <= by * std::fabs(b);
}

}  // namespace

std::string Problem::description() const {
  const std::string groups = columns > 0   ? text(" in rows of ", columns)
                             : columns < 0 ? std::string(", without a group")
                                           : std::string();
  return text(members.description(), groups, ", pieces of ", name_of(dtype),
              layout.shared.empty()
                  ? ""
                  : text(" and ", counted(std::ssize(layout.shared), "tensor"), " that all hold",
                         copies ? text(", copies of ", name_of(*copies)) : std::string()),
              name_of(odd));
}

std::vector<int> Problem::peers(int rank, int group) const {
  std::vector<int> all;
  for (int other = 0; other < size(); ++other) {
    const bool same_row = other / columns == rank / columns;
    const bool same_column = other % columns == rank % columns;
    if (group == 0 ? same_row : same_column) all.push_back(other);
  }
  return all;
}

std::vector<double> Call::squares() const {
  std::vector<double> all;
  for (const Elements& tensors : counted) all.push_back(squares_of(tensors));
  return all;
}

Call drawn_call(const Problem& p, std::uint64_t salt, std::size_t number) {
  const std::uint64_t own_salt = keyed_bits(salt, number);
  Call call;
  for (int rank = 0; rank < p.size(); ++rank) {
    call.counted.push_back(own_tensors(p, own_salt, rank));
    Elements& copies = call.copies.emplace_back();
    for (std::size_t k = 0; k < p.layout.shared.size(); ++k) {
      const bool counts = static_cast<int>(k) % p.size() == rank;
      (counts ? call.counted.back() : copies).push_back(shared_tensor(p, own_salt, k));
    }
  }
  const std::vector<double> squares = call.squares();
  call.norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  const bool relative = std::isfinite(call.norm) && call.norm > 0;
  call.max_norm = p.bounds[number] * (relative ? call.norm : 1);
  const double bound = call.max_norm / (call.norm + 1e-6);
  call.factor = call.max_norm > 0 && bound < 1 && std::isfinite(call.norm) ? bound : 1;
  return call;
}

ClipCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  ClipCase one;
  one.columns = p.columns;
  const auto r = static_cast<std::size_t>(rank);
  for (std::size_t number = 0; number < p.bounds.size(); ++number) {
    const Call call = drawn_call(p, salt, number);
    ClipCall& given = one.calls.emplace_back();
    given.max_norm = call.max_norm;
    const auto held = [&](const std::vector<double>& values) {
      return HeldPiece{true, p.dtype, to_bytes(p.dtype, values)};
    };
    std::size_t next = 0;
    for (const std::int64_t size : p.layout.own) {
      given.counted.push_back(size < 0 ? HeldPiece{false, p.dtype, {}}
                                       : held(call.counted[r][next++]));
    }
    while (next < call.counted[r].size()) given.counted.push_back(held(call.counted[r][next++]));
    for (const auto& copy : call.copies[r]) {
      const DType dtype = p.dtype_of_copies();
      given.copies.push_back({true, dtype, to_bytes(dtype, copy)});
    }
    // A place without a tensor among the copies, too, where there is one among the others.
    if (std::ranges::count(p.layout.own, -1) > 0) given.copies.push_back({false, p.dtype, {}});
  }
  return one;
}

Cause cause_of_norm(const Problem& p, const Call& call, int rank, double seen) {
  if (const auto odd = cause_by_finiteness({&seen, 1}, {&call.norm, 1}, 0)) return *odd;
  if (std::isinf(seen) || (seen == 0 && call.norm > 0)) {
    return {"squares_in_a_small_type",
            "the squares left the range of the type in which they were summed; sum them in "
            "float64, whatever the type of the gradients"};
  }
  const auto r = static_cast<std::size_t>(rank);
  const std::vector<double> squares = call.squares();
  const double all = std::accumulate(squares.begin(), squares.end(), 0.0);
  double norms = 0, norms_of_tensors = 0, copies = 0, most = 0, magnitudes = 0;
  double first_tensors = 0, elements = 0;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    norms += std::sqrt(squares[i]);
    copies += squares_of(call.copies[i]);
    if (!call.counted[i].empty()) first_tensors += squares_of(call.counted[i].front());
    for (const auto& tensor : call.counted[i]) {
      elements += static_cast<double>(tensor.size());
      norms_of_tensors += std::sqrt(squares_of(tensor));
      for (const double value : tensor) {
        most = std::max(most, std::fabs(value));
        magnitudes += std::fabs(value);
      }
    }
  }
  std::vector<Mistake<double>> mistakes{
      {{"copies_counted",
        "the copies were counted, so what several ranks hold is in the norm several times"},
       std::sqrt(all + copies)},
      {{"own_norm", "this is the norm of this rank's own pieces: no sum over the ranks"},
       std::sqrt(squares[r])},
      {{"own_norm", "this is the norm of this rank's own pieces and copies"},
       std::sqrt(squares[r] + squares_of(call.copies[r]))},
      {{"sums_norms", "the ranks' norms were added; squares add, norms do not: √(Σ n²), not Σ n"},
       norms},
      {{"sums_norms", "the norms of the tensors were added; squares add, norms do not"},
       norms_of_tensors},
      {{"largest_norm", "this is the largest norm of a rank, not that of all pieces together"},
       std::sqrt(std::ranges::max(squares))},
      {{"averaged", "the squares were averaged over the ranks; they have to be summed"},
       std::sqrt(all / p.size())},
      {{"no_root", "this is the sum of squares; the norm is its root"}, all},
      {{"no_root", "the root was taken twice"}, std::sqrt(call.norm)},
      {{"averaged", "the squares were divided by the number of elements; the norm is no mean"},
       std::sqrt(all / elements)},
      {{"first_tensor", "this is the norm of the first tensor of each rank"},
       std::sqrt(first_tensors)},
      {{"summed_twice", "the squares were summed over the ranks twice"}, std::sqrt(all * p.size())},
      {{"returns_the_factor", "this is the factor; return the norm before scaling"}, call.factor},
      {{"norm_after", "this is the norm after scaling; return the one before"},
       call.norm * call.factor},
      {{"largest_element", "this is the largest magnitude of an element"}, most},
      {{"magnitudes", "these are the magnitudes, added: the L1 norm"}, magnitudes}};
  for (int group = 0; group < 2 && p.columns > 0; ++group) {
    double of_group = 0;
    for (const int peer : p.peers(rank, group)) of_group += squares[static_cast<std::size_t>(peer)];
    mistakes.push_back(
        {{"one_group", group == 0 ? "the squares were summed over the first group only"
                                  : "the squares were summed over the second group only"},
         std::sqrt(of_group)});
  }
  double roots = 0;  // of the second group, each of squares over a first group
  for (const int peer : p.columns > 0 ? p.peers(rank, 1) : std::vector<int>()) {
    double of_first = 0;
    for (const int other : p.peers(peer, 0)) of_first += squares[static_cast<std::size_t>(other)];
    roots += std::sqrt(of_first);
  }
  mistakes.push_back({{"root_of_each_group",
                       "the root was taken after each group, and roots were added over the second "
                       "one; sum squares over all groups, and take the root once"},
                      std::sqrt(roots)});
  for (const auto& [cause, gives] : mistakes) {
    if (is_close(seen, gives, 1e-9) && !is_close(gives, call.norm, 1e-9)) return cause;
  }
  if (is_close(seen, call.norm, 1e-2)) {
    return {"rounded_norm",
            "only the last digits are wrong: the squares were summed in a type smaller than "
            "float64, or something was added under the root"};
  }
  return {"other_norm", "it is not the root of the sum of all squares, each counted once"};
}

namespace {

// The factors by which usual mistakes multiply a tensor.
std::vector<std::pair<Cause, std::function<double(const std::vector<double>& tensor)>>> scalings(
    const Call& call, int rank, List list) {
  const double norm = call.norm, most = call.max_norm;
  const double of_rank = std::sqrt(call.squares()[static_cast<std::size_t>(rank)]);
  const auto always = [](double factor) {
    return [factor](const std::vector<double>&) { return factor; };
  };
  return {
      {list == List::copies
           ? Cause{"copies_left",
                   "the copies were not scaled, so they are no longer equal to the tensors that "
                   "other ranks have scaled"}
           : Cause{"not_scaled",
                   "these tensors were not scaled; a rank without groups scales, too"},
       always(1)},
      {{"no_epsilon", "the factor is max_norm / norm; the contract adds 1e-6 to the norm"},
       always(most / norm)},
      {{"own_factor", "the factor was made from the norm of this rank's own pieces"},
       always(std::min(1.0, most / (of_rank + 1e-6)))},
      {{"each_by_itself",
        "each tensor was scaled by its own norm, which turns the gradient into another direction"},
       [most](const std::vector<double>& tensor) {
         return std::min(1.0, most / (std::sqrt(squares_of(tensor)) + 1e-6));
       }},
      {{"scaled_twice", "these tensors were scaled twice"}, always(call.factor * call.factor)},
      {{"by_the_square", "the factor was made from the sum of squares, without its root"},
       always(most / (norm * norm + 1e-6))},
      {{"by_max_norm", "the elements were multiplied by max_norm"}, always(most)}};
}

// Why tensors may not be scaled at all, and were.
std::optional<Cause> needless_scaling(const Call& call) {
  if (!std::isfinite(call.norm)) {
    return Cause{"scaled_by_no_number",
                 "max_norm / norm is 0 or NaN here, and everything was multiplied by it; leave the "
                 "gradients as they are, so that whoever looks at the norm can skip the step"};
  }
  if (call.max_norm <= 0) {
    return Cause{"scaled_to_nothing", "a max_norm of 0 or below asks for the norm alone"};
  }
  if (call.norm + 1e-6 > call.max_norm) return std::nullopt;
  return Cause{"scaled_up",
               "the norm is below max_norm, so nothing is to be scaled; a factor above 1 is left "
               "out"};
}

}  // namespace

Cause cause_of_values(const Call& call, int rank, List list, const Elements& seen) {
  const auto& lists = list == List::copies ? call.copies : call.counted;
  const Elements& before = lists[static_cast<std::size_t>(rank)];
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (seen[k].size() != before[k].size()) return {"length", "the size of a tensor changed"};
  }
  if (auto cause = needless_scaling(call)) return *std::move(cause);
  // A story is told where it explains all tensors of the list.
  const auto given_by = [&](const auto& change, double within) {
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (std::size_t e = 0; e < before[k].size(); ++e) {
        if (!is_close(seen[k][e], change(before[k], before[k][e]), within)) return false;
      }
    }
    return true;
  };
  for (const auto& [cause, factor] : scalings(call, rank, list)) {
    const auto scaled = [&](const auto& tensor, double value) { return value * factor(tensor); };
    if (given_by(scaled, 1e-10)) return cause;
  }
  const auto right = [&](const auto&, double value) { return value * call.factor; };
  if (given_by(right, 1e-5)) {
    return {"nearly",
            "only the last digits are wrong: the factor was rounded to a smaller type, or another "
            "number than 1e-6 was added to the norm"};
  }
  const auto cut_off = [&](const auto&, double value) {
    return std::clamp(value, -call.max_norm, call.max_norm);
  };
  if (given_by(cut_off, 1e-10)) {
    return {"clamped",
            "each element was cut off at max_norm; that is clipping by value, and turns the "
            "gradient into another direction"};
  }
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (seen[k] != before[k] || before[k].empty()) continue;
    return {"some_left", "some tensors were changed, and others were left as they were"};
  }
  return {"other_factor", "these elements are not what they were, times max_norm / (norm + 1e-6)"};
}

}  // namespace lockstep::grader::clip_global_norm
