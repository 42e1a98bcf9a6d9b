// What one rank does of a random program, and what it must then hold.
#include <algorithm>
#include <map>
#include <memory>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "tests/sim/random_program.hpp"

namespace lockstep::test {

namespace {

using comm::CollectiveKind;
using comm::ProcessGroup;
using comm::Work;

constexpr double untouched = -77;

// Whole numbers that tell step, giver and element apart.
double value_of(std::size_t step, int giver, std::int64_t element) {
  return static_cast<double>(step % 50 * 1000 + static_cast<std::size_t>(giver) * 100 +
                             static_cast<std::size_t>(element) % 97);
}

class Run {
 public:
  Run(const RandomProgram& program, sim::FiberRank& self, const std::optional<Omission>& omission)
      : program_(program), self_(self), omission_(omission), groups_(program.groups.size()) {
    groups_[0] = comm::make_sim_group(self.port, self.rank, self.ranks);
  }

  void run() {
    for (std::size_t at = 0; at < program_.steps.size(); ++at) {
      wait_until(at);
      if (omission_ && omission_->rank == self_.rank && omission_->step == at) continue;
      step(program_.steps[at], at);
    }
    wait_until(program_.steps.size() + 100);
  }

 private:
  struct Pending {
    std::size_t until;
    std::function<void()> wait;
  };

  void wait_until(std::size_t at) {
    // In the order of starting, as most programs do; the others wait in between.
    for (std::size_t i = 0; i < pending_.size();) {
      if (pending_[i].until > at) {
        ++i;
        continue;
      }
      const auto wait = std::move(pending_[i].wait);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      wait();
    }
  }

  void step(const RandomStep& step, std::size_t at) {
    if (step.kind == RandomStep::compute) {
      sim::Request compute;
      compute.seconds = 1e-6 * static_cast<double>(step.until[here()] % 5);
      self_.port.call(compute);
      return;
    }
    ProcessGroup* group = groups_[step.group].get();
    if (group == nullptr) return;
    if (step.kind == RandomStep::message) message(step, at, *group, true);
    if (step.kind == RandomStep::collective) collective(step, at, *group);
    if (step.kind == RandomStep::split) {
      const int color = step.colors[static_cast<std::size_t>(group->rank())];
      auto made = group->split(color, group->rank());
      if (color >= 0) groups_[step.first_made + static_cast<std::size_t>(color)] = std::move(made);
    }
    if (step.kind == RandomStep::strands) start_strand(step, at);
  }

  void start_strand(const RandomStep& outer, std::size_t at) {
    auto strand = self_.strands.start("inner", [this, &outer, at] {
      for (const RandomStep& inner : outer.inner) message(inner, at, *groups_[0], false);
    });
    pending_.push_back({outer.until[here()], [joined = std::make_shared<std::unique_ptr<Strand>>(
                                                  std::move(strand))] { (*joined)->join(); }});
  }

  // Starts or does the rank's side; what it must hold is looked at when it is done.
  void message(const RandomStep& step, std::size_t at, ProcessGroup& group, bool may_pend) {
    const bool gives = group.rank() == step.src;
    if (!gives && group.rank() != step.dst) return;
    const Tensor data = gives ? given(step, at, step.src, step.count) : blank(step, step.count);
    const int peer = gives ? step.dst : step.src;
    const auto check = [&step, at, gives, data] {
      if (gives) return;
      for (std::int64_t i = 0; i < data.numel(); ++i)
        expect(data, i, value_of(at, step.src, i), at);
    };
    if (step.at_once[here()]) {
      gives ? group.send(data, peer, step.tag) : group.recv(data, peer, step.tag);
      return check();
    }
    Work work = gives ? group.isend(data, peer, step.tag) : group.irecv(data, peer, step.tag);
    finish(step, std::move(work), check, may_pend);
  }

