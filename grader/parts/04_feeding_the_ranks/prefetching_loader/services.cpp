#include "grader/parts/04_feeding_the_ranks/prefetching_loader/services.hpp"

#include "engine/sim/wire/printable.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::prefetching_loader {
void require_reports(const LoaderCase& c, const LoaderLog& log) {
  using Kind = TrainerReport::Kind;
  const std::vector<Kind> outcome{Kind::got_batch, Kind::got_end, Kind::caught, Kind::caught_other};
  ReportOrder<Kind> order;
  for (const LoaderStep step : c.steps) {
    if (step == LoaderStep::next) {
      order.push_back(outcome);
      continue;
    }
    order.push_back({Kind::starting});
    order.push_back({Kind::started});
  }
  order.push_back({Kind::destroying});
  order.push_back({Kind::destroyed});
  std::vector<Kind> seen;
  for (const LoaderEvent& event : log) {
    if (event.read || event.report.kind == Kind::sampling) continue;
    if (event.strand != 0) throw MalformedMessage("a worker reported for the trainer");
    seen.push_back(event.report.kind);
  }
  require_order<Kind>("the trainer", seen, {order});
}

double Samples::input(std::int64_t sample, std::int64_t i) const {
  const auto at =
      static_cast<std::uint64_t>(sample) * sample_inputs + static_cast<std::uint64_t>(i);
  const auto drawn = static_cast<double>(keyed_bits(salt, at) >> 44);  // 20 bits
  return digits == SampleDigits::of_float64 ? drawn + 0x1p-20 : drawn;
}

std::vector<double> Samples::inputs_of(std::int64_t sample) const {
  std::vector<double> inputs;
  for (std::int64_t i = 0; i < sample_inputs; ++i) inputs.push_back(input(sample, i));
  make_odd(inputs, odd);
  return inputs;
}

std::int64_t Samples::label(std::int64_t sample) const {
  return static_cast<std::int64_t>(keyed_bits(salt + 1, static_cast<std::uint64_t>(sample)) % 10);
}

std::string Samples::damage_of(std::span<const std::int64_t> indices) const {
  for (const std::int64_t index : indices) {
    if (damaged.contains(index)) return text("sample ", index, " is damaged");
  }
  return {};
}

std::optional<sim::Service::Answer> SamplesService::answer(const sim::Actor& who, SamplesCall call,
                                                           double now) {
  auto& indices = call.indices;
  if (indices.size() > samples_asked_max) {
    throw Error(text("a batch of ", indices.size(), " samples; ", samples_asked_max,
                     " can be requested at once"));
  }
  SamplesAnswer answer{.damage = samples_.damage_of(indices)};
  for (const std::int64_t index : answer.damage.empty() ? indices : std::vector<std::int64_t>{}) {
    for (const double input : samples_.inputs_of(index)) answer.values.inputs.push_back(input);
    answer.values.labels.push_back(samples_.label(index));
  }
  const double until_s = now + (indices.empty() ? 0 : read_s_(indices.front()));
  log_.push_back({now, until_s, who.strand, std::move(indices), {}, {}});
  return answer_with(answer, until_s);
}

std::optional<sim::Service::Answer> TrainerService::answer(const sim::Actor& who,
                                                           TrainerReport report, double now) {
  using Kind = TrainerReport::Kind;
  const bool lasts =
      report.kind == Kind::started || report.kind == Kind::got_batch || report.kind == Kind::caught;
  const double until_s = now + (lasts ? hold_s_ : 0);
  std::optional<std::int64_t> memory_bytes;
  if (report.kind == Kind::got_batch) memory_bytes = memory_of_(who.rank);
  log_.push_back({now, until_s, who.strand, std::nullopt, std::move(report), memory_bytes});
  return Answer{{}, until_s};
}

}  // namespace lockstep::grader::prefetching_loader
