// Plays node_layout: a list of questions, one environment or one place each.
#include "grader/parts/02_processes_and_ranks/node_layout/case.hpp"

namespace lockstep::grader {
namespace {

void answer(const LayoutQuestion& q, ByteWriter& out) {
  if (q.form == LayoutForm::place) {
    const launch::Place place = launch::place_of(q.ranks_per_node, q.rank);
    out.put(LayoutAnswer::answer).put(place.node).put(place.local_rank);
    return;
  }
  const launch::WorkerEnv found =
      launch::worker_environment(q.ranks_per_node, q.node, q.local_rank, q.master);
  out.put(LayoutAnswer::answer).put(static_cast<std::uint32_t>(found.size()));
  for (const auto& [name, value] : found) out.put_text(name).put_text(value);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const LayoutQuestion& question : decode_layout_questions(played.input)) {
    try {
      answer(question, out);
    } catch (const ContractError&) {
      out.put(LayoutAnswer::refused);
    } catch (const NotImplemented&) {
      throw;
    } catch (const std::exception& error) {
      out.put(LayoutAnswer::threw_otherwise).put_text(error.what());
    }
  }
  return out.take();
}

}  // namespace lockstep::grader
