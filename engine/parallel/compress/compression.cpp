#include "engine/parallel/compress/compression.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "engine/base/nearest.hpp"
#include "engine/base/random.hpp"
#include "engine/parallel/compress/cast.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/mean.hpp"
#include "engine/parallel/compress/power_sgd.hpp"
#include "engine/parallel/compress/quantize.hpp"
#include "engine/parallel/compress/random_k.hpp"
#include "engine/parallel/compress/top_k.hpp"

namespace lockstep::compress {
namespace {

using collectives::GradientBucket;

constexpr std::int64_t matrix_rank_max = 65'536;

// The parameter behind the colon.
enum class Needs : std::uint8_t { nothing, fraction, rank };

struct Row {
  Compressor compressor;
  std::string_view name;
  Needs needs;
};

constexpr std::array compressor_rows{
    Row{Compressor::none, "none", Needs::nothing},
    Row{Compressor::fp16, "fp16", Needs::nothing},
    Row{Compressor::bf16, "bf16", Needs::nothing},
    Row{Compressor::int8, "int8", Needs::nothing},
    Row{Compressor::top_k, "topk", Needs::fraction},
    Row{Compressor::random_k, "randomk", Needs::fraction},
    Row{Compressor::power_sgd, "powersgd", Needs::rank},
};

const Row& row_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : compressor_rows) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw UsageError(text("--compress ", name,
                        " does not exist; choose none, fp16, bf16, int8, "
                        "topk:F, randomk:F or powersgd:R",
                        did_you_mean(name, names)));
}

template <typename Number>
bool reads(const std::string& digits, Number& number) {
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && stopped == end;
}

class CastHook final : public collectives::CommHook {
 public:
  explicit CastHook(DType half) : half_(half) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    return cast_reduce(group, bucket.flat, half_);
  }

 private:
  DType half_;
};

class QuantizeHook final : public collectives::CommHook {
 public:
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    bucket.flat.scale_(1.0 / group.size());
    return quantized_all_reduce(group, bucket.flat);
  }
};

class TopKHook final : public collectives::CommHook {
 public:
  TopKHook(double fraction, ErrorFeedback feedback) : fraction_(fraction), residuals_(feedback) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    const Tensor residual = residuals_.next(bucket);
    if (!residual.defined()) return mean_reduce(group, bucket.flat);
    return top_k_reduce(group, bucket.flat, residual, fraction_);
  }

 private:
  double fraction_;
  Residuals residuals_;
};

class RandomKHook final : public collectives::CommHook {
 public:
  RandomKHook(double fraction, std::uint64_t seed) : fraction_(fraction), seed_(seed) {}
  comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) override {
    const std::uint64_t of_pass = random_bits(seed_, static_cast<std::uint64_t>(passes_));
    if (bucket.last) ++passes_;
    return random_k_reduce(group, bucket.flat, entries_of(bucket.flat.numel(), fraction_),
                           random_bits(of_pass, bucket.index));
  }

 private:
  double fraction_;
  std::uint64_t seed_;
  std::int64_t passes_ = 0;
};

}  // namespace

Compression compression_of(const std::string& words) {
  const std::size_t colon = words.find(':');
  const Row& row = row_of(words.substr(0, colon));
  const std::string behind = colon == std::string::npos ? "" : words.substr(colon + 1);
  Compression compression{row.compressor};
  if (row.needs == Needs::nothing && colon != std::string::npos) {
    throw UsageError(
        text("--compress ", words, ": ", row.name, " takes no number; pass --compress ", row.name));
  }
  if (row.needs == Needs::fraction && !(reads(behind, compression.fraction) &&
                                        compression.fraction > 0 && compression.fraction <= 1)) {
    throw UsageError(text("--compress ", words, ": ", row.name,
                          " needs the fraction of the entries that travel, above 0 and up to 1, "
                          "such as ",
                          row.name, ":0.01"));
  }
  if (row.needs == Needs::rank && !(reads(behind, compression.rank) && compression.rank >= 1 &&
                                    compression.rank <= matrix_rank_max)) {
    throw UsageError(text("--compress ", words, ": ", row.name,
                          " needs the rank of the matrices that travel, from 1 to ",
                          matrix_rank_max, ", such as ", row.name, ":4"));
  }
  return compression;
}

std::string text_of(const Compression& compression) {
  const Row& row = compressor_rows.at(static_cast<std::size_t>(compression.compressor));
  const char* feedback =
      compression.feedback == ErrorFeedback::off ? " without error feedback" : "";
  switch (row.needs) {
    case Needs::fraction:
      return text(row.name, ":", compression.fraction, feedback);
    case Needs::rank:
      return text(row.name, ":", compression.rank, feedback);
    case Needs::nothing:
      break;
  }
  return std::string(row.name);
}

bool keeps_residuals(const Compression& compression) {
  return compression.feedback == ErrorFeedback::on &&
         (compression.compressor == Compressor::top_k ||
          compression.compressor == Compressor::power_sgd);
}

std::unique_ptr<collectives::CommHook> make_hook(const Compression& compression,
                                                 std::uint64_t seed) {
  switch (compression.compressor) {
    case Compressor::fp16:
      return std::make_unique<CastHook>(DType::float16);
    case Compressor::bf16:
      return std::make_unique<CastHook>(DType::bfloat16);
    case Compressor::int8:
      return std::make_unique<QuantizeHook>();
    case Compressor::top_k:
      return std::make_unique<TopKHook>(compression.fraction, compression.feedback);
    case Compressor::random_k:
      return std::make_unique<RandomKHook>(compression.fraction, seed);
    case Compressor::power_sgd:
      return make_power_sgd(
          {.rank = compression.rank, .seed = seed, .feedback = compression.feedback});
    case Compressor::none:
      break;
  }
  throw ContractError("compress::make_hook: there is no hook for no compression; leave it out");
}

}  // namespace lockstep::compress
