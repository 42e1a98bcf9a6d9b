#include "grader/sandbox/confined_quiz.hpp"

#include "engine/sim/wire/printable.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

// A quiz takes a thousandth of this.
constexpr CommandLimits reader_limits{
    .deadline_s = 60, .output_bytes = 4 << 20, .memory_bytes = std::size_t{1} << 30, .cpu_s = 10};
// One formula takes a millisecond, and a quiz has several.
constexpr CommandLimits formula_limits{
    .deadline_s = 60, .output_bytes = 4 << 20, .memory_bytes = std::size_t{1} << 30, .cpu_s = 2};
constexpr int reader_not_confined = 126, reader_not_started = 127;
constexpr std::size_t sentence_bytes_max = 2000, words_bytes_max = 16 << 10;

ByteReader reader_of(const std::string& bytes) {
  return ByteReader(std::as_bytes(std::span(bytes)));
}

}  // namespace

void write_formula(ByteWriter& out, const FormulaQuestion& question) {
  out.put_text(question.formula).put(question.points.size());
  for (const Point& point : question.points) {
    out.put(point.size());
    for (const auto& [name, value] : point) out.put_text(name).put(value);
  }
}

FormulaQuestion read_formula(const std::string& bytes) {
  ByteReader in = reader_of(bytes);
  FormulaQuestion question;
  question.formula = in.get_text();
  for (auto points = in.get<std::size_t>(); points > 0; --points) {
    Point& point = question.points.emplace_back();
    for (auto variables = in.get<std::size_t>(); variables > 0; --variables) {
      const std::string name = in.get_text();
      point[name] = in.get<double>();
    }
  }
  return question;
}

void write_answers(ByteWriter& out, const std::vector<GivenAnswer>& answers) {
  for (const GivenAnswer& answer : answers) {
    out.put_text(answer.id).put_text(answer.title).put_text(answer.answer);
  }
}

std::vector<GivenAnswer> read_answers(ByteReader& in) {
  std::vector<GivenAnswer> answers;
  while (!in.done()) {
    GivenAnswer& answer = answers.emplace_back();
    answer.id = in.get_text(words_bytes_max);
    answer.title = in.get_text(words_bytes_max);
    answer.answer = in.get_text(words_bytes_max);
  }
  return answers;
}

void write_values(ByteWriter& out, const FormulaValues& values) {
  out.put_text(values.problem).put_list(std::span<const double>(values.values));
}

FormulaValues read_values(ByteReader& in) {
  FormulaValues values;
  values.problem = in.get_text();
  values.values = in.get_list<double>();
  return values;
}

ConfinedQuizReader::ConfinedQuizReader(const Places& places, const std::filesystem::path& folder)
    : program_(places.build / "bin" / "lab-reader"), folder_(folder) {}

// Returns what the reader says after its '+'.
std::string ConfinedQuizReader::asked(const std::string& kind, const std::string& content,
                                      const std::string& name, const std::string& otherwise,
                                      const CommandLimits& limits) const {
  const std::filesystem::path file = folder_ / (kind + ".given");
  write_text(file, content);
  const CommandResult result =
      run_command({program_.string(), kind, file.string(), name}, folder_, limits);
  if (result.exit_code == reader_not_confined || result.exit_code == reader_not_started) {
    throw Error("a student's file cannot be read safely here: " + result.output);
  }
  if (result.exit_code != 0 || result.timed_out || result.output.empty()) {
    throw UnreadableQuiz(otherwise);
  }
  const std::string rest = result.output.substr(1);
  if (result.output.front() == '+') return rest;
  throw UnreadableQuiz(sim::printable(reader_of(rest).get_text(), sentence_bytes_max));
}

std::vector<GivenAnswer> ConfinedQuizReader::answers(const std::string& content,
                                                     const std::string& name) const {
  name_ = name;
  const std::string otherwise =
      name + " cannot be read: reading it crashed, or took too long; " + how_to_restore(name);
  try {
    const std::string said = asked("quiz", content, name, otherwise, reader_limits);
    ByteReader in = reader_of(said);
    return read_answers(in);
  } catch (const MalformedMessage&) {
    throw UnreadableQuiz(otherwise);
  }
}

// A formula that keeps the reader busy or breaks it costs its answer and no other.
FormulaValues ConfinedQuizReader::values(const std::string& formula,
                                         const std::vector<Point>& points) const {
  const FormulaValues none{{}, "computing it crashed, or took too long"};
  ByteWriter question;
  write_formula(question, {formula, points});
  const Bytes& bytes = question.bytes();
  try {
    const std::string said =
        asked("formula", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name_,
              none.problem, formula_limits);
    ByteReader in = reader_of(said);
    FormulaValues values = read_values(in);
    if (values.problem.empty() && values.values.size() != points.size()) return none;
    values.problem = sim::printable(values.problem, sentence_bytes_max);
    return values;
  } catch (const MalformedMessage&) {
    return none;
  } catch (const UnreadableQuiz&) {
    return none;
  }
}

}  // namespace lockstep::grader
