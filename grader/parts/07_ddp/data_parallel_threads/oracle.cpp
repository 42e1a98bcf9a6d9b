#include "grader/parts/07_ddp/data_parallel_threads/oracle.hpp"

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::data_parallel_threads {
namespace {

class OneDevice {
 public:
  explicit OneDevice(const ThreadsQuestion& q)
      : q_(q), master_(nn::make_mlp(q.widths, q.dtype, device_, q.model_seed)) {
    optimizer_ = optim::make_sgd(master_->parameters(), {.learning_rate = 0.1});
  }

  StepOfOne step(std::size_t asked) {
    for (std::size_t k = 0; k < asked; ++k) {
      if (q_.keeps == 0) optimizer_->zero_grad();
      for (std::int64_t d = 0; d < q_.devices; ++d) add_chunk(k, d);
      optimizer_->step();
      first_ += q_.batches[k];
    }
    if (q_.keeps == 0) optimizer_->zero_grad();
    StepOfOne seen;
    for (std::int64_t d = 0; d < q_.devices; ++d) seen.loss += add_chunk(asked, d);
    std::vector<Bytes> gradients;
    for (const Parameter* parameter : master_->parameters()) {
      const Tensor total = zeros(parameter->value.shape(), q_.dtype, device_);
      if (parameter->grad.defined()) total.copy_(parameter->grad);
      gradients.push_back(copy_of(total));
    }
    seen.gradients = as_doubles(q_.dtype, gradients);
    return seen;
  }

 private:
  // The chunk's part of the mean loss.
  double add_chunk(std::size_t step, std::int64_t d) {
    const std::int64_t batch = q_.batches[step], samples = q_.samples(batch, d);
    if (samples == 0) return 0;
    const std::int64_t first = first_ + d * q_.chunk(batch);
    const data::Batch chunk =
        make_batch(q_.inputs, q_.labels, width, first, samples, q_.dtype, device_);
    const auto of_all = [&](const auto& of_sample) {
      std::vector<double> all;
      for (std::int64_t sample = first; sample < first + samples; ++sample) {
        const auto some = of_sample(q_, sample);
        all.insert(all.end(), some.begin(), some.end());
      }
      return all;
    };
    Tape tape(GradMode::record);
    const Value inputs = with_noise(tape, tape.constant(chunk.inputs), of_all(noise_of));
    const Value logits =
        with_factors(tape, master_->forward(tape, inputs), [&] { return of_all(factors_of); });
    const Value loss = autograd::cross_entropy(tape, logits, chunk.labels);
    const double share = static_cast<double>(samples) / static_cast<double>(batch);
    tape.backward(autograd::scale(tape, loss, share));
    return loss.tensor.item() * share;
  }

  const ThreadsQuestion& q_;
  CpuDevice device_;
  std::unique_ptr<nn::Module> master_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::int64_t first_ = 0;  // sample of the next step
};

}  // namespace

namespace {

// From `least` on, up to 1 more.
std::vector<double> drawn(std::uint64_t salt, std::int64_t sample, std::int64_t count,
                          double least) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(sample * count + i);
    all.push_back(least + static_cast<double>(keyed_bits(salt, at) % 64) / 64);
  }
  return all;
}

}  // namespace

std::vector<double> noise_of(const ThreadsQuestion& question, std::int64_t sample) {
  return drawn(question.secret, sample, width, -0.5);
}

std::vector<double> factors_of(const ThreadsQuestion& question, std::int64_t sample) {
  return drawn(question.secret + 1, sample, classes, 0.5);
}

ThreadsQuestion question_of(std::int64_t devices, std::vector<std::int64_t> batches,
                            std::uint64_t salt, DType dtype) {
  ThreadsQuestion q;
  q.devices = devices;
  q.dtype = dtype;
  q.model_seed = keyed_bits(salt, 2'000'033) >> 32;
  q.widths = {width, hidden, classes};
  q.sample_shape = {width};
  q.batches = std::move(batches);
  std::int64_t samples = 0;
  for (const std::int64_t batch : q.batches) samples += batch;
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const auto label = static_cast<std::int64_t>(keyed_bits(salt + 17, at) % classes);
    q.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise = keyed_uniform(salt + 29, at * width + static_cast<std::uint64_t>(j));
      // Later samples lie elsewhere, so that every chunk has another gradient.
      q.inputs.push_back(2 * noise - 1 + 0.3 * static_cast<double>(i % 5) +
                         (j == label ? 1.5 : 0.0));
    }
  }
  return q;
}

StepOfOne step_of_one(const ThreadsQuestion& question, std::size_t step) {
  return OneDevice(question).step(step);
}

}  // namespace lockstep::grader::data_parallel_threads
