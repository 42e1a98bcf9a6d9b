// The exam of quantize_int8: the nearest multiple of each scale where it is known exactly, else the
// sum within half a scale a rounding; chunks that do not spoil each other; and a quarter of
// float32's bytes, the first exchange in flight when the function returns.
#include "grader/parts/10_compression/quantize_int8/case.hpp"

#include <cmath>
#include <limits>

#include "grader/exam/lossy/checks.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/10_compression/quantize_int8/oracle.hpp"

namespace lockstep::grader::quantize_int8 {
namespace {

using Family = LossyFamily<QuantizeSettings>;
using Problem = Family::Problem;
using Contract = LossyContract<QuantizeSettings>;

Chunks chunks_of(const Problem& p) { return {p.count, p.members.size(), p.settings.chunk}; }

void compare_sums(CaseRunner& runner, const Played& played, const Problem& p, const LossySeen& seen,
                  const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    Right right = right_sum(seen, call, chunks_of(p));
    const bool half = p.dtype == DType::bfloat16 || p.dtype == DType::float16;
    if (half) round_result(right, p.dtype);
    if (p.count < 1'000) {  // the codes of more take longer than the case
      right.part = chunks_of(p).part();
      if (p.members.size() > 1)
        right.unrounded = sum_of_decoded(seen.gradients[call], chunks_of(p));
    }
    check_result(runner, played, seen, call, right);
  }
}

const Cause other_codes{"other_codes",
                        "the scale of a chunk is its largest magnitude, of what is sent now (a "
                        "rank's elements, or their sum), / 127, and 2^-126 at least; a code is the "
                        "nearest multiple; scales lie behind the codes, 4 bytes each, and a chunk "
                        "counts from the beginning of its part"};

// The large numbers of ranks 0 and 1 cancel before the small ones of the others are added.
void compare_order(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  Right right{.name = "the sum in the order of ranks",
              .values = nearest_multiples(seen.gradients[0], chunks_of(p)),
              .allowed = "float32 rounds scales and products"};
  for (const double value : right.values) right.tolerance.push_back(1e-6 * std::fabs(value));
  right.otherwise = other_codes;
  check_result(runner, played, seen, 0, right);
}

// If quotients are known, so is each code. Float32 rounds scales and products, each by 2^-24 of
// them; twice, with room for a scale that is multiplied instead of divided by.
void compare_codes(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    const auto& gradients = seen.gradients[call];
    Right right{.name = "the sum of the nearest multiples of each rank's scale",
                .values = nearest_multiples(gradients, chunks_of(p)),
                .allowed = "float32 rounds scales and products"};
    for (const double value : right.values) right.tolerance.push_back(1e-6 * std::fabs(value));
    right.mistakes = mistakes_of_sum(seen, call, right.values);
    right.mistakes.push_back(
        {{"own_part_exact",
          "the owner of a part adds its own elements as they are; it must decode its own codes, "
          "as those of the others"},
         own_part_as_it_is(gradients, chunks_of(p))});
    const auto part = static_cast<std::size_t>(chunks_of(p).part());
    const Numbers unrounded = sum_of_decoded(gradients, chunks_of(p));
    for (std::size_t owner = 0; p.members.size() > 1 && owner < gradients.size(); ++owner) {
      Numbers kept = right.values;
      for (std::size_t i = owner * part; i < std::min(kept.size(), (owner + 1) * part); ++i) {
        kept[i] = unrounded[i];
      }
      right.mistakes.push_back(
          {{"own_part_not_decoded",
            text("rank ", owner, " keeps the sum of its own part, and all others decode the codes ",
                 "of it that it sent; it must decode its own codes, too")},
           kept});
    }
    right.otherwise = other_codes;
    check_result(runner, played, seen, call, right);
  }
}

