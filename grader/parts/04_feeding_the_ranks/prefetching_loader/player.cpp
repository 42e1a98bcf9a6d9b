// Plays prefetching_loader: a dataset that the judge reads, and a trainer that tells the judge of
// everything it gets. Workers and trainer are strands of one rank; each blocks in its own request.
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/case.hpp"

#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

// Samples of `width` inputs: those of the narrow batch, again and again.
data::Batch widened(data::Batch narrow, std::int64_t width) {
  if (width == sample_inputs) return narrow;
  const std::int64_t samples = narrow.inputs.size(0);
  const DType dtype = narrow.inputs.dtype();
  const Tensor wide = empty({samples, width}, dtype, narrow.inputs.device());
  const std::size_t row = static_cast<std::size_t>(sample_inputs) * bytes_of(dtype);
  const std::size_t wide_row = static_cast<std::size_t>(width) * bytes_of(dtype);
  for (std::size_t s = 0; std::cmp_less(s, samples); ++s) {
    const auto from = narrow.inputs.raw_bytes().subspan(s * row, row);
    const auto to = wide.raw_bytes().subspan(s * wide_row, wide_row);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i % row];
  }
  narrow.inputs = wide;
  return narrow;
}

class ReadDataset final : public data::Dataset {
 public:
  ReadDataset(sim::Port& port, const LoaderCase& c) : port_(port), case_(c) {}

  std::int64_t size() const override { return std::int64_t{1} << 20; }
  std::int64_t inputs() const override { return case_.width; }
  std::int64_t classes() const override { return 10; }

  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    const auto [damage, values] =
        ask<SamplesAnswer>(port_, SamplesCall{{indices.begin(), indices.end()}});
    if (!damage.empty() && case_.damage == LoaderCase::Damage::plain) throw PlainDamage{damage};
    if (!damage.empty()) throw DamagedSample(damage);
    return widened(batch_of(values, {.inputs = sample_inputs}, dtype, device), case_.width);
  }

 private:
  sim::Port& port_;
  const LoaderCase& case_;
};

class Trainer {
 public:
  Trainer(sim::Port& port, PoisonDevice& device) : port_(port), device_(device) {}

  void report(const TrainerReport& report) { tell(port_, report); }
  void report(TrainerReport::Kind kind) { report(TrainerReport{.kind = kind}); }

  void report_next(data::Loader& loader) {
    TrainerReport seen;
    std::optional<data::Batch> batch;
    try {
      batch = loader.next();
    } catch (const DamagedSample& error) {
      return report({.kind = TrainerReport::Kind::caught, .what = error.what()});
    } catch (const PlainDamage& damage) {
      return report({.kind = TrainerReport::Kind::caught, .what = damage.what});
    } catch (const NotImplemented&) {
      throw;
    } catch (const std::exception& error) {
      return report({.kind = TrainerReport::Kind::caught_other, .what = error.what()});
    }
    if (!batch) return report(TrainerReport::Kind::got_end);
    seen.kind = TrainerReport::Kind::got_batch;
    if (batch->inputs.defined() && batch->labels.defined()) {
      seen.dtype = batch->inputs.dtype();
      const Shape& shape = batch->inputs.shape();
      seen.inputs_shape.assign(shape.begin(), shape.end());
      const std::int64_t width = shape.size() == 2 ? std::max<std::int64_t>(shape[1], 1) : 1;
      for (std::int64_t i = 0; i < batch->inputs.numel(); ++i) {
        if (i % width < sample_inputs) seen.inputs.push_back(batch->inputs.item(i));
      }
      for (const std::int64_t label : batch->labels.data<std::int64_t>()) {
        seen.labels.push_back(label);
      }
    }
    seen.bytes_alive = device_.held_bytes();
    report(seen);
  }

 private:
  sim::Port& port_;
  PoisonDevice& device_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<LoaderCase>(played.input);
  PoisonDevice device;
  const ReadDataset dataset(played.port, c);
  Trainer trainer(played.port, device);
  const auto sampler = [&](int epoch) {
    trainer.report(TrainerReport::Kind::sampling);
    return c.orders.at(static_cast<std::size_t>(epoch));
  };
  auto loader = data::make_prefetching_loader(dataset, sampler, c.options, device, played.strands);
  std::size_t begun = 0;
  for (const LoaderStep step : c.steps) {
    if (step == LoaderStep::next) {
      trainer.report_next(*loader);
      continue;
    }
    trainer.report(TrainerReport::Kind::starting);
    loader->start(c.epochs.at(begun++));
    trainer.report(TrainerReport::Kind::started);
  }
  trainer.report(TrainerReport::Kind::destroying);
  loader.reset();
  trainer.report(TrainerReport::Kind::destroyed);
  device.require_intact();
  return {};
}

}  // namespace lockstep::grader
