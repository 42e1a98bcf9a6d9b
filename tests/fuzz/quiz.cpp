// A quiz as a student hands it in: read into answers, or refused with a sentence. Each answer is
// then computed as a formula, and judged by the rules of the other types of question, which run
// where the key is.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "grader/course/quiz/reader.hpp"
#include "grader/course/quiz/rules.hpp"

namespace {

using namespace lockstep::grader;
using nlohmann::json;

const json choice = {{"right", "b"}, {"wrong", {{"a", "not a"}, {"c", "not c"}}}};
const json order = {{"steps", "abcd"},
                    {"edge",
                     {{{"before", "a"}, {"after", "b"}, {"because", "b reads a"}},
                      {{"before", "b"}, {"after", "d"}, {"because", "d reads b"}}}}};
const json count = {{"value", 16}, {"counts", "updates"}, {"otherwise", "count again"}};
const json bytes = {{"value", 7},
                    {"unit", "GB"},
                    {"tolerance", 0.002},
                    {"otherwise", "think again"},
                    {"mistake", {{{"value", 4}, {"because", "only the size"}}}}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const QuizReader reader;
  const std::string content(reinterpret_cast<const char*>(data), size);
  try {
    for (const GivenAnswer& given : reader.answers(content, "work/01_lesson/quiz.toml")) {
      static_cast<void>(reader.values(given.answer, {{{"N", 4}, {"P", 100}}}));
      static_cast<void>(judge_choice(choice, given.answer));
      static_cast<void>(judge_order(order, given.answer));
      static_cast<void>(judge_number(count, given.answer));
      static_cast<void>(judge_number(bytes, given.answer));
    }
  } catch (const UnreadableQuiz&) {
  }
  return 0;
}
