// How the key of a quiz loses its answers.
#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/quiz/hashes.hpp"
#include "grader/course/quiz/slow_hash.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

std::string fresh_salt() {
  std::random_device system;
  std::string salt;
  for (int i = 0; i < 16; ++i) salt += "0123456789abcdef"[system() % 16];
  return salt;
}

// An entry is for all answers, or only for those that were typed with their unit.
enum class OpenedBy : unsigned char { any_answer, answer_with_unit };

class Hashing {
 public:
  Hashing(const json& key, int rounds) : key_(key), rounds_(rounds) {
    hashed_ = {{"id", key_text(key, "id")}, {"type", key_text(key, "type")}, {"salt", salt_}};
    for (const char* open : {"steps", "unit", "counts", "otherwise", "measured_at"}) {
      if (key.contains(open)) hashed_[open] = key.at(open);
    }
  }

  json question() {
    const std::string type = key_text(key_, "type");
    if (type == "choice") {
      choice();
    } else if (type == "order") {
      order();
    } else if (type == "number") {
      number();
    } else {
      formula();
    }
    return hashed_;
  }

 private:
  json entry(const std::string& answer, const std::string& reason, int rounds = slow_rounds) const {
    const HiddenReason hidden = hide(answer, reason, salt_, rounds);
    return {{"tag", hidden.tag}, {"reason", hidden.hidden}};
  }

  // By tag, so that the order says nothing.
  void choice() {
    std::map<std::string, json> by_tag;
    const auto add = [&](const json& one) { by_tag[one.at("tag")] = one; };
    add(entry(key_text(key_, "right"), ""));
    for (const auto& [letter, reason] : key_entry(key_, "wrong").items()) {
      add(entry(letter, reason.get<std::string>()));
    }
    for (const auto& [tag, one] : by_tag) hashed_["letters"].push_back(one);
  }

  void order() {
    hashed_["pairs"] = json::array();
    for (const json& edge : key_entry(key_, "edge")) {
      hashed_["pairs"].push_back(
          entry(key_text(edge, "after") + key_text(edge, "before"), misordered(edge)));
    }
  }

  // An entry for each cell that touches what is close to `value`, and as many that nothing opens as
  // make it six: how many cells a range touches would tell a little of where it lies.
  void add_near(double value, const std::string& reason,
                OpenedBy opened_by = OpenedBy::any_answer) {
    constexpr double slack = 1e-13;
    const double size = std::fabs(value), width = tolerance_of(key_) * size + absolute_tolerance;
    if (tolerance_of(key_) >= 1) throw BrokenKey("its tolerance is no part of the value");
    const double step = hashed_.at("step");
    std::set<std::string> cells{cell_of(value, step)};
    const double low = std::max(size - width, absolute_tolerance) * (1 - slack);
    const double high = (size + width) * (1 + slack);
    for (int i = 0; size > 0 && i <= 16; ++i) {  // a range is less than six cells wide
      cells.insert(cell_of(std::copysign(low * std::pow(high / low, i / 16.0), value), step));
    }
    for (const std::string& cell : cells) {
      add_value(entry(cell, with_range({value, width}, reason), rounds_), opened_by);
    }
    constexpr std::size_t entries = 6;
    for (std::size_t i = cells.size(); i < entries; ++i) {
      add_value(entry(fresh_salt(), with_range({}, reason)), opened_by);
    }
  }
  void add_value(json one, OpenedBy opened_by) {
    if (opened_by == OpenedBy::answer_with_unit) one["typed"] = true;
    hashed_["values"].push_back(std::move(one));
  }

  void number() {
    const double right = key_number(key_, "value"), scale = scale_of(key_);
    std::random_device system;
    const double finer = std::uniform_real_distribution(1.0, 4.0)(system);
    hashed_["step"] = step_for(tolerance_of(key_)) / finer;
    hashed_["rounds"] = rounds_;
    add_near(right * scale, "");
    if (in_bytes(key_)) add_near(right, wrong_unit(), OpenedBy::answer_with_unit);
    for (const json& mistake : key_.value("mistake", json::array())) {
      add_near(key_number(mistake, "value") * scale, key_text(mistake, "because"));
    }
  }

  std::string digits(const std::string& formula, const std::vector<Point>& points) const {
    const FormulaValues values = QuizReader().values(formula, points);
    if (!values.problem.empty()) throw BrokenKey(formula + ": " + values.problem);
    return digits_of(values.values);
  }

  void formula() {
    std::vector<std::pair<std::string, std::string>> all{{key_text(key_, "formula"), ""}};
    for (const json& mistake : key_.value("mistake", json::array())) {
      all.emplace_back(key_text(mistake, "formula"), key_text(mistake, "because"));
    }
    constexpr int tries = 1000;
    const std::uint64_t seed = std::random_device{}();
    std::vector<Point> points;
    for (int k = 0; k < tries && std::ssize(points) < points_sampled; ++k) {
      const Point point = drawn(key_entry(key_, "variables"), seed, k);
      const bool sure = std::ranges::all_of(
          all, [&](const auto& each) { return !digits(each.first, {point}).empty(); });
      if (sure) points.push_back(point);
    }
    if (points.empty()) throw BrokenKey("its formulas have no value where their variables lie");
    hashed_["points"] = points;
    hashed_["rounds"] = rounds_;
    for (const auto& [written, reason] : all) {
      hashed_["formulas"].push_back(entry(digits(written, points), reason, rounds_));
    }
  }

  const json& key_;
  const int rounds_;
  std::string salt_ = fresh_salt();
  json hashed_;
};

}  // namespace

std::string hashed_key(const std::filesystem::path& key, int rounds) {
  json hashed{{"note", hashes_can_be_guessed}, {"question", json::array()}};
  const json answered = quiz_rules(key);
  try {
    std::vector<std::future<json>> questions;  // side by side: a hash is slow on purpose
    for (const json& question : key_entry(answered, "question")) {
      questions.push_back(std::async(std::launch::async, [&question, rounds] {
        return Hashing(question, rounds).question();
      }));
    }
    for (std::future<json>& one : questions) hashed["question"].push_back(one.get());
  } catch (const BrokenKey& error) {
    throw Error(text("the key of a quiz is broken (", key.string(), "): ", error.what()));
  }
  return write_json(hashed, 1) + "\n";
}

}  // namespace lockstep::grader