void compare_special(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes&) {
  Right right = right_sum(seen, 0, chunks_of(p));
  right.name = "the sum, NaN in all of a chunk where a rank brings NaN or infinity,";
  right.mistakes.clear();
  right.otherwise = {"not_kept",
                     "a chunk with NaN or infinity has no scale and no codes: all of it is NaN, a "
                     "diverged run must not look healthy; the chunks beside it are not affected"};
  check_result(runner, played, seen, 0, right);
}

Wire wire_of(const Problem& p) {
  const std::int64_t part = chunks_of(p).part();
  const std::int64_t scales = (part + p.settings.chunk - 1) / p.settings.chunk;
  const int others = p.members.size() - 1;
  return {.bytes = 2.0 * others * static_cast<double>(part + 4 * scales),
          .formula = text("2(N-1) blocks of ", part, " codes and ", scales,
                          scales == 1 ? " scale" : " scales"),
          .collectives = 2,
          .made_of = "one all_to_all and one all_gather",
          .more = "every rank sends all its codes to all others, or a sum travels as float32",
          .less = "the scales, or a part of the tensor"};
}

Numbers usual_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_numbers(p.count, salt, rank, call);
}

// Each chunk has its step, and each rank a multiple of it. A chunk begins with 127 steps; the
// others are codes that all ranks share, up to three eighths beside them. So all codes are known,
// and so are the scales of the sum.
Numbers known_codes(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values(static_cast<std::size_t>(p.count));
  const Chunks chunks = chunks_of(p);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const std::uint64_t bits = keyed_bits(keyed_bits(salt, call), k);
    const double code = static_cast<double>(bits % 253) - 126;
    const auto of_rank = keyed_bits(bits, static_cast<std::uint64_t>(rank));
    const double beside = (static_cast<double>(of_rank % 7) - 3) / 8;
    const std::int64_t begin = chunks.around(i).first;
    const int far = call == 0 ? 0 : -80;  // the second call has very small numbers
    const double step = std::ldexp(rank + 1, far + static_cast<int>(begin / chunks.chunk % 3));
    values[k] = step * (begin == i ? 127 : code + beside);
  }
  return values;
}

// Ranks 2j and 2j+1, of an even number, cancel but for a little, which only the first two have.
// So the scale of the sum is less than a quarter of those of the ranks, and what their codes lose
// is more than one of its. The largest sum of a chunk is 31, so that no quotient is near a half.
Numbers nearly_cancelling(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values(static_cast<std::size_t>(p.count));
  const Chunks chunks = chunks_of(p);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k), place = i - chunks.around(i).first;
    const std::uint64_t bits = keyed_bits(keyed_bits(salt, call), k);
    const std::uint64_t of_rank = keyed_bits(bits, static_cast<std::uint64_t>(rank));
    double code = place == 0 ? 127 : place == 1 ? 100 : static_cast<double>(bits % 96) - 48;
    double left = place == 0 ? 0 : place == 1 ? 31 : static_cast<double>(bits / 96 % 61) - 30;
    if (rank > 1) left = 0;
    if (rank % 2 == 1) code = left - code;
    if (place > 0) code += (static_cast<double>(of_rank % 7) - 3) / 8;
    values[k] = code;
  }
  return values;
}

// So small that each is a multiple of the least scale, 2^-126: a smaller scale has fewer bits.
Numbers least_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  for (double& value : values) value = std::ldexp(std::fmod(value, 9), -126);
  return values;
}

// Two large numbers that cancel, on ranks 0 and 1. Beside them, float32 loses all others.
Numbers cancelling(const Problem& p, std::uint64_t, int rank, std::size_t) {
  const double value = rank == 0 ? 0x1p40 : rank == 1 ? -0x1p40 : rank;
  return Numbers(static_cast<std::size_t>(p.count), value);
}

