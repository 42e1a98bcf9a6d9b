// What a spreadsheet may hold: a roster is read, with notes on what was odd, or refused in a
// sentence. The first line of the input names the column of the students.
#include <cstdint>
#include <string>

#include "engine/base/error.hpp"
#include "grader/batch/roster.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  const std::string column = end == std::string::npos ? "" : all.substr(0, end);
  const std::string table = end == std::string::npos ? all : all.substr(end + 1);
  try {
    const auto roster = lockstep::grader::read_roster(table, column);
    for (const auto& [student, about] : roster.students) {
      if (student.empty() || about.size() != roster.columns.size()) __builtin_trap();
    }
  } catch (const lockstep::UsageError&) {  // a sentence for the instructor
  }
  return 0;
}
