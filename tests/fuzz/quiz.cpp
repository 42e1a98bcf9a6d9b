// A quiz as a student hands it in: read into answers, each of which is computed as a formula and
// read as a number, or refused with a sentence.
#include <cstdint>

#include "grader/course/quantity.hpp"
#include "grader/course/quiz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::grader;
  const QuizReader reader;
  const std::string content(reinterpret_cast<const char*>(data), size);
  try {
    for (const GivenAnswer& given : reader.answers(content, "work/01_lesson/quiz.toml")) {
      static_cast<void>(quantity_of(given.answer));
      static_cast<void>(reader.values(given.answer, {{{"N", 4}, {"P", 100}}}));
    }
  } catch (const UnreadableQuiz&) {
  }
  return 0;
}
