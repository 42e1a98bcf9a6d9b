#include "grader/parts/11_sharding/offload_optimizer/host.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::offload_optimizer {
namespace {

using Event = HostAnswer::Event;
using Kind = HostCall::Kind;

std::vector<float> floats(DType dtype, const Bytes& bytes) {
  const auto values = as_doubles(dtype, bytes);
  return {values.begin(), values.end()};
}

Bytes bytes_in(DType dtype, const std::vector<float>& values) {
  return to_bytes(dtype, std::vector<double>(values.begin(), values.end()));
}

// Some 1e-4 where a parameter is near 1: lost in 16 bits, and not in a master.
double number_of_gradient(std::uint64_t salt, std::size_t element) {
  const double sign = keyed_bits(salt + 5, element) % 2 == 0 ? 1 : -1;
  return sign * (0.5 + keyed_uniform(salt, element));
}

//   time  how often the bucket's gradient came in this step before
std::uint64_t salt_of(std::uint64_t salt, std::size_t step, std::size_t bucket, std::size_t time) {
  return keyed_bits(salt + 11, 1 + 4096 * step + 256 * time + bucket);
}

}  // namespace

std::string OffloadProblem::description() const {
  std::vector<std::int64_t> gradients;
  for (const auto& one : steps) gradients.push_back(std::ssize(one));
  return text(counted(std::ssize(sizes), "bucket"), " of ", listed(sizes), " elements of ",
              lockstep::name_of(dtype), ", ", counted(std::ssize(steps), "step"), " with ",
              listed(gradients), " gradients", name_of(odd));
}

Bytes first_parameters(const OffloadProblem& p, std::uint64_t salt, std::size_t bucket) {
  std::vector<double> values(static_cast<std::size_t>(p.sizes.at(bucket)));
  const std::uint64_t own = keyed_bits(salt + 2, bucket);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = 0.75 + keyed_uniform(own, e);
  return to_bytes(p.dtype, values);
}

Bytes gradient_of(const OffloadProblem& p, std::uint64_t salt, std::size_t step,
                  std::size_t event) {
  const auto& gradients = p.steps.at(step);
  const std::uint32_t bucket = gradients.at(event);
  const auto time =
      std::count(gradients.begin(), gradients.begin() + static_cast<std::ptrdiff_t>(event), bucket);
  std::vector<double> values(static_cast<std::size_t>(p.sizes.at(bucket)));
  const std::uint64_t own = salt_of(salt, step, bucket, static_cast<std::size_t>(time));
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = number_of_gradient(own, e);
  if (step == 0 && event == 0) make_odd(values, p.odd);
  return to_bytes(p.dtype, values);
}

OffloadCase case_of(const OffloadProblem& p, std::uint64_t salt) {
  OffloadCase c{.dtype = p.dtype, .learning_rate = p.learning_rate, .weight_decay = p.weight_decay};
  for (std::size_t bucket = 0; bucket < p.sizes.size(); ++bucket) {
    c.parameters.push_back(first_parameters(p, salt, bucket));
  }
  return c;
}

std::optional<sim::Service::Answer> HostService::answer(const sim::Actor&, HostCall call,
                                                        double now) {
  arrive(now);
  if (p_.large) {
    const std::int64_t held = memory_().value_or(0);
    if (call.kind == Kind::ready) ready_bytes_ = held;
    most_bytes_ = std::max(most_bytes_, held);
  }
  switch (call.kind) {
    case Kind::ready:
      return answer_with(HostAnswer{}, now);
    case Kind::next:
      return next(now);
    case Kind::wait: {
      if (call.ticket >= tickets_.size()) throw Error("nothing was started under this number");
      Ticket& ticket = tickets_[call.ticket];
      ticket.left = false;
      return answer_with(HostAnswer{.values = std::move(ticket.values)},
                         std::max(now, ticket.over_s));
    }
    case Kind::after:
      if (!in_step_) throw Error("there was no step");
      after_.resize(step_ + 1);
      if (call.count != std::ssize(after_.back()) || call.count >= std::ssize(p_.sizes)) {
        throw Error("one answer for each bucket");
      }
      count_bytes(std::ssize(call.values));
      after_.back().push_back(std::move(call.values));
      return answer_with(HostAnswer{}, now);
    default:
      return answer_with(start(call, now), now);
  }
}

