// Launchers that come and go: what node 0 decides, beside a model of the rules.
#include <signal.h>

#include <array>
#include <set>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"
#include "engine/launch/coordinator.hpp"
#include "tests/catch.hpp"
#include "tests/launch/rounds_model.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::How;
using lockstep::test::RulesModel;
using Kind = Command::Kind;
using Grace = Command::Grace;

namespace {

Failure failure_of(How how, int needed) {
  Failure failure;
  const int code = how == How::refused || how == How::too_small ? refusal_code : 1;
  failure.status = code << 8;  // as wait() gives it
  failure.spare = how == How::spare;
  failure.saved = how == How::saved;
  failure.ranks_needed = how == How::too_small ? needed : 0;
  return failure;
}

// A list of events that can happen in this order, drawn one after the other.
class EventList {
 public:
  explicit EventList(std::uint64_t seed) : seed_(seed) {}

  void run(int events) {
    Membership rules;
    rules.nodes_min = 1 + one_of(3);
    rules.nodes_max = rules.nodes_min + one_of(3);
    rules.last_call_s = one_of(2) * 3;
    rules.timeout_s = 10;
    restarts_ = one_of(4);
    told_ = text("seed ", seed_, ": ", rules.nodes_min, ":", rules.nodes_max, ", ", restarts_,
                 " restarts, last call ", rules.last_call_s, "\n");
    Coordinator real(restarts_, rules);
    RulesModel model(rules, restarts_);
    arrive(real, model);
    for (int i = 0; i < events && !model.is_over(); ++i) step(real, model);
  }
  const std::string& told() const { return told_; }

 private:
  int one_of(int count) {
    return static_cast<int>(random_bits(seed_, next_++) % static_cast<std::uint64_t>(count));
  }
  int some_of(const auto& ids) {
    return *std::next(ids.begin(), one_of(static_cast<int>(ids.size())));
  }

  void arrive(Coordinator& real, RulesModel& model) {
    const Newcomer newcomer{1 + one_of(2), one_of(3) == 0 ? std::optional(one_of(4)) : std::nullopt,
                            "host"};
    told_ += text("  ", model.now, ": launcher ", came_, " arrives\n");
    const auto said = real.at(model.now).arrived(came_, newcomer);
    compare(real, model, said, model.arrive(came_, newcomer));
    ++came_;
  }

  void step(Coordinator& real, RulesModel& model) {
    real.at(model.now);
    switch (one_of(model.busy().empty() ? 4 : 9)) {
      case 0:
        return arrive(real, model);
      case 1: {
        const auto wakes = model.wakes_at();
        model.now = wakes && one_of(2) == 0 ? *wakes : model.now + one_of(3);
        told_ += text("  it is ", model.now, "\n");
        return compare(real, model, real.at(model.now).time_passed(), model.later());
      }
      case 2: {
        const int id = one_of(came_);
        if (id == 0 || gone_.contains(id)) return;
        gone_.insert(id);
        failed_.erase(id);
        told_ += text("  ", model.now, ": launcher ", id, " departs\n");
        return compare(real, model, real.departed(id, "it is gone"), model.depart(id));
      }
      case 3: {
        const int id = one_of(came_);
        if (gone_.contains(id) || (id == 0 && one_of(10) > 0)) return;
        if (std::ranges::count(model.there(), id) == 0) return;
        told_ += text("  ", model.now, ": launcher ", id, " is interrupted\n");
        return compare(real, model, real.interrupted(id, "SIGTERM"), model.interrupt(id));
      }
      case 4: {
        const int id = some_of(model.busy());
        failed_.insert(id);
        told_ += text("  ", model.now, ": a rank of ", id, " fails\n");
        return compare(real, model, real.failed(id), model.fail());
      }
      default: {
        const int id = some_of(model.busy());
        const bool failed = failed_.contains(id);
        if (!failed && !model.stops() && one_of(3) > 0) return;  // or most lists are short
        const How how = failed ? std::array{How::failed, How::saved}[one_of(4) / 3]
                        : model.stops()
                            ? std::array{How::well,    How::well,      How::failed, How::spare,
                                         How::refused, How::too_small, How::saved}[one_of(7)]
                            : std::array{How::well, How::spare}[one_of(4) / 3];
        const int needed = model.world() + one_of(3);
        told_ +=
            text("  ", model.now, ": the ranks of ", id, " end, ", static_cast<int>(how), "\n");
        std::vector<Failure> failures;
        if (how != How::well) failures.push_back(failure_of(how, needed));
        return compare(real, model, real.ended(id, failures, 0), model.end(id, how, needed));
      }
    }
  }

