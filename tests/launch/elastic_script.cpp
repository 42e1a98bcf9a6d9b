#include "tests/launch/elastic_script.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/random.hpp"

namespace lockstep::test {

Script draw_script(std::uint64_t seed, std::uint64_t number, int store_every) {
  std::uint64_t place = 100 * number;
  const auto one_of = [&](int count) {
    return static_cast<int>(random_bits(seed, place++) % static_cast<std::uint64_t>(count));
  };
  const auto moment = [&](double from, double to) {
    return from + (to - from) * random_uniform(seed, place++);
  };
  Script script;
  script.loses_store = number % static_cast<std::uint64_t>(store_every) == 1;
  const std::vector<std::vector<std::string>> ways{{}, {"--save", "sharded"}, {"--save-async"}};
  script.save = ways.at(number % ways.size());
  const int launchers = 2 + one_of(3);
  script.events.push_back({Event::Kind::come, 0, 0, 1 + one_of(2)});
  for (int i = 1; i < launchers; ++i) {
    const double comes = moment(0, 1.5);
    script.events.push_back({Event::Kind::come, comes, i, 1 + one_of(2)});
    const int fate = one_of(4);
    if (fate == 3) continue;  // it stays
    script.events.push_back(
        {fate == 0 ? Event::Kind::interrupt : Event::Kind::kill, comes + moment(0.2, 1.5), i});
  }
  if (one_of(2) == 0) script.events.push_back({Event::Kind::kill_rank, moment(0.3, 2), one_of(3)});
  if (script.loses_store) script.events.push_back({Event::Kind::kill, moment(0.8, 2), 0});
  std::ranges::stable_sort(script.events, {}, &Event::at_s);
  return script;
}

int number_after(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  return at == text.npos ? -1 : std::stoi(text.substr(at + words.size()));
}

std::vector<Round> rounds_in(const std::string& seen) {
  std::vector<Round> rounds;
  std::istringstream lines(seen);
  for (std::string line; std::getline(lines, line);) {
    const bool of_launcher = line.starts_with("round ");
    if (of_launcher && line.find(" begins on ") != line.npos) {
      rounds.push_back(
          {number_after(line, "round "), number_after(line, "with "), number_after(line, "; ")});
    }
    if (rounds.empty()) continue;
    Round& round = rounds.back();
    if (line.find("continues at step ") != line.npos) {
      round.start = number_after(line, "continues at step ");
    }
    if (line.find("begins at the first step") != line.npos) round.start = 0;
    if (line.find(" on synthetic: ") != line.npos) {
      round.trainers = number_after(line, " on synthetic: ");
    }
    if (line.starts_with("[rank ")) continue;
    round.came |= line.find(" has come, with ") != line.npos;
    round.failed |= line.find(") is gone, and its ranks") != line.npos ||
                    line.find(" and leaves") != line.npos ||
                    (of_launcher && line.find(" (pid ") != line.npos);
  }
  return rounds;
}

}  // namespace lockstep::test