  void collective(const RandomStep& step, std::size_t at, ProcessGroup& group) {
    const int n = group.size(), r = group.rank();
    const std::int64_t c = step.count;
    Work work;
    Tensor in, out;
    const auto need = [&](std::int64_t in_count, std::int64_t out_count) {
      in = given(step, at, r, in_count);
      out = blank(step, out_count);
    };
    switch (step.call) {
      case CollectiveKind::barrier:
        return group.barrier();
      case CollectiveKind::broadcast:
        out = given(step, at, r, c);
        work = group.broadcast_async(out, step.root);
        break;
      case CollectiveKind::reduce:
        out = given(step, at, r, c);
        work = group.reduce_async(out, step.root, step.op);
        break;
      case CollectiveKind::all_reduce:
        out = given(step, at, r, c);
        work = group.all_reduce_async(out, step.op);
        break;
      case CollectiveKind::gather:
        need(c, n * c);
        work = group.gather_async(in, out, step.root);
        break;
      case CollectiveKind::scatter:
        need(n * c, c);
        work = group.scatter_async(in, out, step.root);
        break;
      case CollectiveKind::all_gather:
        need(c, n * c);
        work = group.all_gather_async(in, out);
        break;
      case CollectiveKind::reduce_scatter:
        need(n * c, c);
        work = group.reduce_scatter_async(in, out, step.op);
        break;
      case CollectiveKind::all_to_all:
        need(n * c, n * c);
        work = group.all_to_all_async(in, out);
        break;
    }
    const auto check = [&step, at, n, r, in, out] {
      for (std::int64_t i = 0; i < out.numel(); ++i) {
        expect(out, i, result_of(step, at, n, r, i), at);
      }
    };
    if (!step.at_once[here()]) return finish(step, std::move(work), check, true);
    work.wait();
    check();
  }

  // Element i that rank r of n holds afterwards; what a rank does not get is untouched, or its own.
  static double result_of(const RandomStep& step, std::size_t at, int n, int r, std::int64_t i) {
    const std::int64_t c = step.count;
    const auto reduced = [&](std::int64_t element) {
      double result = value_of(at, 0, element);
      for (int rank = 1; rank < n; ++rank) {
        const double value = value_of(at, rank, element);
        result = step.op == ReduceOp::sum   ? result + value
                 : step.op == ReduceOp::max ? std::max(result, value)
                                            : std::min(result, value);
      }
      return result;
    };
    switch (step.call) {
      case CollectiveKind::broadcast:
        return value_of(at, step.root, i);
      case CollectiveKind::reduce:
        return r == step.root ? reduced(i) : value_of(at, r, i);
      case CollectiveKind::all_reduce:
        return reduced(i);
      case CollectiveKind::gather:
        return r == step.root ? value_of(at, static_cast<int>(i / c), i % c) : untouched;
      case CollectiveKind::scatter:
        return value_of(at, step.root, r * c + i);
      case CollectiveKind::all_gather:
        return value_of(at, static_cast<int>(i / c), i % c);
      case CollectiveKind::reduce_scatter:
        return reduced(r * c + i);
      case CollectiveKind::all_to_all:
        return value_of(at, static_cast<int>(i / c), r * c + i % c);
      case CollectiveKind::barrier:
        break;
    }
    return untouched;
  }

  void finish(const RandomStep& step, Work work, std::function<void()> check, bool may_pend) {
    if (!may_pend) {
      work.wait();
      return check();
    }
    pending_.push_back({step.until[here()], [waited = std::make_shared<Work>(std::move(work)),
                                             check = std::move(check)] {
                          waited->wait();
                          check();
                        }});
  }

  Tensor given(const RandomStep& step, std::size_t at, int giver, std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value_of(at, giver, i));
    return from_values(values, {count}, step.dtype, device_);
  }
  Tensor blank(const RandomStep& step, std::int64_t count) {
    return full({count}, untouched, step.dtype, device_);
  }
  static void expect(const Tensor& data, std::int64_t i, double value, std::size_t at) {
    if (data.item(i) == value) return;
    throw Error(text("step ", at, ": element ", i, " is ", data.item(i), " and must be ", value));
  }
  std::size_t here() const { return static_cast<std::size_t>(self_.rank); }

  const RandomProgram& program_;
  sim::FiberRank& self_;
  const std::optional<Omission>& omission_;
  CpuDevice device_;
  std::vector<std::unique_ptr<ProcessGroup>> groups_;
  std::vector<Pending> pending_;
};

}  // namespace

void run_random_program(const RandomProgram& program, sim::FiberRank& self,
                        const std::optional<Omission>& omission) {
  Run(program, self, omission).run();
}

}  // namespace lockstep::test
