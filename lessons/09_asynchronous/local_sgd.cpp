// Workers that take H steps alone between two averages of their parameters, simulated:
//   build/release/bin/local-sgd [--lr RATE] H…
// Two sites have four A100 each, which multiply in float32 without TF32; between the sites, a card
// sends 100 Mb/s. Each worker takes 480 steps of AdamW on its own samples. With an H of 1,
// gradients are averaged in every step, as DDP does it. Any other H runs twice: the outer step
// takes the mean as it is (local SGD), or with Nesterov momentum (DiLoCo).
#include <algorithm>
#include <cctype>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/tensor/broadcast.hpp"

using namespace lockstep;

namespace {

constexpr int workers = 8;
constexpr std::int64_t steps = 480, batch_size = 16, inputs = 64, classes = 10;

sim::Cluster two_sites() {
  sim::Cluster cluster = sim::cluster_of("ethernet");  // nodes of four A100, float32 without TF32
  cluster.network.between.latency_s = 10e-3;
  cluster.network.between.bandwidth_bytes_s = 12.5e6;
  return cluster;
}

// The outer step at a rate of 1 and without momentum takes the workers' mean as it is.
const optim::SgdOptions plain{.learning_rate = 1};
const optim::SgdOptions nesterov{
    .learning_rate = 0.7, .momentum = 0.9, .nesterov = optim::Nesterov::yes};

// What rank 0 saw of a run.
struct Seen {
  double loss = 0, seconds = 0;
  std::int64_t bytes_sent = 0;
};

class Worker {
 public:
  Worker(comm::ProcessGroup& group, Device& device, double inner_rate,
         const optim::SgdOptions& outer)
      : group_(group), device_(device) {
    const std::vector<std::int64_t> widths{inputs, 256, 128, classes};
    model_ = nn::make_mlp(widths, DType::float32, device, 0);
    parameters_ = model_->parameters();
    inner_ = optim::make_adamw(parameters_, {.learning_rate = inner_rate});
    outer_ = optim::make_sgd(parameters_, outer);
    for (const Parameter* parameter : parameters_) start_.push_back(parameter->value.clone());
  }

  void train(const data::Dataset& samples, std::int64_t apart) {
    for (std::int64_t step = 0; step < steps; ++step) {
      inner_->zero_grad();
      {
        Tape tape(GradMode::record);
        tape.backward(loss_of(tape, samples, step * batch_size, batch_size));
      }
      if (apart == 1) average_gradients();
      inner_->step();
      if (apart > 1 && (step + 1) % apart == 0) outer_step();
    }
  }

  double mean_loss(const data::Dataset& samples) {
    Tape tape(GradMode::inference);
    return loss_of(tape, samples, 0, samples.size() / workers).tensor.item();
  }

 private:
  // Of this rank's samples: every eighth.
  Value loss_of(Tape& tape, const data::Dataset& dataset, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = first; i < first + count; ++i) {
      indices.push_back((i * workers + group_.rank()) % dataset.size());
    }
    const data::Batch batch = dataset.batch(indices, DType::float32, device_);
    const Value logits = model_->forward(tape, tape.constant(batch.inputs));
    return autograd::cross_entropy(tape, logits, batch.labels);
  }

  // What this worker has moved since the last average counts as one gradient.
  void outer_step() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->grad = ops::subtract(start_[i], parameters_[i]->value);
      parameters_[i]->value.copy_(start_[i]);
    }
    average_gradients();
    outer_->step();
    for (std::size_t i = 0; i < parameters_.size(); ++i) start_[i].copy_(parameters_[i]->value);
  }

  // One all-reduce of all gradients.
  void average_gradients() {
    const Tensor flat = parameters_[0]->grad.empty_like(nn::count_of(*model_));
    std::int64_t at = 0;
    for (const Parameter* parameter : parameters_) {
      const Tensor place = flat.narrow(at, parameter->grad.numel());
      place.copy_(parameter->grad);
      at += place.numel();
    }
    group_.all_reduce(flat, ReduceOp::average);
    at = 0;
    for (const Parameter* parameter : parameters_) {
      parameter->grad.copy_(flat.narrow(at, parameter->grad.numel()));
      at += parameter->grad.numel();
    }
  }

  comm::ProcessGroup& group_;
  Device& device_;
  std::unique_ptr<nn::Module> model_;
  std::vector<Parameter*> parameters_;
  std::unique_ptr<optim::Optimizer> inner_, outer_;
  std::vector<Tensor> start_;  // the parameters after the last average, equal on all ranks
};

Seen run(std::int64_t apart, double inner_rate, const optim::SgdOptions& outer) {
  const auto samples = data::make_synthetic(32'768, inputs, classes, 0);
  const auto others = data::make_synthetic(2'048, inputs, classes, 1);
  const sim::Cluster cluster = two_sites();
  sim::Options options;
  options.ranks = workers;
  options.network = cluster.network;
  options.limits.bytes_max = std::int64_t{1} << 40;
  options.limits.requests_max = std::int64_t{1} << 40;
  sim::Core core(options);
  Seen seen;
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    comm::SimulatedDevice device(self.port, self.rank, cluster.device, DType::float32,
                                 comm::Elements::numbers);
    Worker worker(*group, device, inner_rate, outer);
    worker.train(*samples, apart);
    if (self.rank > 0) return;
    seen = {.seconds = group->now_s(), .bytes_sent = group->traffic().bytes_sent};
    seen.loss = worker.mean_loss(*others);
  });
  if (result.finding) throw Error(result.finding->message);
  return seen;
}

void print(std::int64_t apart, const std::string& outer, const Seen& seen) {
  std::cout << std::setw(4) << apart << "  " << std::left << std::setw(10) << outer << std::right
            << std::setw(9) << bytes_text(seen.bytes_sent) << "  " << std::setw(8)
            << seconds_text(seen.seconds) << "  " << std::fixed << std::setprecision(3) << seen.loss
            << "\n";
}

std::int64_t steps_of(const std::string& word) {
  const bool digits = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  const std::int64_t number = digits && word.size() < 4 ? std::stoll(word) : 0;
  if (number > 0 && steps % number == 0) return number;
  throw UsageError(text("'", word, "' does not divide the ", steps, " steps; pass a divisor"));
}

double rate_of(const std::string& word) {
  std::istringstream in(word);
  double rate = 0;
  if (in >> rate && in.eof() && rate > 0) return rate;
  throw UsageError(text("'", word, "' is no learning rate; pass a number such as 2e-4"));
}

}  // namespace

int main(int count, char** given) {
  try {
    std::vector<std::string> words(given + 1, given + count);
    double inner_rate = 2e-4;
    if (words.size() > 1 && words[0] == "--lr") {
      inner_rate = rate_of(words[1]);
      words.erase(words.begin(), words.begin() + 2);
    }
    if (words.empty()) throw UsageError("usage: local-sgd [--lr RATE] H…, such as local-sgd 1 96");
    std::cout << "   H  outer step     sent      time   loss\n";
    for (const std::string& word : words) {
      const std::int64_t apart = steps_of(word);
      print(apart, apart == 1 ? "none" : "the mean", run(apart, inner_rate, plain));
      if (apart > 1) print(apart, "Nesterov", run(apart, inner_rate, nesterov));
    }
  } catch (const std::exception& error) {
    std::cerr << "local-sgd: " << error.what() << "\n";
    return 2;
  }
}
