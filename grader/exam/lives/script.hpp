// Cases of several lives: players that work on the judge's storage until they end, and new players
// that find what those have left. It is one case, whose result is the last life's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grader/exam/lives/storage_service.hpp"

namespace lockstep::grader {

// Its number of ranks may differ from the others'.
struct Life {
  std::string name;           // "life 2", as the description goes on
  std::vector<Bytes> inputs;  // by rank
  LifeEnd end{};
};

// The services of a life besides the storage: what its ranks report, the steps they take.
using ServicesOfLife = std::function<std::vector<sim::Service*>(std::size_t life)>;

// Plays the next case. nullopt as of CaseRunner::play; the storage is then untouched.
//   common  schedule, network, limits and situations of the case, its description, and who plays
//           each life. After a life that ended early, all players are new in any case
//   Throws  Failure of any life, in whose `where` its name stands
inline std::optional<Played> play_lives(CaseRunner& runner, const CaseSetup& common,
                                        StorageService& storage, std::span<const Life> lives,
                                        const ServicesOfLife& others = {}) {
  const bool plays = runner.plays_next();
  std::optional<Played> played;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const bool last = i + 1 == lives.size();
    if (!plays && !last) continue;
    CaseSetup setup = common;
    setup.description += text("; ", lives[i].name);
    setup.inputs = lives[i].inputs;
    if (others) setup.services = others(i);
    setup.services.push_back(&storage);
    if (plays) storage.begin(lives[i].end);
    if (last) {
      played = runner.play(setup);
    } else {
      runner.rehearse(setup);
    }
  }
  return played;
}

}  // namespace lockstep::grader
