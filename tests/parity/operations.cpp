#include "tests/parity/operations.hpp"

#include <array>
#include <list>

namespace lockstep::test {
namespace {

Operation activation(ops::Activation kind) {
  return [kind](Tape& tape, const Inputs& in) { return autograd::activate(tape, in["x"], kind); };
}

Operation cross_entropy(ops::Reduction reduction) {
  return [reduction](Tape& tape, const Inputs& in) {
    return autograd::cross_entropy(tape, in["logits"], in.constants.at("labels"), {reduction});
  };
}

std::map<std::string, Operation> all_operations() {
  using namespace autograd;
  using ops::Activation;
  return {
      {"relu", [](Tape& tape, const Inputs& in) { return relu(tape, in["x"]); }},
      {"gelu_tanh", activation(Activation::gelu)},
      {"gelu_erf", activation(Activation::gelu_exact)},
      {"silu", activation(Activation::silu)},
      {"tanh", activation(Activation::tanh)},
      {"sigmoid", activation(Activation::sigmoid)},
      {"add", [](Tape& tape, const Inputs& in) { return add(tape, in["a"], in["b"]); }},
      {"subtract", [](Tape& tape, const Inputs& in) { return subtract(tape, in["a"], in["b"]); }},
      {"multiply", [](Tape& tape, const Inputs& in) { return multiply(tape, in["a"], in["b"]); }},
      {"scale",
       [](Tape& tape, const Inputs& in) {
         return scale(tape, in["x"], in.constants.at("factor").item());
       }},
      {"sum", [](Tape& tape, const Inputs& in) { return sum(tape, in["x"]); }},
      {"mean", [](Tape& tape, const Inputs& in) { return mean(tape, in["x"]); }},
      {"linear", [](Tape& tape,
                    const Inputs& in) { return linear(tape, in["x"], in["weight"], in["bias"]); }},
      {"linear_no_bias",
       [](Tape& tape, const Inputs& in) { return linear(tape, in["x"], in["weight"]); }},
      {"matmul", [](Tape& tape, const Inputs& in) { return matmul(tape, in["a"], in["b"]); }},
      {"transpose", [](Tape& tape, const Inputs& in) { return transpose(tape, in["x"], 0, 1); }},
      {"narrow", [](Tape& tape, const Inputs& in) { return narrow(tape, in["x"], 1, 2, 3); }},
      {"concatenate",
       [](Tape& tape, const Inputs& in) {
         return concatenate(tape, std::array{in["a"], in["b"]}, 1);
       }},
      {"embedding",
       [](Tape& tape, const Inputs& in) {
         return embedding(tape, in["weight"], in.constants.at("tokens"));
       }},
      {"softmax", [](Tape& tape, const Inputs& in) { return softmax(tape, in["x"]); }},
      {"layer_norm",
       [](Tape& tape, const Inputs& in) {
         return layer_norm(tape, in["x"], in["weight"], in["bias"]);
       }},
      {"rms_norm",
       [](Tape& tape, const Inputs& in) { return rms_norm(tape, in["x"], in["weight"]); }},
      {"cross_entropy_mean", cross_entropy(ops::Reduction::mean)},
      {"cross_entropy_sum", cross_entropy(ops::Reduction::sum)},
      {"attention",
       [](Tape& tape, const Inputs& in) {
         return causal_attention(tape, in["qkv"], in.integer("heads"));
       }},
  };
}

}  // namespace

std::int64_t Inputs::integer(const std::string& name) const {
  return static_cast<std::int64_t>(constants.at(name).item());
}

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> all = all_operations();
  return all;
}

std::vector<Measured> run(const Case& one, DType dtype) {
  const auto operation = operations().find(one.operation);
  LOCKSTEP_CHECK(operation != operations().end(), "parity: no operation is called ", one.operation,
                 " here; add it to operations.cpp");
  Tape tape(GradMode::record);
  std::list<Parameter> parameters;  // by name; a list, for the tape holds pointers
  Inputs inputs{{}, one};
  for (const auto& [name, tensor] : one.tensors) {
    if (name == "y" || !one.tensors.contains("grad_" + name)) continue;
    parameters.push_back({name, tensor.to(dtype), {}, {}});
    inputs.values[name] = tape.leaf(parameters.back());
  }
  const Value y = operation->second(tape, inputs);
  const Tensor seen_y = y.tensor.clone();
  tape.backward(y, one.at("grad_y").to(dtype));

  // float32 lists the names in their order, of which y is the last.
  const Tensor& float32 = one.at("float32");
  std::vector<Measured> all;
  for (const Parameter& parameter : parameters) {
    const std::string name = "grad_" + parameter.name;
    all.push_back({one.operation, one.name + "/" + name,
                   relative_error(parameter.grad, one.at(name)),
                   float32.item(static_cast<std::int64_t>(all.size()))});
  }
  all.push_back({one.operation, one.name + "/y", relative_error(seen_y, one.at("y")),
                 float32.item(static_cast<std::int64_t>(all.size()))});
  return all;
}

}  // namespace lockstep::test
