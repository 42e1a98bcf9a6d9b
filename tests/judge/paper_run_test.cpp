// The run that players save, on paper and as a player has it.
#include "grader/exam/lives/saved.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using checkpoint::PieceKind;

namespace {

PaperRun small_run() {
  checkpoint::TrainState first{.step = 7, .epoch = 2, .taken = 24, .seed = 5};
  first.loss_scaler = {1024, 3};
  return {{{PieceKind::parameter, "weight", {3, 2}},
           {PieceKind::buffer, "mean", {}},
           {PieceKind::optimizer_state, "weight.exp_avg", {0, 2}}},
          first,
          99};
}

LifeReport after(const PaperRun& run, int steps) {
  CpuDevice device;
  LifeCase c;
  c.tensors = run.held(PaperRun::Gives::values);
  c.state = run.state(0);
  HeldState held(c, device);
  const StepService numbers = run.service();
  for (int step = 0; step < steps; ++step) held.step(numbers.number(held.state().step));
  held.go_on_from(held.state());
  return held.report();
}

std::string told_of(const std::optional<Failure>& failure) {
  return failure ? failure->message : "";
}

}  // namespace

TEST_CASE("paper run: a player that takes the same steps has what the judge computes") {
  const PaperRun run = small_run();
  for (const int steps : {0, 1, 2, 9}) {
    CHECK(told_of(difference(run, steps, after(run, steps))) == "");
    CHECK_THAT(told_of(difference(run, steps + 1, after(run, steps))),
               test::contains("element 0 of weight is"));
  }
  CHECK(run.state(2).taken == 0);  // the epoch was over
  CHECK(run.state(2).epoch == 3);
  CHECK(run.state(2).loss_scaler->clean_updates == 5);
}

TEST_CASE("paper run: one element, one field of the state, and a missing tensor are seen") {
  const PaperRun run = small_run();
  const LifeReport right = after(run, 2);
  LifeReport wrong = right;
  wrong.values[0].back() ^= std::byte{1};
  CHECK_THAT(told_of(difference(run, 2, wrong)), test::contains("element 5 of weight is"));
  wrong = right;
  wrong.state.taken = 8;
  CHECK_THAT(told_of(difference(run, 2, wrong)),
             test::contains("epoch 3, 8 places taken") && test::contains("0 places taken"));
  wrong = right;
  wrong.values.pop_back();
  CHECK_THROWS_AS(difference(run, 2, wrong), MalformedMessage);
}

TEST_CASE("paper run: the cause is what was not found, or what the run goes on from") {
  const PaperRun run = small_run();
  LifeReport report = after(run, 2);
  report.restored = 1;
  CHECK(cause_of(run, report, 3).name == "other_values");
  report.state.taken = 8;
  CHECK(cause_of(run, report, 2).name == "place_lost");
  report.missing = {"mean"};
  CHECK(cause_of(run, report, 2).name == "piece_missing");
  report.missing = {"weight.exp_avg"};
  CHECK(cause_of(run, report, 2).name == "optimizer_missing");
  report.missing = {"nothing"};
  CHECK_THROWS_AS(cause_of(run, report, 2), MalformedMessage);
  report.restored = 2;
  CHECK(cause_of(run, report, 2).sentence.ends_with("it was called 2 times"));
  report.found = false;
  CHECK(cause_of(run, report, 2).name == "nothing_found");
}
