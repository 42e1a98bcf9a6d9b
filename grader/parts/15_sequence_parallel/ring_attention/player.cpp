// Plays ring_attention: queries, keys and values that the judge made, of which this rank has those
// of its tokens.
#include "engine/parallel/sequence/ring_attention.hpp"

#include <utility>

#include "grader/parts/15_sequence_parallel/ring_attention/case.hpp"
#include "grader/play/computing_port.hpp"
#include "grader/play/filler.hpp"
#include "grader/play/sharded_play.hpp"

namespace lockstep::grader {
namespace {

Tensor given(const RingShape& shape, const Bytes& numbers, const RingCase& c, Device& device) {
  Shape sizes;
  for (const std::int64_t size : shape) sizes.push_back(size);
  const Tensor made = empty(sizes, c.dtype, device, MemoryKind::activations);
  if (!numbers.empty()) write_filled(made, numbers);
  return made;
}

RingReport report_of(const ops::Attention& made, const RingCase& c) {
  const Shape &output = made.output.shape(), &log_sums = made.log_sums.shape();
  RingReport report{.output_shape = {output.begin(), output.end()},
                    .log_sums_shape = {log_sums.begin(), log_sums.end()},
                    .output_dtype = made.output.dtype(),
                    .log_sums_dtype = made.log_sums.dtype()};
  const bool fills = made.output.numel() % c.filler == 0;
  report.output = numbers_in(made.output, fills ? c.filler : 1);
  report.log_sums = copy_of(made.log_sums);
  return report;
}

std::vector<RingReport> attend(comm::ProcessGroup& group, const RingCase& c, Device& host,
                               sim::Port& port) {
  std::vector<RingReport> reports;
  AskingDevice asking(host, port);
  Device& device = c.asks ? asking : host;
  for (std::size_t k = 0; k < c.calls.size(); ++k) {
    const RingCall& call = c.calls[k];
    const Tensor queries = given(call.queries_shape, call.queries, c, device);
    Moments moments(device, port);  // the keys and values are the part's
    Tensor keys_values = given(call.keys_values_shape, call.keys_values, c, device);
    const auto attended = [&] {
      return sequence_parallel::ring_attention(group, queries, std::move(keys_values), c.heads,
                                               c.slices);
    };
    if (c.walk == RingWalk::refused) {
      reports.emplace_back().ending = ending_of<ContractError>(attended);
      continue;
    }
    if (c.walk == RingWalk::hands_over) {
      ops::Attention made;
      moments.is_made();
      moments.call([&] { made = attended(); });
      reports.push_back(report_of(made, c));
      continue;
    }
    const Tensor kept = keys_values;
    reports.push_back(report_of(attended(), c));
    reports.back().changed = numbers_in(kept, c.filler) != call.keys_values ||
                             numbers_in(queries, c.filler) != call.queries;
  }
  return reports;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_computing<RingCase>(played, attend); }

}  // namespace lockstep::grader
