#include "tests/horovod/ranks.hpp"

#include <cmath>

#include "engine/comm/worlds/sim/sim_group.hpp"

namespace lockstep::test {

std::string SimRun::all() const {
  std::string text = finding;
  for (const std::string& each : thrown) {
    if (!each.empty()) text += "\n" + each;
  }
  return text;
}

SimRun on_sim(int ranks, const SimBody& body) {
  return on_timed_sim(
      ranks, [&](comm::ProcessGroup& group, sim::FiberRank& rank) { body(group, rank.strands); });
}

SimRun on_timed_sim(int ranks, const TimedBody& body, const sim::Options& given) {
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  sim::Options options = given;
  options.ranks = ranks;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 40;
  options.limits.bytes_max = std::int64_t{1} << 40;
  sim::Core core(options);
  SimRun run;
  run.thrown.resize(static_cast<std::size_t>(ranks));
  const auto result =
      sim::run_fibers(core,
                      [&](sim::FiberRank& self) {
                        try {
                          const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
                          body(*group, self);
                        } catch (const std::exception& error) {
                          run.thrown[static_cast<std::size_t>(self.rank)] = error.what();
                          throw;
                        }
                      },
                      {.stack_bytes = stack_bytes});
  if (result.finding) run.finding = result.finding->message;
  run.makespan_s = core.counters().makespan_s;
  return run;
}

Weighted::Weighted(const std::vector<std::int64_t>& counts, Device& device, DType dtype) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all.push_back({text("p", i), full({counts[i]}, 1, dtype, device), {}, {}});
    used.push_back(i);
  }
}

std::vector<Parameter*> Weighted::parameters() {
  std::vector<Parameter*> pointers;
  for (Parameter& parameter : all) pointers.push_back(&parameter);
  return pointers;
}

void Weighted::backward(double x) {
  const Tensor& like = all.front().value;
  Tape tape(GradMode::record);
  const Value factor = tape.constant(full({1}, x, like.dtype(), like.device()));
  Value total = tape.constant(zeros({1}, like.dtype(), like.device()));
  for (const std::size_t i : used) {
    const Value product = autograd::multiply(tape, tape.leaf(all[i]), factor);
    total = autograd::add(tape, total, autograd::sum(tape, product));
  }
  tape.backward(total);
}

double Weighted::grad(std::size_t i, std::int64_t element) const {
  return all[i].grad.defined() ? all[i].grad.item(element) : NAN;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep::test
