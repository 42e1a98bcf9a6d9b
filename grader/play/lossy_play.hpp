// Plays a part that reduces gradients in fewer bytes, call after call, and may keep what it left
// out. The adapter tells the judge when each call begins, when it returns its Work, and when that
// has been waited for: in between, backward computes, so that the judge sees what overlaps.
#pragma once

#include <cstring>
#include <deque>
#include <utility>

#include "grader/play/ask.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

// An action of a rank in a call.
struct LossyNote {
  static constexpr const char* service = "calls";
  enum class Kind : std::uint8_t { called, returned, waited };
  Kind kind = Kind::called;
  std::uint32_t step = 0;  // the call, from 1
};
template <typename Archive>
void fields(Archive& archive, LossyNote& note) {
  archive(note.kind, note.step);
}
inline void check_fields(LossyNote& note) {
  if (note.kind > LossyNote::Kind::waited) throw MalformedMessage("no kind of report");
}
// The answer to `returned`, when backward has computed: the gradient of the next call, if there is
// one. So who says too early that a call has returned has really overlapped what follows.
struct NextGradient {
  Bytes gradient{};
};
template <typename Archive>
void fields(Archive& archive, NextGradient& next) {
  archive(next.gradient);
}

// Settings are the part's: a fraction, a chunk, the type that travels.
template <typename Settings>
struct LossyCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  Settings settings{};
  DType dtype = DType::float32;
  std::uint32_t calls = 0;
  Bytes gradient{};  // of this rank, for the first call
  // The state that this rank keeps of each bucket at first. Call c is about bucket c modulo their
  // number. Empty for a part that keeps nothing.
  std::vector<Bytes> states{};
  double gap_s = 0;             // what backward takes before a call
  std::uint32_t in_flight = 1;  // calls that have begun before the first of them is waited for
  bool nonsense = false;        // the settings are to be refused, in the first call
};
template <typename Archive, typename Settings>
void fields(Archive& archive, LossyCase<Settings>& c) {
  archive(c.group, c.peer, c.settings, c.dtype, c.calls, c.gradient, c.states, c.gap_s, c.in_flight,
          c.nonsense);
}

struct LossyReport {
  std::vector<Bytes> results;   // the gradient after each call
  std::vector<Bytes> states;    // what is kept of the call's bucket then
  std::vector<Bytes> returned;  // and what was kept of it when the function returned
  bool refused = false;         // by a ContractError
};
template <typename Archive>
void fields(Archive& archive, LossyReport& report) {
  archive(report.results, report.states, report.returned, report.refused);
}

inline Tensor tensor_of(const Bytes& bytes, DType dtype, Device& device) {
  const auto count = static_cast<std::int64_t>(bytes.size() / bytes_of(dtype));
  const Tensor tensor = empty({count}, dtype, device, MemoryKind::gradients);
  if (!bytes.empty()) std::memcpy(tensor.raw_bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

// A call that has not been waited for.
struct StartedCall {
  comm::Work work;
  Tensor gradient, state;
  std::uint32_t step;
};

// start(group, settings, gradient, state, call) calls the part and returns its Work. Calls count
// from 0; `state` is undefined where there are no states. A copy of it is made for the case.
template <typename Settings>
Bytes play_lossy(sim::PlayerCase& played, const auto& start) {
  using Kind = LossyNote::Kind;
  return play_in_group<LossyCase<Settings>>(
      played, [&](comm::ProcessGroup& group, const LossyCase<Settings>& c, Device& device,
                  sim::Port& port) {
        auto part = start;  // what it remembers is gone before the device that it lies on
        std::vector<Tensor> states;
        for (const Bytes& kept : c.states) states.push_back(tensor_of(kept, c.dtype, device));
        LossyReport report;
        if (c.nonsense) {
          const Tensor gradient = tensor_of(c.gradient, c.dtype, device);
          try {
            part(group, c.settings, gradient, states.empty() ? Tensor() : states[0], 0).wait();
          } catch (const ContractError&) {
            report.refused = true;
          }
          return report;
        }
        std::deque<StartedCall> begun;
        const auto finish_first = [&] {
          StartedCall& first = begun.front();
          first.work.wait();
          tell(port, LossyNote{Kind::waited, first.step});
          report.results.push_back(copy_of(first.gradient));
          if (first.state.defined()) report.states.push_back(copy_of(first.state));
          begun.pop_front();
        };
        NextGradient next{c.gradient};
        for (std::size_t call = 0; call < c.calls; ++call) {
          const auto step = static_cast<std::uint32_t>(call + 1);
          const Tensor gradient = tensor_of(next.gradient, c.dtype, device);
          const Tensor state = states.empty() ? Tensor() : states[call % states.size()];
          pass_time(port, c.gap_s);
          tell(port, LossyNote{Kind::called, step});
          comm::Work work = part(group, c.settings, gradient, state, call);
          next = ask<NextGradient>(port, LossyNote{Kind::returned, step});
          if (state.defined()) report.returned.push_back(copy_of(state));
          begun.push_back({std::move(work), gradient, state, step});
          if (begun.size() == c.in_flight) finish_first();
        }
        while (!begun.empty()) finish_first();
        return report;
      });
}

}  // namespace lockstep::grader
