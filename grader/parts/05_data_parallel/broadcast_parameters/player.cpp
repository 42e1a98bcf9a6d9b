// Plays broadcast_parameters: models whose numbers the judge made, another set on each rank,
// allocated in an order that differs from rank to rank.
#include "grader/parts/05_data_parallel/broadcast_parameters/case.hpp"

#include <cstring>

#include "engine/base/random.hpp"
#include "engine/replicas/broadcast_parameters.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

class ReplicaModule final : public nn::Module {
 public:
  ReplicaModule(const Replica& replica, int rank, Device& device)
      : parameters_(replica.parameters.size()), buffers_(replica.buffers.size()) {
    const std::size_t trained = parameters_.size();
    const auto count = static_cast<std::int64_t>(trained + buffers_.size());
    for (const std::int64_t at : random_permutation(count, replica.allocation_seed)) {
      const auto i = static_cast<std::size_t>(at);
      if (i < trained) {
        parameters_[i] = std::make_unique<Parameter>();
        parameters_[i]->name = text("parameter ", i);
        parameters_[i]->value = made(replica.parameters[i], MemoryKind::parameters, device);
        parameters_[i]->grad = full(parameters_[i]->value.shape(), gradient(rank),
                                    replica.parameters[i].dtype, device, MemoryKind::gradients);
      } else {
        auto& buffer = buffers_[i - trained];
        buffer = std::make_unique<nn::Buffer>();
        buffer->name = text("buffer ", i - trained);
        buffer->value = made(replica.buffers[i - trained], MemoryKind::buffers, device);
      }
    }
  }

  Value forward(Tape&, const Value& input) override { return input; }
  std::vector<Parameter*> parameters() override { return pointers_of(parameters_); }
  std::vector<nn::Buffer*> buffers() override { return pointers_of(buffers_); }

  static double gradient(int rank) { return 3 + rank; }

 private:
  template <typename T>
  static std::vector<T*> pointers_of(const std::vector<std::unique_ptr<T>>& owned) {
    std::vector<T*> all;
    for (const auto& one : owned) all.push_back(one.get());
    return all;
  }

  static Tensor made(const ReplicaTensor& from, MemoryKind kind, Device& device) {
    const auto count = static_cast<std::int64_t>(from.values.size() / bytes_of(from.dtype));
    const Tensor tensor = empty(shape_of_parameter(count), from.dtype, device, kind);
    if (!from.values.empty()) {
      std::memcpy(tensor.raw_bytes().data(), from.values.data(), from.values.size());
    }
    return tensor;
  }

  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<std::unique_ptr<nn::Buffer>> buffers_;
};

std::vector<Tensor> values_of(nn::Module& model) {
  std::vector<Tensor> values;
  for (const Parameter* parameter : model.parameters()) values.push_back(parameter->value);
  for (const nn::Buffer* buffer : model.buffers()) values.push_back(buffer->value);
  return values;
}

bool is_same(const Tensor& a, const Tensor& b) {
  return b.defined() && a.shape() == b.shape() && a.dtype() == b.dtype() &&
         a.raw_bytes().data() == b.raw_bytes().data();
}

bool gradient_kept(const Parameter& parameter, int rank) {
  if (!parameter.grad.defined()) return false;
  for (std::int64_t e = 0; e < parameter.grad.numel(); ++e) {
    if (parameter.grad.item(e) != ReplicaModule::gradient(rank)) return false;
  }
  return true;
}

ModelReport made_equal(comm::ProcessGroup& group, const Replica& replica, Device& device) {
  ReplicaModule model(replica, group.rank(), device);
  const std::vector<Tensor> before = values_of(model);
  replicas::broadcast_parameters(group, model, replica.source);
  const std::vector<Tensor> after = values_of(model);
  const auto parameters = model.parameters();
  ModelReport report;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto bytes = before[i].raw_bytes();
    report.push_back(
        {.values = {bytes.begin(), bytes.end()},
         .same_tensor = is_same(before[i], after[i]),
         .gradient_kept = i >= parameters.size() || gradient_kept(*parameters[i], group.rank())});
  }
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<ReplicaCase>(
      played, [](comm::ProcessGroup& group, const ReplicaCase& c, Device& device) {
        std::vector<ModelReport> reports;
        for (const Replica& replica : c.replicas) {
          reports.push_back(made_equal(group, replica, device));
        }
        return reports;
      });
}

}  // namespace lockstep::grader
