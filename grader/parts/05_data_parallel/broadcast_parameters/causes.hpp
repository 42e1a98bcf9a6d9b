// The models that are to be made equal, and which of the usual mistakes leaves a rank with other
// numbers than the source's.
#pragma once

#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/judge/causes.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/broadcast_parameters/case.hpp"

namespace lockstep::grader::broadcast_parameters {

struct TensorPlan {
  DType dtype = DType::float32;
  std::int64_t count = 0;
};

struct ModelPlan {
  int source = 0;  // a rank of the group
  std::vector<TensorPlan> parameters, buffers;
  bool odd = false;  // among the numbers are -0, NaN, infinity and one below the normal ones

  std::size_t size() const { return parameters.size() + buffers.size(); }
  const TensorPlan& tensor(std::size_t i) const {
    return i < parameters.size() ? parameters[i] : buffers[i - parameters.size()];
  }
  std::string name(std::size_t i) const {
    return i < parameters.size() ? text("parameter ", i) : text("buffer ", i - parameters.size());
  }
};

struct ReplicaProblem {
  Members members;
  std::vector<ModelPlan> models;
  std::uint64_t schedule_seed = 0;

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const ModelPlan& model : models) {
      for (std::size_t i = 0; i < model.size(); ++i) {
        const TensorPlan& tensor = model.tensor(i);
        sum += tensor.count * static_cast<std::int64_t>(bytes_of(tensor.dtype));
      }
    }
    return sum;
  }
  std::string description() const {
    const ModelPlan& first = models.front();
    return text(members.description(), ", ", counted(std::ssize(first.parameters), "parameter"),
                " and ", counted(std::ssize(first.buffers), "buffer"), ", source ", first.source,
                first.odd ? ", numbers of every kind" : "",
                models.size() > 1 ? text(", then another model from ", models[1].source) : "");
  }
};

// Why tensor i of this model has other numbers on `rank` than on the source: of what all ranks have
// now, and what they brought.
Cause likely_cause(const ReplicaProblem& problem, const ModelPlan& model, std::size_t i, int rank,
                   const std::vector<TensorReport>& of_all, const std::vector<Bytes>& of_ranks);

}  // namespace lockstep::grader::broadcast_parameters
