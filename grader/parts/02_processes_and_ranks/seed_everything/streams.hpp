// Which questions share a stream of random numbers, and why two answers are wrong together.
#pragma once

#include <array>
#include <string>

#include "grader/judge/causes.hpp"
#include "grader/parts/02_processes_and_ranks/seed_everything/case.hpp"

namespace lockstep::grader::seed_everything {

inline constexpr std::array<std::uint64_t Seeds::*, 5> purposes{
    &Seeds::model, &Seeds::sampler, &Seeds::dropout, &Seeds::dropout_sharded, &Seeds::augmentation};
inline constexpr std::array<const char*, 5> names{"model", "sampler", "dropout", "dropout_sharded",
                                                  "augmentation"};
enum Purpose : std::size_t { model, sampler, dropout, dropout_sharded, augmentation };

// A question and what one process answered.
struct SeedAnswer {
  SeedQuestion question;
  Seeds seeds;
  int process = 0;
};

// The inputs on which a stream depends; numbers that do not matter for a purpose are -1. Two
// questions with the same stream must get the same seed.
using Stream = std::array<std::int64_t, 5>;  // run seed, data, tensor, pipeline, worker
Stream stream_of(const SeedQuestion& q, std::size_t purpose);

std::string text_of(const SeedQuestion& q);

// `a` and `b` should share the stream and do not.
Cause cause_of_difference(std::size_t purpose, const SeedAnswer& a, const SeedAnswer& b);
// `a` and `b` should have streams of their own and share one.
Cause cause_of_sharing(std::size_t purpose, const SeedAnswer& a, const SeedAnswer& b);

}  // namespace lockstep::grader::seed_everything