  void compare(Coordinator& real, RulesModel& model, const std::optional<Command>& said,
               const RulesModel::Answer& expected) {
    INFO(told_);
    REQUIRE(said.has_value() == expected.kind.has_value());
    REQUIRE(real.wakes_at() == model.wakes_at());
    if (!said) return;
    told_ += text("    -> ", static_cast<int>(said->kind), " ", said->report, "\n");
    REQUIRE(said->kind == *expected.kind);
    REQUIRE(said->attempt == model.round());
    switch (said->kind) {
      case Kind::begin:
        failed_.clear();
        REQUIRE(said->members == model.members());
        REQUIRE(said->restarts + model.restarts_left() == restarts_);
        break;
      case Kind::stop:
        REQUIRE((said->grace == Grace::to_save) == expected.saves);
        break;
      case Kind::end:
        REQUIRE(said->code == expected.code);
        REQUIRE(said->report.empty() == (said->code == 0));
        break;
      case Kind::wait:
        failed_.clear();
        REQUIRE(!said->report.empty());
    }
  }

  std::uint64_t seed_, next_ = 0;
  int came_ = 0, restarts_ = 0;
  std::set<int> gone_, failed_;
  std::string told_;
};

void run_lists(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) EventList(seed).run(60);
}

const Membership one_to_three{1, 3, 3, 10};

// A round of launchers 0 and 1, with two ranks each, that runs.
Coordinator two_that_run(int restarts, const Membership& membership = one_to_three) {
  Coordinator run(restarts, membership);
  run.at(0).arrived(0, {2, {}, "a"});
  run.at(1).arrived(1, {2, {}, "b"});
  const auto begins = run.at(4).time_passed();
  REQUIRE((begins && begins->kind == Kind::begin && begins->members == std::vector{0, 1}));
  CHECK(begins->report == text("round 0 begins on 2 nodes, with 4 ranks; ", restarts,
                               restarts == 1 ? " restart left" : " restarts left"));
  return run;
}

}  // namespace

