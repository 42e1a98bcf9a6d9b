// A dataset whose samples stay with the judge: a rank has a sample only after it has asked for it,
// so the judge knows who read what, and when.
#pragma once

#include <algorithm>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/data/dataset.hpp"
#include "engine/sim/request.hpp"

namespace lockstep::grader {

// What a rank knows of the dataset without asking: I inputs and T labels of a sample.
struct DatasetShape {
  std::int64_t size = 0, inputs = 1, labels = 1, classes = 2;
};

// The service "dataset": asked for a list of indices, answers with inputs and labels, flat.
inline constexpr const char* dataset_service = "dataset";

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
    const Bytes argument = ByteWriter().put_list(indices).take();
    sim::Request request;
    request.op = sim::Op::service;
    request.name = dataset_service;
    request.data.bytes = argument;
    const sim::Reply reply = port_.call(request);
    if (reply.status != sim::Status::ok) throw Error(reply.error);
    ByteReader answer(reply.data.bytes);
    const auto inputs = answer.get_list<double>();
    const auto labels = answer.get_list<std::int64_t>();
    const std::int64_t count = std::ssize(indices);
    const Shape of_labels = shape_.labels == 1 ? Shape{count} : Shape{count, shape_.labels};
    data::Batch made{from_values(inputs, {count, shape_.inputs}, dtype, device),
                     empty(of_labels, DType::int64, device)};
    std::copy(labels.begin(), labels.end(), made.labels.data<std::int64_t>().begin());
    return made;
  }

 private:
  sim::Port& port_;
  DatasetShape shape_;
  DType of_model_;
};

inline void write(ByteWriter& out, const DatasetShape& shape) {
  out.put(shape.size).put(shape.inputs).put(shape.labels).put(shape.classes);
}
inline DatasetShape read_dataset_shape(ByteReader& in) {
  DatasetShape shape;
  shape.size = in.get<std::int64_t>();
  shape.inputs = in.get<std::int64_t>();
  shape.labels = in.get<std::int64_t>();
  shape.classes = in.get<std::int64_t>();
  return shape;
}

}  // namespace lockstep::grader
