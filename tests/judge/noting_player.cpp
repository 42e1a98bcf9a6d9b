// A player of the judge's own tests: each rank reads what all have noted, and then notes its lines,
// one call of the storage a line.
#include "engine/sim/hosts/player.hpp"
#include "tests/judge/noting_case.hpp"

int main() {
  using namespace lockstep;
  using namespace lockstep::grader;
  std::int64_t played_before = 0;
  return sim::serve_cases([&](sim::PlayerCase& played) {
    const auto c = fields_from_bytes<NotingCase>(played.input.rest());
    ServedStorage storage(played.port);
    NotingReport report{{}, played_before++};
    for (const checkpoint::Stored& one : storage.list("")) {
      report.found.push_back(checkpoint::read_text(storage, one.name, 1 << 10));
    }
    std::uint64_t at = 0;
    for (const std::string& line : c.lines) {
      storage.write(text("rank", played.rank), at, std::as_bytes(std::span(line)));
      at += line.size();
    }
    return fields_to_bytes(report);
  });
}