HostAnswer HostService::start(const HostCall& call, double now) {
  if (call.kind == Kind::allocate) {
    if (call.names.size() != 1 || call.count < 0 || call.count > (1 << 24)) {
      throw Error("no tensor of such a size");
    }
    count_bytes(4 * call.count);
    const std::vector<float> zeros(static_cast<std::size_t>(call.count));
    if (tensors_.emplace(call.names[0], zeros).second) return {};
    throw Error(text("the host has a tensor '", call.names[0], "' already"));
  }
  if (call.names.empty()) throw Error("the call has no name of a tensor");
  return {.ticket = call.kind == Kind::down ? copy_down(call, now)
                    : call.kind == Kind::up ? copy_up(call, now)
                                            : update(call, now)};
}

void HostService::count_bytes(std::int64_t bytes) {
  constexpr std::int64_t bytes_max = 64 << 20, of_a_call = 4 << 10;
  bytes_ += bytes + of_a_call;
  if (bytes_ > bytes_max) throw Error("more than 64 MiB went to the host and back");
}

std::uint64_t HostService::copy_down(const HostCall& call, double now) {
  auto values = floats(call.dtype, call.values);
  tensor(call.names[0], std::ssize(values));
  count_bytes(4 * std::ssize(values));
  const auto bytes = static_cast<double>(call.values.size());
  down_free_s_ = std::max(now, down_free_s_) + bytes / p_.link_bytes_per_s;
  notes().down_bytes += std::ssize(call.values);
  const bool same = awaited_ && (*awaited_ == call.values || floats(p_.dtype, *awaited_) == values);
  if (same) {
    awaited_.reset();
    down_s_[p_.steps[step_].at(event_ - 1)] = down_free_s_;
  }
  under_way_.push_back({down_free_s_, call.names[0], std::move(values)});
  return ticket_of(down_free_s_);
}

std::uint64_t HostService::copy_up(const HostCall& call, double now) {
  const auto& values = tensor(call.names[0], call.count);
  if (is_under_way(call.names[0])) ++notes().early_copies;
  Bytes travels = bytes_in(call.dtype, values);
  count_bytes(std::ssize(travels));
  const auto bytes = static_cast<double>(travels.size());
  up_free_s_ = std::max(now, up_free_s_) + bytes / p_.link_bytes_per_s;
  notes().up_bytes += std::ssize(travels);
  const std::uint64_t ticket = ticket_of(up_free_s_, std::move(travels));
  tickets_[ticket].left = true;
  return ticket;
}

std::uint64_t HostService::update(const HostCall& call, double now) {
  if (call.names.size() != 4 || call.updates < 1) {
    throw Error("an update has four tensors, and a number from 1 on");
  }
  const auto count = std::ssize(tensor(call.names[0], -1));
  count_bytes(12 * count);
  CpuDevice device;
  std::vector<Tensor> operands;
  for (const std::string& name : call.names) {
    const auto& values = tensor(name, count);
    operands.push_back(from_values(std::vector<double>(values.begin(), values.end()), {count},
                                   DType::float32, device));
  }
  notes().updated += count;
  if (!in_step_) ++notes().early_updates;
  if (is_under_way(call.names[1])) {
    for (const auto& [bucket, there_s] : down_s_) {
      if (there_s > now && p_.sizes[bucket] == count) notes().stale.push_back(bucket);
    }
  }
  ops::adam_update_(operands[0], operands[1], operands[2], operands[3], call.rule, call.updates);
  processor_free_s_ =
      std::max(now, processor_free_s_) + static_cast<double>(count) / p_.updates_per_s;
  for (const std::size_t changed : {0, 2, 3}) {
    const auto values = operands[changed].data<float>();
    under_way_.push_back({processor_free_s_, call.names[changed], {values.begin(), values.end()}});
  }
  return ticket_of(processor_free_s_);
}

