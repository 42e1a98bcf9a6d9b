#include "grader/parts/07_ddp/data_parallel_threads/ledger.hpp"

#include <algorithm>
#include <numeric>

#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::data_parallel_threads {
namespace {

using Kind = DeviceCall::Kind;

constexpr std::size_t passes_max = 64;    // of a step
constexpr std::size_t copies_max = 1000;  // to a device, in a step

// Each pass takes another time, so that strands end in another order than they began. Where a
// strand goes both ways, the passes back overlap, too: they are longer than forward passes can
// differ.
double seconds_of(const ThreadsQuestion& q, const DeviceCall& call) {
  const std::uint64_t place = 64 * call.step + 2 * static_cast<std::uint64_t>(call.device) +
                              (call.kind == Kind::forward ? 0 : 1);
  const double drawn_s = 1e-6 * static_cast<double>(keyed_bits(q.secret + 2, place) % 10);
  return (call.kind == Kind::forward ? 10e-6 : 25e-6) + drawn_s;
}

// The bytes of each sample's inputs, in the type in which the part gets them.
std::vector<Bytes> rows_of(const ThreadsQuestion& q, std::size_t step) {
  const std::int64_t first = std::accumulate(
      q.batches.begin(), q.batches.begin() + static_cast<std::ptrdiff_t>(step), std::int64_t{0});
  CpuDevice device;
  const data::Batch batch =
      make_batch(q.inputs, q.labels, width, first, q.batches[step], q.dtype, device);
  const auto bytes = batch.inputs.raw_bytes();
  const std::size_t row = static_cast<std::size_t>(width) * bytes_of(q.dtype);
  std::vector<Bytes> rows;
  for (std::size_t at = 0; at < bytes.size(); at += row) {
    rows.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      bytes.begin() + static_cast<std::ptrdiff_t>(at + row));
  }
  return rows;
}

// True if the bytes are a piece of what was copied to the device.
bool came_to(const StepSeen& seen, int device, const Bytes& bytes) {
  const auto arrived = seen.arrived.find(device);
  if (arrived == seen.arrived.end()) return false;
  return std::ranges::any_of(arrived->second, [&](const Bytes& whole) {
    return !std::ranges::search(whole, bytes).empty();
  });
}

}  // namespace

DeviceLedger::DeviceLedger(const std::vector<ThreadsQuestion>& questions) {
  for (const ThreadsQuestion& q : questions) {
    Asked& asked = questions_[q.model_seed];
    asked.question = q;
    asked.steps.resize(q.batches.size());
    for (std::size_t k = 0; k < q.batches.size(); ++k) asked.rows.push_back(rows_of(q, k));
  }
}

const StepSeen& DeviceLedger::of(const ThreadsQuestion& question, std::size_t step) const {
  return questions_.at(question.model_seed).steps.at(step);
}

std::optional<sim::Service::Answer> DeviceLedger::answer(const sim::Actor&, DeviceCall call,
                                                         double now) {
  const auto found = questions_.find(call.model_seed);
  if (found == questions_.end() || call.step >= found->second.steps.size()) {
    throw Error("there is no such step");
  }
  Asked& asked = found->second;
  StepSeen& seen = asked.steps[call.step];
  if (call.kind == Kind::step) {
    seen = {.begun = true, .begun_s = now};
    return answer_with(DeviceAnswer{}, now);
  }
  if (call.device < 0 || call.device >= asked.question.devices || !seen.begun) {
    throw Error("there is no such device in this step");
  }
  if (call.kind == Kind::forward) return forward(asked, seen, call, now);
  if (call.kind == Kind::backward) return backward(asked, seen, call, now);
  if (call.tensors.size() != 1) throw Error("a copy is of one tensor");
  const auto bytes = std::ssize(call.tensors.front());
  const bool from_0 = call.from == 0 && call.device != 0;
  const bool to_0 = call.device == 0 && call.from > 0;
  (from_0 ? seen.from_0 : to_0 ? seen.to_0 : seen.others) += bytes;
  auto& arrived = seen.arrived[call.device];
  if (arrived.size() == copies_max) throw Error("more copies than any step needs");
  arrived.push_back(std::move(call.tensors.front()));
  return answer_with(DeviceAnswer{}, now);
}

sim::Service::Answer DeviceLedger::forward(Asked& asked, StepSeen& seen, const DeviceCall& call,
                                           double now) const {
  if (call.tensors.empty() || seen.passes.size() == passes_max) throw Error("no such pass");
  const ThreadsQuestion& q = asked.question;
  DevicePass pass{.device = call.device};
  if (call.device != 0) {
    pass.has_inputs = came_to(seen, call.device, call.tensors.front());
    for (std::size_t i = 1; i < call.tensors.size(); ++i) {
      pass.has_parameters = pass.has_parameters && came_to(seen, call.device, call.tensors[i]);
    }
  }
  DeviceAnswer given{.pass = seen.passes.size()};
  const auto& rows = asked.rows[call.step];
  const std::int64_t first =
      std::accumulate(q.batches.begin(), q.batches.begin() + static_cast<std::ptrdiff_t>(call.step),
                      std::int64_t{0});
  const Bytes& inputs = call.tensors.front();
  const std::size_t row = static_cast<std::size_t>(width) * bytes_of(q.dtype);
  for (std::size_t at = 0; at + row <= inputs.size(); at += row) {
    const auto one = std::span(inputs).subspan(at, row);
    const auto known = std::ranges::find_if(
        rows, [&](const Bytes& other) { return std::ranges::equal(other, one); });
    const std::int64_t sample = known == rows.end() ? -1 : known - rows.begin();
    pass.samples.push_back(sample);
    // A device that was given no sample of the batch has computed something else anyway.
    const auto noise = sample < 0 ? std::vector<double>(static_cast<std::size_t>(width))
                                  : noise_of(q, first + sample);
    given.numbers.insert(given.numbers.end(), noise.begin(), noise.end());
  }
  pass.forward = {now - seen.begun_s, now - seen.begun_s + seconds_of(q, call)};
  seen.passes.push_back(std::move(pass));
  return answer_with(given, seen.begun_s + seen.passes.back().forward.to_s);
}

sim::Service::Answer DeviceLedger::backward(const Asked& asked, StepSeen& seen,
                                            const DeviceCall& call, double now) const {
  if (call.pass >= seen.passes.size() || seen.passes[call.pass].device != call.device ||
      seen.passes[call.pass].backward) {
    throw Error("a backward pass without its forward pass");
  }
  const ThreadsQuestion& q = asked.question;
  DevicePass& pass = seen.passes[call.pass];
  pass.backward = {now - seen.begun_s, now - seen.begun_s + seconds_of(q, call)};
  const std::int64_t first =
      std::accumulate(q.batches.begin(), q.batches.begin() + static_cast<std::ptrdiff_t>(call.step),
                      std::int64_t{0});
  DeviceAnswer given;
  for (const std::int64_t sample : pass.samples) {
    const auto factors = sample < 0 ? std::vector<double>(static_cast<std::size_t>(classes), 1)
                                    : factors_of(q, first + sample);
    given.numbers.insert(given.numbers.end(), factors.begin(), factors.end());
  }
  return answer_with(given, seen.begun_s + pass.backward->to_s);
}

}  // namespace lockstep::grader::data_parallel_threads