// Chunks of 4: one with an outlier, one of zeros on all ranks, one of zeros on rank 0 alone.
Numbers uneven_chunks(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  if (values.size() > 1) values[1] = 1e9;
  for (std::size_t i = 8; i < values.size() && i < 16; ++i) {
    if (i < 12 || rank == 0) values[i] = 0;
  }
  return values;
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// In chunks of 2, a NaN and an infinity on the last rank.
Numbers special_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  if (rank != p.members.size() - 1) return values;
  if (values.size() > 5) values[5] = nan;
  if (values.size() > 8) values[8] = -inf;
  return values;
}

auto contract_with(decltype(Contract::compare) compare,
                   decltype(Contract::gradient) gradient = usual_numbers) {
  return Family::ranks_contract(
      {.gradient = std::move(gradient), .state = {}, .compare = std::move(compare)});
}

Problem usual(CaseRunner& runner, int ranks, std::int64_t count, std::int64_t chunk) {
  Problem p;
  p.members = whole_world(ranks);
  p.settings.chunk = chunk;
  p.count = count;
  p.calls = 2;
  p.schedule_seed = runner.draw();
  return p;
}

void codes(CaseRunner& runner) {
  for (const int n : {2, 3, 1, 4, 8}) {
    judge(runner, contract_with(compare_codes, known_codes), usual(runner, n, 13 * n + 5, 8));
  }
  for (const int n : {2, 4}) {
    judge(runner, contract_with(compare_codes, nearly_cancelling), usual(runner, n, 24 * n, 8));
  }
  Problem order = usual(runner, 4, 11, 2);
  order.calls = 1;
  judge(runner, contract_with(compare_order, cancelling), order);
}

// Chunks of 1, 7 and 256.
Problem in_turn(CaseRunner& runner, int ranks, std::int64_t count) {
  return usual(runner, ranks, count, count >= 1'000 ? 256 : count % 3 == 0 ? 1 : 7);
}

void outliers(CaseRunner& runner) {
  for (const int n : {3, 1}) {
    judge(runner, contract_with(compare_sums, uneven_chunks), usual(runner, n, 24, 4));
  }
  judge(runner, contract_with(compare_codes, least_numbers), usual(runner, 3, 40, 8));
}

void special(CaseRunner& runner) {
  for (const int n : {1, 3}) {
    Problem p = usual(runner, n, 16, 2);
    p.calls = 1;
    judge(runner, contract_with(compare_special, special_numbers), p);
  }
}

const LossyPart<QuantizeSettings> what_is_asked{
    .any_ranks =
        "on 1 to 8 and 13 ranks the tensor becomes the sum, within half a scale a "
        "rounding, with the same bits on all",
    .any_size = "any number of elements, also none and more than 65,536, and chunks of any size",
    .types =
        "a subgroup has parts of its own, and float64 and the halves come back as what they "
        "were",
    .wire_sentence =
        "a quarter of float32's bytes and the scales travel, in an all_to_all and an all_gather",
    .starts =
        "the first exchange is in flight when the function returns, and nothing was waited for",
    .usual = in_turn,
    .contract = {.gradient = usual_numbers, .compare = compare_sums},
    .wire = wire_of,
    .dtypes = {DType::float64, DType::float32, DType::bfloat16, DType::float16},
    .extremes = [](CaseRunner& runner) {
      std::vector<Problem> all;
      for (const auto& [count, chunk] : {std::pair{1, 1}, {1, 256}, {64, 1}, {64, 64}, {64, 5}}) {
        all.push_back(usual(runner, 3, count, chunk));
      }
      return all;
    }};

}  // namespace

Exam exam() {
  return lossy_exam(
      what_is_asked,
      {{"an outlier spoils its own chunk only, and a chunk of zeros stays zero; no scale is below "
        "2^-126",
        outliers},
       {"a chunk with NaN or infinity is NaN as a whole, and the others are not affected",
        special}},
      {{"each element is the nearest multiple of its scale, before the sum in the order of ranks "
        "and after it",
        codes}});
}

}  // namespace lockstep::grader::quantize_int8
