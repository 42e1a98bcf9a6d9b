#include "grader/course/quiz/hashes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/course/quiz/slow_hash.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

constexpr std::size_t half = 16;  // bytes: of a tag, and of the secret that hides a reason

std::string hexadecimal(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    out += digits;
  }
  return out;
}

std::string bytes_in(const std::string& digits) {
  std::string out;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    out += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  }
  return out;
}

// Words of any length as equally many bytes: their length, the words, and zeros.
std::string padded(const std::string& words) {
  constexpr std::size_t bytes = 256;
  std::string all = text(words.size(), " ", words);
  all.resize((all.size() / bytes + 1) * bytes);
  return all;
}

std::string unpadded(const std::string& all) {
  std::size_t behind = 0;
  const std::size_t length = std::stoul(all, &behind);
  return all.substr(behind + 1, length);
}

// Hides words and reads them again.
std::string covered(std::string words, const std::string& secret) {
  const std::string cover = slow_hash(secret, "reason", words.size(), 1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<char>(words[i] ^ cover[i]);
  }
  return words;
}

HiddenReason entry_of(const json& entry) {
  return {key_text(entry, "tag"), key_text(entry, "reason")};
}

Opener opener(const json& key, const std::string& answer, int rounds = slow_rounds) {
  return {answer, key_text(key, "salt"), rounds};
}

int rounds_of(const json& key) { return static_cast<int>(key_number(key, "rounds")); }

Reason judged(const std::string& reason) { return reason.empty() ? Reason() : Reason(reason); }

Reason hashed_choice(const json& key, const std::string& answer) {
  const Opener letter = opener(key, letters_of(answer));
  for (const json& entry : key_entry(key, "letters")) {
    if (const auto reason = letter.read(entry_of(entry))) return judged(*reason);
  }
  return wrong_letter(answer);
}

Reason hashed_order(const json& key, const std::string& answer) {
  const auto [order, problem] = given_order(key, answer);
  if (problem) return problem;
  std::vector<Opener> pairs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      pairs.push_back(opener(key, {order[i], order[k]}));
    }
  }
  std::string reasons;
  for (const json& entry : key_entry(key, "pairs")) {
    for (const Opener& pair : pairs) {
      const auto reason = pair.read(entry_of(entry));
      if (reason) reasons += (reasons.empty() ? "" : "\n") + *reason;
    }
  }
  return judged(reasons);
}

// Opens the entry of the cell that a number lies in, if it is in the entry's range, too.
class NumberOpener {
 public:
  NumberOpener(const json& key, double value)
      : value_(value),
        opener_(opener(key, cell_of(value, key_number(key, "step")), rounds_of(key))) {}
  std::optional<std::string> read(const json& entry) const {
    const auto both = opener_.read(entry_of(entry));
    if (!both) return std::nullopt;
    const auto [range, reason] = range_and_reason(*both);
    if (std::fabs(value_ - range.value) > range.width) return std::nullopt;
    return reason;
  }

 private:
  double value_;
  Opener opener_;
};

Reason hashed_number(const json& key, const std::string& answer) {
  const GivenNumber given = given_number(key, answer);
  if (given.problem) return given.problem;
  const NumberOpener value(key, given.value);
  std::optional<NumberOpener> typed;
  if (in_bytes(key)) typed.emplace(key, given.typed);
  for (const json& entry : key_entry(key, "values")) {
    const auto reason =
        entry.value("typed", false) && typed ? typed->read(entry) : value.read(entry);
    if (reason) return judged(*reason);
  }
  return key_text(key, "otherwise");
}

Reason hashed_formula(const json& key, const std::string& answer, const QuizRules& rules,
                      const QuizReader& reader) {
  const auto points = key_entry(key, "points").get<std::vector<Point>>();
  const Said said = said_by(answer, key, points, reader);
  if (said.problem) return said.problem;
  const Reason measured = differs_from_measured(key, said, rules);
  const Opener digits = opener(key, digits_of(said.at_drawn), rounds_of(key));
  for (const json& entry : key_entry(key, "formulas")) {
    const auto reason = digits.read(entry_of(entry));
    if (!reason) continue;
    if (measured) return reason->empty() ? *measured : *measured + ": " + *reason;
    return judged(*reason);
  }
  return measured ? *measured : key_text(key, "otherwise");
}

}  // namespace

const char* const hashes_can_be_guessed =
    "Answers are kept as salted hashes. They cannot be read, but small ones can be guessed: a "
    "program finds a letter or an order at once, and a number by trying those that the question "
    "suggests.";

std::string cell_of(double value, double step) {
  if (std::fabs(value) <= absolute_tolerance) return "0";
  const double cell = std::floor(std::log(std::fabs(value)) / step);
  char out[40];
  std::snprintf(out, sizeof out, "%c%.0f", value < 0 ? '-' : '+', cell);
  return out;
}

double step_for(double tolerance) {
  constexpr double finest = 1e-9;
  return 2 * std::max(tolerance, finest);
}

std::string with_range(const Range& range, const std::string& reason) {
  std::string out;
  for (const double number : {range.value, range.width}) {
    const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number);
    out.append(bytes.data(), bytes.size());
  }
  return out + reason;
}

std::pair<Range, std::string> range_and_reason(const std::string& both) {
  std::array<char, sizeof(double)> value, width;
  if (both.size() < value.size() + width.size()) throw BrokenKey("an entry has no range");
  std::copy_n(both.begin(), value.size(), value.begin());
  std::copy_n(both.begin() + value.size(), width.size(), width.begin());
  return {{std::bit_cast<double>(value), std::bit_cast<double>(width)},
          both.substr(value.size() + width.size())};
}

std::string digits_of(const std::vector<double>& values) {
  const auto written = [](double value) {
    char out[40];
    std::snprintf(out, sizeof out, "%.9e;", std::fabs(value) <= absolute_tolerance ? 0 : value);
    return std::string(out);
  };
  constexpr double margin = 1e-12;
  std::string all;
  for (const double value : values) {
    const std::string digits = written(value);
    if (!std::isfinite(value) || digits != written(value * (1 - margin)) ||
        digits != written(value * (1 + margin))) {
      return "";
    }
    all += digits;
  }
  return all;
}

HiddenReason hide(const std::string& answer, const std::string& reason, const std::string& salt,
                  int rounds) {
  const std::string both = slow_hash(answer, salt, 2 * half, rounds);
  return {hexadecimal(both.substr(0, half)),
          hexadecimal(covered(padded(reason), both.substr(half)))};
}

Opener::Opener(const std::string& answer, const std::string& salt, int rounds) {
  const std::string both = slow_hash(answer, salt, 2 * half, rounds);
  tag_ = hexadecimal(both.substr(0, half));
  secret_ = both.substr(half);
}

std::optional<std::string> Opener::read(const HiddenReason& reason) const {
  if (reason.tag != tag_) return std::nullopt;
  return unpadded(covered(bytes_in(reason.hidden), secret_));
}

Reason judge_hashed(const json& key, const std::string& answer, const QuizRules& rules,
                    const QuizReader& reader) {
  const std::string type = key_text(key, "type");
  if (type == "choice") return hashed_choice(key, answer);
  if (type == "order") return hashed_order(key, answer);
  if (type == "number") return hashed_number(key, answer);
  if (type == "formula") return hashed_formula(key, answer, rules, reader);
  throw BrokenKey("there is no type '" + type + "'");
}

}  // namespace lockstep::grader
