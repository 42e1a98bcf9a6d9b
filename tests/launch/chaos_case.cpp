#include "tests/launch/chaos_case.hpp"

#include <signal.h>

#include <array>
#include <sstream>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"

namespace lockstep::test {
namespace {

constexpr std::array ends{End{"SIGKILL", SIGKILL, "was killed by signal 9 (SIGKILL)"},
                          End{"SIGSEGV", SIGSEGV, "was killed by signal 11 (SIGSEGV)"},
                          End{"SIGTERM", SIGTERM, "was killed by signal 15 (SIGTERM)"},
                          End{"exit(3)", 0, "exited with code 3"}};
constexpr int signals = 3;  // come first: a training cannot be told to exit

struct Training {
  const char* way;
  int servers = 0;  // of async: the others can do without the ranks from this one on
  int stages = 1;   // which divide the ranks
};
constexpr std::array trainings{Training{"--horovod"},
                               Training{"--async --servers 1 --staleness 0", 1},
                               Training{"--compress int8"},
                               Training{"--pp 2 --schedule 1f1b", 0, 2},
                               Training{"--async --servers 1 --staleness 2", 1},
                               Training{"--compress topk:0.01"},
                               Training{"--pp 2 --schedule zero-bubble", 0, 2},
                               Training{"--async --servers 1 --staleness inf", 1},
                               Training{"--compress powersgd:2"},
                               Training{"--compress bf16"}};

// No run ends by itself before its victim does, but those that go on without it come to an end: on
// a slow machine soon enough, and so on a fast one, now and then, before the victim's moment.
constexpr const char* endless = "1000000";
constexpr const char* a_while = "1500";

// What is drawn in a run, by place.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t run) : seed_(seed), run_(run) {}
  int one_of(std::uint64_t place, int count) const {
    const std::uint64_t bits = random_bits(seed_, 8 * run_ + place);
    return static_cast<int>(bits % static_cast<std::uint64_t>(count));
  }
  double share(std::uint64_t place) const { return random_uniform(seed_, 8 * run_ + place); }

 private:
  std::uint64_t seed_, run_;
};

// A third of the moments is from the time in which ranks start and meet, the rest from the time in
// which they train.
double moment(const Draw& draw, double started_s) {
  const double at = draw.share(3);
  return draw.one_of(4, 3) == 0 ? started_s * at : started_s + 0.45 * at;
}

std::string transport(const Draw& draw) { return draw.one_of(5, 2) == 0 ? "shm" : "gloo"; }

}  // namespace

Case draw_loop(int nodes, std::uint64_t seed, std::uint64_t run) {
  const Draw draw(seed, run);
  Case drawn;
  drawn.nodes = nodes;
  drawn.ranks = 2 + draw.one_of(0, 3);
  drawn.victim = draw.one_of(1, drawn.ranks);
  drawn.end = &ends.at(static_cast<std::size_t>(draw.one_of(2, static_cast<int>(ends.size()))));
  drawn.after_s = moment(draw, 0.05);
  drawn.program = {LOCKSTEP_LOOP_RANK, "--transport", transport(draw)};
  if (drawn.end->signal == 0) {
    drawn.program.insert(drawn.program.end(), {"--fault=exit", text("--rank=", drawn.victim),
                                               text("--after=", drawn.after_s)});
  }
  drawn.row = drawn.end->name;
  return drawn;
}

Case draw_training(std::uint64_t seed, std::uint64_t run) {
  const Draw draw(seed, run);
  const Training& training = trainings.at(run % trainings.size());
  Case drawn;
  drawn.ranks = training.stages == 1 ? 2 + draw.one_of(0, 3) : 2 * (1 + draw.one_of(0, 2));
  drawn.victim = draw.one_of(1, drawn.ranks);
  drawn.end = &ends.at(static_cast<std::size_t>(draw.one_of(2, signals)));
  drawn.after_s = moment(draw, 0.2);
  const bool needed = training.servers == 0 || drawn.victim < training.servers;
  drawn.program = {
      LOCKSTEP_TRAIN, "--data", "synthetic",   "--steps",      needed ? endless : a_while,
      "--batch-size", "16",     "--transport", transport(draw)};
  std::istringstream words(training.way);
  for (std::string word; words >> word;) drawn.program.push_back(word);
  drawn.row = training.way;
  return drawn;
}

std::string text_of(const Case& drawn) {
  std::string line;
  for (std::size_t i = 1; i < drawn.program.size(); ++i) line += " " + drawn.program[i];
  return text("rank ", drawn.victim, " of ", drawn.ranks, " by ", drawn.end->name, " after ",
              static_cast<int>(1000 * drawn.after_s), " ms,", line);
}

}  // namespace lockstep::test
