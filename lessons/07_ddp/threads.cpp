// Trains an MLP on the devices of one process, one thread each, and counts what is copied:
//   build/release/bin/threads DEVICES BATCH STEPS
#include <algorithm>
#include <atomic>
#include <cctype>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/ddp/data_parallel_threads.hpp"

using namespace lockstep;

namespace {

// Devices that are pieces of the host's memory; what crosses from one to another is counted.
class CountedDevices final : public ddp::LocalDevices {
 public:
  explicit CountedDevices(std::size_t count) : sent(count), devices_(count) {}
  int size() const override { return static_cast<int>(devices_.size()); }
  Tensor copy_to(const Tensor& tensor, int to) override {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (&tensor.device() == &devices_[d]) sent[d] += static_cast<std::int64_t>(tensor.bytes());
    }
    const Tensor copy =
        empty(tensor.shape(), tensor.dtype(), device(static_cast<std::size_t>(to)), tensor.kind());
    copy.copy_(tensor);
    return copy;
  }
  Device& device(std::size_t d) { return devices_.at(d); }

  std::vector<std::atomic<std::int64_t>> sent;  // bytes, by device

 private:
  std::vector<CpuDevice> devices_;
};

std::int64_t number_of_word(const std::string& word) {
  const bool digits = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  const std::int64_t number = digits && word.size() < 7 ? std::stoll(word) : 0;
  if (number < 1) throw UsageError("'" + word + "' is not a number from 1 to 999,999");
  return number;
}

void train(std::int64_t count, std::int64_t batch_size, std::int64_t steps) {
  const auto dataset = data::make_synthetic(steps * batch_size, 64, 10, 0);
  CountedDevices devices(static_cast<std::size_t>(count));
  const std::vector<std::int64_t> widths{64, 256, 128, 10};
  std::vector<std::unique_ptr<nn::Module>> replicas;
  std::vector<nn::Module*> modules;
  for (std::size_t d = 0; d < static_cast<std::size_t>(count); ++d) {
    replicas.push_back(nn::make_mlp(widths, DType::float32, devices.device(d), 0));
    modules.push_back(replicas.back().get());
  }
  const auto optimizer = optim::make_sgd(replicas[0]->parameters(), {.learning_rate = 0.1});
  const auto strands = make_thread_strands();
  double loss = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(batch_size));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      indices[i] = step * batch_size + static_cast<std::int64_t>(i);
    }
    const data::Batch batch = dataset->batch(indices, DType::float32, devices.device(0));
    optimizer->zero_grad();
    for (auto& bytes : devices.sent) bytes = 0;
    loss = ddp::data_parallel_threads(modules, devices, *strands, batch);
    optimizer->step();
  }
  std::cout << "loss of the last step: " << std::fixed << std::setprecision(4) << loss << "\n";
  const std::int64_t parameters = nn::count_of(*replicas[0]) * 4;
  std::cout << "parameters: " << parameters / 1000 << " kB\n";
  std::int64_t others = 0;
  for (std::size_t d = 1; d < devices.sent.size(); ++d) others += devices.sent[d];
  std::cout << "copied in the last step: " << devices.sent[0] / 1000 << " kB from device 0, "
            << others / 1000 << " kB to it\n";
  std::cout << "a ring would send: " << 2 * (count - 1) * parameters / count / 1000
            << " kB from each device\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 4) throw UsageError("usage: threads DEVICES BATCH STEPS");
    const std::int64_t devices = number_of_word(words[1]);
    if (devices > 64) throw UsageError("more than 64 devices: each is a thread");
    train(devices, number_of_word(words[2]), number_of_word(words[3]));
  } catch (const std::exception& error) {
    std::cerr << "threads: " << error.what() << "\n";
    return 2;
  }
}
