#include "grader/course/predictions_made.hpp"

#include <charconv>
#include <fstream>
#include <span>
#include <sstream>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

std::vector<std::string> split_at_tabs(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

template <typename Number>
bool is_number(const std::string& field, Number& number, int base) {
  const char* const end = field.data() + field.size();
  const auto [rest, failed] = std::from_chars(field.data(), end, number, base);
  return failed == std::errc() && rest == end;
}

}  // namespace

std::uint64_t question_hash(const std::string& question) {
  return checksum_of(std::as_bytes(std::span(question)));
}

PredictionsMade read_predictions_made(const std::filesystem::path& file) {
  PredictionsMade predictions;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = split_at_tabs(line);
    std::uint64_t question = 0;
    PredictionMade made;
    if (fields.size() != 6 || fields[0] != "predicted") continue;
    if (!is_number(fields[2], question, 16) || !is_number(fields[5], made.made_at, 10)) continue;
    made.answer = fields[3];
    made.held = fields[4] == "held";
    predictions.try_emplace({fields[1], question}, made);
  }
  return predictions;
}

void note_prediction(const std::filesystem::path& file, const std::string& lesson,
                     const std::string& question, const PredictionMade& made) {
  std::filesystem::create_directories(file.parent_path());
  std::string answer = made.answer;
  for (char& letter : answer) {
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
  }
  std::ofstream out(file, std::ios::app);
  out << "predicted\t" << lesson << "\t" << std::hex << question_hash(question) << std::dec << "\t"
      << answer << "\t" << (made.held ? "held" : "missed") << "\t" << made.made_at << "\n";
  if (!out.flush()) throw Error(text(file.string(), " cannot be written"));
}

}  // namespace lockstep::grader
