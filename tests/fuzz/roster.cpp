// What a spreadsheet may hold: a roster is read, with notes on what was odd, or refused in a
// sentence. The first line of the input names the column of the students. A run's journal keeps the
// roster as JSON and gives the same one back.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.hpp"
#include "grader/batch/hand_ins/roster.hpp"
#include "tests/fuzz/expect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::grader;
  using lockstep::test::expect;
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  const std::string column = end == std::string::npos ? "" : all.substr(0, end);
  const std::string table = end == std::string::npos ? all : all.substr(end + 1);
  try {
    const Roster roster = read_roster(table, column);
    for (const auto& [student, about] : roster.students) {
      expect(!student.empty() && about.size() == roster.columns.size());
    }
    const Roster kept = roster_from(nlohmann::json::parse(json_of(roster).dump()));
    expect(kept.columns == roster.columns && kept.students == roster.students);
    expect(kept.notes == roster.notes);
  } catch (const lockstep::UsageError&) {  // a sentence for the instructor
  }
  return 0;
}
