// Evaluates the judge's samples on one device.
#pragma once

#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/dataset_service.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

namespace lockstep::grader::evaluate_distributed {

struct EvaluationProblem {
  Members members = whole_world(2);
  std::int64_t samples = 10, labels = 1;
  int evaluations = 1;  // each of a model of its own
  DType dtype = DType::float64;
  std::uint64_t schedule_seed = 0;
  Odd odd = Odd::none;  // what the samples hold

  int ranks() const { return members.size(); }
  DatasetShape shape() const { return {samples, 5, labels, 4}; }
  std::string description() const {
    return text(members.description(), ", ", counted(samples, "sample"),
                labels > 1 ? text(" of ", labels, " labels") : "",
                evaluations > 1 ? text(", ", evaluations, " evaluations") : "",
                dtype == DType::float32 ? ", float32" : "", name_of(odd));
  }
};

struct EvaluationNumbers {
  double loss = 0, accuracy = 0;
};

// The seed of an evaluation's model.
inline std::uint64_t model_seed(std::uint64_t salt, std::size_t evaluation) {
  return keyed_bits(salt + 7, evaluation) >> 32;
}

EvaluationNumbers right_numbers(const EvaluationProblem& p, const HiddenSamples& samples,
                                std::uint64_t model_seed);

// Up to what another order of summation changes.
bool near(const EvaluationProblem& p, const EvaluationNumbers& seen,
          const EvaluationNumbers& expected);

}  // namespace lockstep::grader::evaluate_distributed
