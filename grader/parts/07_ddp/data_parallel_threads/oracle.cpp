#include "grader/parts/07_ddp/data_parallel_threads/oracle.hpp"

#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::data_parallel_threads {
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
  draw_samples(salt, 0, samples, width, classes, q.inputs, q.labels);
  return q;
}

StepOfOne step_of_one(const ThreadsQuestion& q, std::size_t asked) {
  OneDevice one(q.widths, q.dtype, q.model_seed, [](nn::Module& model) {
    return optim::make_sgd(model.parameters(), {.learning_rate = 0.1});
  });
  std::int64_t first_of_step = 0;
  // The chunk's part of the mean loss.
  const auto add_chunk = [&](std::size_t step, std::int64_t d) {
    const std::int64_t batch = q.batches[step], samples = q.samples(batch, d);
    if (samples == 0) return 0.0;
    const std::int64_t first = first_of_step + d * q.chunk(batch);
    const auto of_all = [&](const auto& of_sample) {
      std::vector<double> all;
      for (std::int64_t sample = first; sample < first + samples; ++sample) {
        const auto some = of_sample(q, sample);
        all.insert(all.end(), some.begin(), some.end());
      }
      return all;
    };
    const double share = static_cast<double>(samples) / static_cast<double>(batch);
    const auto forward = [&](Tape& tape, const Value& inputs) {
      const Value noisy = with_noise(tape, inputs, of_all(noise_of));
      return with_factors(tape, one.model().forward(tape, noisy),
                          [&] { return of_all(factors_of); });
    };
    return share *
           one.add(make_batch(q.inputs, q.labels, width, first, samples, q.dtype, one.device()),
                   share, forward);
  };
  StepOfOne seen;
  for (std::size_t step = 0; step <= asked; ++step) {
    if (q.keeps == 0) one.optimizer().zero_grad();
    seen.loss = 0;
    for (std::int64_t d = 0; d < q.devices; ++d) seen.loss += add_chunk(step, d);
    if (step == asked) break;
    one.optimizer().step();
    first_of_step += q.batches[step];
  }
  std::vector<Bytes> gradients;
  for (const Parameter* parameter : one.model().parameters()) {
    const Tensor total = zeros(parameter->value.shape(), q.dtype, one.device());
    if (parameter->grad.defined()) total.copy_(parameter->grad);
    gradients.push_back(copy_of(total));
  }
  seen.gradients = as_doubles(q.dtype, gradients);
  return seen;
}

}  // namespace lockstep::grader::data_parallel_threads