TEST_CASE("rounds: random lists of events, beside a model of the rules") { run_lists(0, 4000); }
TEST_CASE("rounds: 100,000 random lists of events, beside a model of the rules", "[.all]") {
  run_lists(4000, 100'000);
}

TEST_CASE("rounds: one begins with MAX launchers, or when the last call is over") {
  Coordinator run(0, {2, 3, 3, 10});
  CHECK_FALSE(run.at(0).arrived(0, {1, {}, "a"}));
  CHECK(run.wakes_at() == 10);
  CHECK_FALSE(run.at(4).arrived(1, {1, {}, "b"}));
  CHECK(run.wakes_at() == 7);
  const auto begins = run.at(5).arrived(2, {1, 1, "c"});
  REQUIRE(begins);
  CHECK(begins->members == std::vector{0, 2, 1});  // its wish
  CHECK(run.node_of(2) == 1);
  CHECK_FALSE(run.at(6).arrived(3, {1, {}, "d"}));
  CHECK_FALSE(run.node_of(3));
  CHECK_FALSE(run.wakes_at());
}

TEST_CASE("rounds: an arrival stops all with time to save, and uses no restart") {
  Coordinator run = two_that_run(0);
  const auto stop = run.at(20).arrived(2, {1, {}, "c"});
  REQUIRE(stop);
  CHECK((stop->kind == Kind::stop && stop->grace == Grace::to_save));
  CHECK_FALSE(run.at(21).ended(1, {}, 2));
  const auto begins = run.at(22).ended(0, {}, 2);
  REQUIRE(begins);
  CHECK((begins->kind == Kind::begin && begins->attempt == 1 && begins->restarts == 0));
  CHECK(begins->members == std::vector{0, 1, 2});
  CHECK(begins->report ==
        "round 0: c has come, with 1 rank\n"
        "round 1 begins on 3 nodes, with 5 ranks; 0 restarts left");
}

TEST_CASE("rounds: ranks that cannot save are stopped as after a failure") {
  Coordinator run = two_that_run(0);
  run.at(20).arrived(2, {1, {}, "c"});
  const auto stop = run.failed(1);
  REQUIRE(stop);
  CHECK((stop->kind == Kind::stop && stop->grace == Grace::of_failure));
  CHECK_FALSE(run.failed(0));
}

TEST_CASE("rounds: a departure uses a restart, once, and the rest goes on after the last call") {
  Coordinator run = two_that_run(1);
  CHECK(run.at(20).departed(1, "b is gone")->grace == Grace::of_failure);
  Failure blames = failure_of(How::failed, 0);
  blames.blames_peers = true;
  const auto waits = run.at(21).ended(0, {blames}, 1);
  REQUIRE(waits);
  CHECK(waits->kind == Kind::wait);
  CHECK(waits->report ==
        "round 0: b is gone\nround 1 begins in 3 s at the latest, or with 3 nodes");
  CHECK(run.wakes_at() == 23);
  const auto begins = run.at(23).time_passed();
  REQUIRE(begins);
  CHECK((begins->restarts == 1 && begins->members == std::vector{0}));
  CHECK(begins->report == "round 1 begins on 1 node, with 2 ranks; 0 restarts left");
}

TEST_CASE("rounds: the members of a failed rank begin again at once") {
  Coordinator run = two_that_run(1);
  run.at(20).failed(1);
  run.ended(0, {}, 2);
  const auto begins = run.at(21).ended(1, {failure_of(How::failed, 0)}, 1);
  REQUIRE(begins);
  CHECK((begins->kind == Kind::begin && begins->restarts == 1));
  CHECK_THAT(begins->report, contains("round 0: rank 0 of 4 (pid 0 on node 0, ) exited with code "
                                      "1; the 3 ranks still running were stopped") &&
                                 contains("round 1 begins on 2 nodes"));
  run.at(30).failed(0);
  run.ended(1, {}, 2);
  const auto end = run.ended(0, {failure_of(How::failed, 0)}, 1);
  REQUIRE(end);
  CHECK((end->kind == Kind::end && end->code == 1));
  CHECK_THAT(end->report, contains("round 1: rank 0 of 4") && contains("no restart is left"));
}

TEST_CASE("rounds: below MIN the run waits, and then stops") {
  Coordinator run = two_that_run(2, {2, 3, 3, 10});
  run.at(20).departed(1, "b is gone");
  const auto waits = run.at(21).ended(0, {}, 2);
  REQUIRE(waits);
  CHECK(waits->report == "round 0: b is gone\nwaits for 1 of 2 nodes, for 10 s");
  const auto end = run.at(31).time_passed();
  REQUIRE(end);
  CHECK((end->kind == Kind::end && end->code == 1));
  CHECK_THAT(end->report, contains("1 of 2 nodes did not come within 10 s"));
}

TEST_CASE("rounds: a world that its ranks find too small waits for more, and uses no restart") {
  Coordinator run = two_that_run(0);
  run.at(20).failed(1);
  run.ended(0, {failure_of(How::too_small, 6)}, 0);
  const auto waits = run.ended(1, {failure_of(How::too_small, 6)}, 0);
  REQUIRE(waits);
  CHECK(waits->kind == Kind::wait);
  CHECK_THAT(waits->report, contains("waits for 2 of 6 ranks, for 10 s"));
  const auto begins = run.at(25).arrived(2, {2, {}, "c"});
  REQUIRE(begins);
  CHECK(begins->restarts == 0);
}

TEST_CASE("rounds: an interrupt makes a node leave, and node 0's ends the run") {
  Coordinator run = two_that_run(1);
  CHECK(run.at(20).interrupted(1, "SIGTERM")->grace == Grace::to_save);
  CHECK_FALSE(run.ended(1, {}, 2));
  const auto waits = run.ended(0, {}, 2);
  REQUIRE(waits);
  CHECK_THAT(waits->report, contains("node 1 (b) was interrupted by SIGTERM and leaves"));
  const auto end = run.interrupted(0, "SIGINT");
  REQUIRE(end);
  CHECK((end->kind == Kind::end && end->code == 1));
  CHECK_THAT(end->report, contains("interrupted by SIGINT"));
}

TEST_CASE("rounds: a newcomer does not stop a run that has ended well on one node") {
  Coordinator run = two_that_run(0);
  CHECK_FALSE(run.ended(1, {}, 0));
  CHECK_FALSE(run.at(20).arrived(2, {1, {}, "c"}));
  CHECK_FALSE(run.departed(1, "b is gone"));  // its work is done
  const auto end = run.ended(0, {}, 0);
  REQUIRE(end);
  CHECK((end->kind == Kind::end && end->code == 0));
}