// The next event is asked for: what became of the one before?
void HostService::look_back(double now) {
  if (in_step_) {
    notes().took_s = now - notes().began_s;
    notes().left_copies = std::ranges::count(tickets_, true, &Ticket::left);
    in_step_ = false;
    ++step_;
    event_ = 0;
    down_s_.clear();
    return;
  }
  if (event_ == 0) return;
  const std::uint32_t bucket = p_.steps[step_][event_ - 1];
  if (awaited_) notes().not_sent.push_back(bucket);
  if (now > given_s_) notes().waited.push_back(bucket);
  awaited_.reset();
}

// The shortest time of a step that begins now: updates in the order in which gradients come.
void HostService::plan_best(double now) {
  std::vector<std::pair<double, std::uint32_t>> there;
  for (const auto& [bucket, there_s] : down_s_) there.emplace_back(there_s, bucket);
  std::ranges::sort(there);
  double updated = now, up = now;
  for (const auto& [there_s, bucket] : there) {
    const auto size = static_cast<double>(p_.sizes[bucket]);
    updated = std::max(updated, there_s) + size / p_.updates_per_s;
    up = std::max(up, updated) +
         static_cast<double>(p_.bytes_of_bucket(bucket)) / p_.link_bytes_per_s;
  }
  notes().best_s = up - now;
}

sim::Service::Answer HostService::next(double now) {
  look_back(now);
  if (step_ == p_.steps.size()) return answer_with(HostAnswer{.event = Event::done}, now);
  if (event_ == 0) notes_.emplace_back();
  const auto& gradients = p_.steps[step_];
  if (event_ == gradients.size()) {
    in_step_ = true;
    const double begins_s = now + p_.rest_s;
    notes().began_s = begins_s;
    plan_best(begins_s);
    return answer_with(HostAnswer{.event = Event::step}, begins_s);
  }
  const std::uint32_t bucket = gradients[event_];
  HostAnswer gradient{Event::gradient, bucket, 0, gradient_of(p_, salt_, step_, event_++)};
  awaited_ = gradient.values;
  given_s_ = now + p_.gap_s;
  return answer_with(gradient, given_s_);
}

const std::vector<Bytes>& HostService::after(std::size_t step) const {
  if (step >= after_.size() || after_[step].size() != p_.sizes.size()) {
    throw MalformedMessage("not all parameters after a step");
  }
  return after_[step];
}

std::uint64_t HostService::ticket_of(double over_s, Bytes values) {
  tickets_.push_back({over_s, std::move(values)});
  return tickets_.size() - 1;
}

void HostService::arrive(double now) {
  for (const Arrival& one : under_way_) {
    if (one.at_s <= now) tensors_[one.name] = one.values;
  }
  std::erase_if(under_way_, [&](const Arrival& one) { return one.at_s <= now; });
}

bool HostService::is_under_way(const std::string& name) const {
  return std::ranges::any_of(under_way_, [&](const Arrival& one) { return one.name == name; });
}

std::vector<float>& HostService::tensor(const std::string& name, std::int64_t count) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw Error(
        text("the host has no tensor '", sim::printable(name, 100), "'; allocate() makes one"));
  }
  if (count >= 0 && std::ssize(found->second) != count) {
    throw Error(text("the host's tensor '", sim::printable(name, 100), "' has ",
                     counted(std::ssize(found->second), "element"), ", and not ", count));
  }
  return found->second;
}

}  // namespace lockstep::grader::offload_optimizer
