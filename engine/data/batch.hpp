// How a dataset writes a batch: on the host, in the type that was asked for, and then where it was
// asked for. For the implementations of Dataset.
#pragma once

#include "engine/base/convert.hpp"
#include "engine/data/dataset.hpp"

namespace lockstep::data {

// write.template operator()<T>() with T the type of the inputs.
//   Throws  ContractError unless the inputs are floating point, and on a device without numbers
template <typename Write>
void write_inputs(const Batch& made, const Device& device, Write&& write) {
  LOCKSTEP_CHECK(!is_integer(made.inputs.dtype()), "batch: inputs are floating point, not ",
                 name_of(made.inputs.dtype()));
  LOCKSTEP_CHECK(device.has_numbers(), "batch: the device '", device.name(),
                 "' has no numbers; make tensors of these shapes there instead");
  visit_dtype(made.inputs.dtype(), write);
}

inline Batch to_device(const Batch& made, Device& device) {
  return {lockstep::to_device(made.inputs, device), lockstep::to_device(made.labels, device)};
}

}  // namespace lockstep::data
