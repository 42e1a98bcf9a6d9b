#include "grader/exam/driven/run.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::grader {

using Kind = DrivenEvent::Kind;
using Note = ScriptService::Note;
using sim::CollectiveRecord;

const Note& note_of(const DrivenRun& run, int rank, std::size_t pass, Kind kind,
                    std::size_t parameter) {
  for (const Note& note : run.events.notes(rank)) {
    const DrivenEvent& event = note.scripted.event;
    const bool of_parameter = kind != Kind::ready || event.parameter == parameter;
    if (note.scripted.pass == pass && event.kind == kind && of_parameter) return note;
  }
  throw MalformedMessage(text("rank ", rank, " did not ask for all events of a pass"));
}

const Note& first_of_pass(const DrivenRun& run, int rank, std::size_t pass) {
  for (const Note& note : run.events.notes(rank)) {
    if (note.scripted.pass == pass) return note;
  }
  throw MalformedMessage(text("rank ", rank, " did not begin all passes"));
}

double next_asked_s(const DrivenRun& run, int rank, const Note& note) {
  const auto& notes = run.events.notes(rank);
  const auto at = static_cast<std::size_t>(&note - notes.data()) + 1;
  return at < notes.size() ? notes[at].asked_s : std::numeric_limits<double>::infinity();
}

std::vector<const CollectiveRecord*> collectives_of_pass(const Played& played, const DrivenRun& run,
                                                         std::size_t pass) {
  const double begins_s = first_of_pass(run, 0, pass).asked_s;
  const double ends_s = next_asked_s(run, 0, note_of(run, 0, pass, Kind::finalize));
  std::vector<const CollectiveRecord*> found;
  for (const CollectiveRecord& record : played.counters.collectives) {
    const double entered_s = record.entered_s.empty() ? -1 : record.entered_s.front();
    if (begins_s <= entered_s && entered_s <= ends_s) found.push_back(&record);
  }
  return found;
}

std::string in_pass(const DrivenRun& run, std::size_t pass) {
  return run.script.passes.size() > 1 ? text(" in pass ", pass + 1) : "";
}

}  // namespace lockstep::grader
