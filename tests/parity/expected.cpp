#include "tests/parity/expected.hpp"

#include <algorithm>

#include "engine/checkpoint/safetensors.hpp"

namespace lockstep::test {

const Tensor& Case::at(const std::string& tensor) const {
  const auto found = tensors.find(tensor);
  LOCKSTEP_CHECK(found != tensors.end(), "parity: ", operation, "/", name, " has no ", tensor,
                 "; expected.py and the test disagree about names");
  return found->second;
}

std::map<std::string, Tensor> expected(const std::string& group, Device& device) {
  const checkpoint::SafetensorsFile file(LOCKSTEP_EXPECTED "/" + group + ".safetensors");
  std::map<std::string, Tensor> tensors;
  for (const checkpoint::TensorEntry& entry : file.tensors()) {
    tensors[entry.name] = file.load(entry, device);
  }
  return tensors;
}

std::vector<Case> expected_cases(const std::string& group, Device& device) {
  std::vector<Case> cases;
  for (auto& [path, tensor] : expected(group, device)) {  // in order of names
    const auto first = path.find('/'), last = path.rfind('/');
    const std::string operation = path.substr(0, first);
    const std::string name = path.substr(first + 1, last - first - 1);
    if (cases.empty() || cases.back().operation != operation || cases.back().name != name) {
      cases.push_back({operation, name, {}});
    }
    cases.back().tensors[path.substr(last + 1)] = tensor;
  }
  return cases;
}

double relative_error(const Tensor& seen, const Tensor& truth) {
  LOCKSTEP_CHECK(seen.shape() == truth.shape(), "parity: shape ", text_of(seen.shape()),
                 ", PyTorch's is ", text_of(truth.shape()));
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < truth.numel(); ++i) {
    const double d = std::abs(seen.item(i) - truth.item(i));
    if (std::isnan(d) || d > difference) difference = d;  // nothing is above a NaN: it stays
    largest = std::max(largest, std::abs(truth.item(i)));
  }
  return difference / (largest > 1e-9 ? largest : 316);
}

}  // namespace lockstep::test
