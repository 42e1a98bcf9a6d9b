// The rules for what the ledger shows of a step whose values are right.
#include "grader/parts/07_ddp/data_parallel_threads/places.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::data_parallel_threads {
namespace {

// The samples that each device computed, in the order in which they came.
std::vector<std::vector<std::int64_t>> samples_by_device(const ThreadsQuestion& q,
                                                         const StepSeen& ledger) {
  std::vector<std::vector<std::int64_t>> samples(static_cast<std::size_t>(q.devices));
  for (const DevicePass& pass : ledger.passes) {
    auto& mine = samples[static_cast<std::size_t>(pass.device)];
    mine.insert(mine.end(), pass.samples.begin(), pass.samples.end());
  }
  return samples;
}

// Each pass takes time, so passes that run at once overlap.
std::optional<Failure> in_turn(std::size_t k, const char* name, const StepSeen& ledger,
                               const std::function<PassSpan(const DevicePass&)>& span) {
  const auto micros = [](double seconds) { return text(std::lround(seconds * 1e6), " µs"); };
  for (const DevicePass& later : ledger.passes) {
    for (const DevicePass& first : ledger.passes) {
      const PassSpan before = span(first), after = span(later);
      if (later.device == first.device || after.from_s < before.to_s) continue;
      return because(
          {"one_after_another", "start all strands before you wait for one of them"},
          {.message = text("the values are right, but in step ", k, " device ", later.device,
                           " begins its ", name, " pass at ", micros(after.from_s),
                           ", when that of device ", first.device, ", from ", micros(before.from_s),
                           " to ", micros(before.to_s),
                           ", is over: the devices compute in turn, not at the same time"),
           .expected = text("passes that begin before ", micros(before.to_s)),
           .seen = micros(after.from_s),
           .where = text("device ", later.device)});
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Failure> wrong_places(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step, const StepSeen& ledger) {
  std::vector<std::int64_t> wanted, counts;
  bool in_order = true;
  const auto samples = samples_by_device(q, ledger);
  for (std::int64_t d = 0; d < q.devices; ++d) {
    wanted.push_back(q.samples(q.batches[k], d));
    const auto& mine = samples[static_cast<std::size_t>(d)];
    counts.push_back(std::ssize(mine));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      in_order = in_order && mine[i] == d * q.chunk(q.batches[k]) + static_cast<std::int64_t>(i);
    }
  }
  if (counts != wanted || !in_order) {
    return because({"other_chunks",
                    "device d computes the samples from d·⌈B/N⌉ on, ⌈B/N⌉ of them or what is left"},
                   {.message = text("the values are right, but in step ", k, " ",
                                    counts == wanted ? "other " : "", "samples ", listed(counts),
                                    " went through the devices"),
                    .expected = listed(wanted),
                    .seen = listed(counts)});
  }
  const auto away = std::ranges::count(ledger.passes, false, &DevicePass::has_inputs);
  if (away > 0) {
    return because(
        {"inputs_elsewhere", "a device cannot read another one's memory: copy_to"},
        {.message = text("in step ", k, ", ", counted(away, "device"), away == 1 ? " was" : " were",
                         " given inputs that were never copied to it")});
  }
  if (step.left < 0) throw MalformedMessage("fewer gradients than none");
  if (step.left > 0) {
    return because({"gradients_left",
                    "the next step's backward adds to them: take them away when they are summed"},
                   {.message = text("after step ", k, ", replicas other than the master have ",
                                    counted(step.left, "gradient"))});
  }
  return std::nullopt;
}

std::optional<Failure> wrong_copies(const ThreadsQuestion& q, std::size_t k, const ThreadsStep&,
                                    const StepSeen& step) {
  const std::int64_t batch = q.batches[k], others = q.used(batch) - 1;
  const auto size = static_cast<std::int64_t>(bytes_of(q.dtype));
  const std::int64_t moved = batch - q.samples(batch, 0);  // samples of the other devices
  const std::int64_t model = others * elements * size;
  const std::int64_t inputs = moved * width * size, outputs = moved * classes * size;
  // Labels, losses and gradients of outputs may travel, according to where the loss is computed.
  const std::int64_t least_out = model + inputs, most_out = least_out + outputs + 8 * moved;
  const std::int64_t least_back = model, most_back = model + outputs + 8 * others;
  const auto lead = text("the values are right, but in step ", k, " ");
  const auto range = [](std::int64_t from, std::int64_t to) {
    return text(grouped(from), " to ", grouped(to), " bytes");
  };
  if (step.from_0 < least_out || step.to_0 < least_back) {
    const bool out = step.from_0 < least_out;
    return because({"not_through_copies",
                    "parameters, inputs and gradients get to another device by copy_to only"},
                   {.message = text(lead, "only ", grouped(out ? step.from_0 : step.to_0),
                                    " bytes were copied ", out ? "from" : "to", " device 0"),
                    .expected = out ? range(least_out, most_out) : range(least_back, most_back),
                    .seen = grouped(out ? step.from_0 : step.to_0)});
  }
  const auto elsewhere = std::ranges::count(step.passes, false, &DevicePass::has_parameters);
  if (elsewhere > 0) {
    return because({"not_through_copies",
                    "parameters, inputs and gradients get to another device by copy_to only"},
                   {.message = text(lead, counted(elsewhere, "device"),
                                    " computed with parameters ", "that were never copied to it")});
  }
  if (step.from_0 <= most_out && step.to_0 <= most_back && step.others == 0) return std::nullopt;
  const auto total = [](std::int64_t a, std::int64_t b) {
    return text(grouped(a), " and ", grouped(b));
  };
  return because({"copied_too_much",
                  "parameters leave device 0 once for each other device that has samples, and "
                  "gradients come back once; nothing else is copied but inputs and outputs"},
                 {.verdict = Verdict::efficiency,
                  .message = text(lead, total(step.from_0, step.to_0),
                                  " bytes were copied from and to device 0, and ",
                                  grouped(step.others), " elsewhere"),
                  .expected = text("at most ", total(most_out, most_back), ", and none elsewhere"),
                  .seen = text(total(step.from_0, step.to_0), ", and ", grouped(step.others))});
}

std::optional<Failure> wrong_times(const ThreadsQuestion&, std::size_t k, const ThreadsStep&,
                                   const StepSeen& ledger) {
  const auto forward = [](const DevicePass& pass) { return pass.forward; };
  if (auto failure = in_turn(k, "forward", ledger, forward)) return failure;
  for (const DevicePass& pass : ledger.passes) {
    if (!pass.backward)
      throw MalformedMessage("a device did not go back, and the values are right");
  }
  return in_turn(k, "backward", ledger, [](const DevicePass& pass) { return *pass.backward; });
}

}  // namespace lockstep::grader::data_parallel_threads
