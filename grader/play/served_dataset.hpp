// A dataset whose samples stay with the judge: a rank has a sample only after it has asked for it,
// so the judge knows who read what, and when.
#pragma once

#include <algorithm>

#include "engine/base/fields.hpp"
#include "engine/data/dataset.hpp"
#include "grader/play/ask.hpp"

namespace lockstep::grader {

// The shape of the dataset, which a rank knows without asking: I inputs and T labels of a sample.
struct DatasetShape {
  std::int64_t size = 0, inputs = 1, labels = 1, classes = 2;
};

template <typename Archive>
void fields(Archive& archive, DatasetShape& shape) {
  archive(shape.size, shape.inputs, shape.labels, shape.classes);
}

// The values of a batch of samples, as they are answered: inputs and labels, flat.
struct SampleValues {
  std::vector<double> inputs;
  std::vector<std::int64_t> labels;
};
template <typename Archive>
void fields(Archive& archive, SampleValues& values) {
  archive(values.inputs, values.labels);
}

// The batch that they are, as a dataset of this shape makes it.
inline data::Batch batch_of(const SampleValues& values, const DatasetShape& shape, DType dtype,
                            Device& device) {
  const std::int64_t count = std::ssize(values.labels) / shape.labels;
  const Shape of_labels = shape.labels == 1 ? Shape{count} : Shape{count, shape.labels};
  data::Batch made{from_values(values.inputs, {count, shape.inputs}, dtype, device),
                   empty(of_labels, DType::int64, device)};
  std::copy(values.labels.begin(), values.labels.end(), made.labels.data<std::int64_t>().begin());
  return made;
}

// Answered with SampleValues.
struct DatasetCall {
  static constexpr const char* service = "dataset";
  std::vector<std::int64_t> indices;
};
template <typename Archive>
void fields(Archive& archive, DatasetCall& call) {
  archive(call.indices);
}

class ServedDataset final : public data::Dataset {
 public:
  // of_model: the only type that is worth asking for
  ServedDataset(sim::Port& port, const DatasetShape& shape, DType of_model)
      : port_(port), shape_(shape), of_model_(of_model) {}

  std::int64_t size() const override { return shape_.size; }
  std::int64_t inputs() const override { return shape_.inputs; }
  std::int64_t labels() const override { return shape_.labels; }
  std::int64_t classes() const override { return shape_.classes; }

  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    for (const std::int64_t index : indices) {
      LOCKSTEP_CHECK(index >= 0 && index < shape_.size, "dataset: sample ", index, " of ",
                     shape_.size, "; samples count from 0");
    }
    LOCKSTEP_CHECK(dtype == of_model_, "dataset: a batch of ", name_of(dtype),
                   " was asked for, and the model is of ", name_of(of_model_),
                   "; its type is that of model.parameters().front()->value");
    const DatasetCall call{{indices.begin(), indices.end()}};
    return batch_of(ask<SampleValues>(port_, call), shape_, dtype, device);
  }

 private:
  sim::Port& port_;
  DatasetShape shape_;
  DType of_model_;
};

}  // namespace lockstep::grader
