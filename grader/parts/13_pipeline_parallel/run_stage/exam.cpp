// The exam of run_stage. The parts of a chain are dealt to the stages, so that a stage can only
// compute what its messages let it; the judge computes the whole chain itself. Passes take virtual
// time: what a stage waits for shows in the time of the run.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/lost_peer_rules.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/13_pipeline_parallel/run_stage/problem.hpp"

namespace lockstep::grader::run_stage {
namespace {

using pipeline::Plan;
using pipeline::Schedule;

StageCase case_of(const Problem& p, std::uint64_t salt, int stage) {
  StageCase one{.plan = p.plan, .weights = weights_of(p, salt), .costs = p.costs};
  one.fails_at = p.fails_at;
  std::vector<int> mine;
  for (int chunk = 0; chunk < p.plan.chunks; ++chunk) mine.push_back(chunk * p.plan.stages + stage);
  one.share = share_of(chain_of(p, salt), mine);
  one.share.holds = !p.measured;
  return one;
}

// Fewer micro-batches or stages would need another plan; what can go is the world around them.
std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  if (p.members.size() < p.members.world) {
    offered.emplace_back(p).members = whole_world(p.plan.stages);
  }
  return offered;
}

using Contract = RanksContract<Problem, StageCase, StageReport>;
const Contract contract{.case_of = case_of, .compare = compare, .smaller = smaller};

Plan plan_of(Schedule schedule, int stages, int chunks, int micro_batches) {
  return pipeline::make_plan(schedule, stages, chunks, micro_batches);
}

// Of each (stages, chunks, micro-batches).
using Sizes = std::vector<std::array<int, 3>>;
void judge_schedule(CaseRunner& runner, Schedule schedule, const std::string& name,
                    const Sizes& sizes) {
  for (const auto& [stages, chunks, micro_batches] : sizes) {
    judge(runner, contract,
          problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), name));
  }
}

void any_plan(CaseRunner& runner) {
  // Gradients are needed in another order than they are sent. Their sizes do not give them away.
  Plan turned = plan_of(Schedule::gpipe, 2, 1, 4);
  std::reverse(turned.actions.front().begin() + 4, turned.actions.front().end());
  Problem p = problem_of(runner, turned, "GPipe, on stage 0 the last micro-batch goes back first");
  p.rows.assign(4, 2);
  judge(runner, contract, p);
  // The first stage hurries ahead: its messages are taken much later than they were sent.
  Plan hurried = plan_of(Schedule::one_f_one_b, 3, 1, 6);
  hurried.actions.front() = plan_of(Schedule::gpipe, 3, 1, 6).actions.front();
  judge(runner, contract, problem_of(runner, hurried, "GPipe on stage 0 and 1F1B on the others"));
  for (const auto& [stages, chunks, micro_batches] :
       Sizes{{2, 1, 5}, {3, 1, 7}, {2, 3, 4}, {4, 2, 3}, {1, 3, 3}, {5, 1, 6}}) {
    judge(runner, contract,
          problem_of(runner, drawn_plan(runner.draw(), stages, chunks, micro_batches),
                     "a drawn plan"));
  }
}

void check_messages(CaseRunner& runner, const Played& played, const Problem& p) {
  for (int stage = 0; stage < p.plan.stages; ++stage) {
    const auto& seen = played.counters.ranks[static_cast<std::size_t>(stage)];
    const Sent right = sent_by(p, stage);
    if (seen.messages_sent == right.messages && seen.bytes_sent == right.bytes) continue;
    runner.fail(played, wasteful("other_messages", static_cast<double>(seen.bytes_sent),
                                 static_cast<double>(right.bytes), text("from stage ", stage),
                                 text("the gradients are right, but stage ", stage, " sends ",
                                      counted(seen.messages_sent, "message"),
                                      " where its plan has ", right.messages)));
  }
}

void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const std::vector<StageReport>& reports) {
  constexpr std::int64_t bytes_of_tensor = 3 * chain_width * sizeof(double);
  constexpr int spare = 2;
  for (int stage = 0; stage < p.plan.stages; ++stage) {
    const int most = tensors_held(p.plan, stage) + spare;
    const std::int64_t held = reports[static_cast<std::size_t>(stage)].held_bytes_max;
    // Losses and weights are smaller than a tensor, and do not count.
    if (held / bytes_of_tensor <= most) continue;
    Failure failure{
        .message = text("the gradients are right, but when a pass of stage ", stage,
                        " begins, up to ", held / bytes_of_tensor,
                        " tensors are kept beside the stage's own, where ", most, " are enough"),
        .expected = text("at most ", most, " tensors"),
        .seen = text(held / bytes_of_tensor, " tensors"),
        .where = text("stage ", stage)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played, because({"tensors_kept",
                                 "what was received is kept after its pass, or what was sent after "
                                 "it has arrived; a plan bounds the memory of a stage only if both "
                                 "are let go"},
                                failure));
  }
}

void memory(CaseRunner& runner) {
  const Contract with_memory{
      .case_of = case_of,
      .compare = [](CaseRunner& at, const Played& played, const Problem& p, std::uint64_t salt,
                    const std::vector<StageReport>& reports) {
        compare(at, played, p, salt, reports);
        check_memory(at, played, p, reports);
      }};
  for (const auto& [schedule, stages, chunks] :
       {std::tuple{Schedule::one_f_one_b, 2, 1}, std::tuple{Schedule::one_f_one_b, 4, 1},
        std::tuple{Schedule::interleaved, 2, 2}, std::tuple{Schedule::interleaved, 1, 3},
        std::tuple{Schedule::zero_bubble, 3, 1}}) {
    Problem p = problem_of(runner, plan_of(schedule, stages, chunks, 24), "24 micro-batches");
    p.rows.assign(24, 3);
    p.measured = true;
    judge(runner, with_memory, p);
  }
}

void failing_stage(CaseRunner& runner) {
  const Contract must_throw{
      .case_of = case_of,
      .compare = [](CaseRunner& at, const Played& played, const Problem& p, std::uint64_t,
                    const std::vector<StageReport>& reports) {
        const StageReport& seen = reports.front();
        if (seen.threw && std::ssize(seen.passes) == p.fails_at + 1) return;
        at.fail(played, because({"error_swallowed",
                                 "what the stage throws is caught. Let it leave the part, so that "
                                 "no caller mistakes a partial result for a complete one"},
                                {.message = text("the stage throws in its pass number ",
                                                 p.fails_at + 1, ", and the part returns normally"),
                                 .expected = "what the stage throws",
                                 .seen = "a normal return"}));
      }};
  for (const auto& [schedule, fails_at] :
       {std::tuple{Schedule::gpipe, 1}, std::tuple{Schedule::gpipe, 4},
        std::tuple{Schedule::zero_bubble, 1}, std::tuple{Schedule::zero_bubble, 2}}) {
    Problem p = problem_of(runner, plan_of(schedule, 1, 1, 3), "one stage that fails");
    p.fails_at = fails_at;
    judge(runner, must_throw, p);
  }
}

// A transfer takes some 6 µs. Beside passes of 20 µs and more, every one of them can be hidden.
void check_time(CaseRunner& runner, const Played& played, const Problem& p) {
  constexpr double transfer_s = 6.1e-6, slack = 1.03;
  const double best = pipeline::price(p.plan, {{p.costs}, transfer_s}).makespan_s;
  const double seen = played.counters.makespan_s;
  if (seen <= best * slack) return;
  const auto micros = [](double seconds) { return text(std::lround(seconds * 1e6), " µs"); };
  Failure failure{.message = text("the gradients are right, but the run takes ", micros(seen),
                                  " where ", micros(best),
                                  " are enough: stages wait for messages that could have travelled "
                                  "while they worked"),
                  .expected = text("at most ", micros(best * slack)),
                  .seen = micros(seen)};
  failure.verdict = Verdict::efficiency;
  runner.fail(played, because({"transfers_exposed",
                               "the receive of the next pass is posted after this pass has run, or "
                               "a send is waited for; a message moves only when both sides are "
                               "posted"},
                              failure));
}

void hidden_transfers(CaseRunner& runner) {
  const auto judge_time = [&](Schedule schedule, int stages, int chunks, int micro_batches,
                              const std::string& name) {
    judge(runner, contract,
          problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), name), check_time);
  };
  judge_time(Schedule::gpipe, 2, 1, 8, "GPipe");
  judge_time(Schedule::gpipe, 4, 1, 12, "GPipe");
  judge_time(Schedule::one_f_one_b, 2, 1, 12, "1F1B");
  judge_time(Schedule::one_f_one_b, 4, 1, 12, "1F1B");
  judge_time(Schedule::interleaved, 2, 2, 8, "interleaved");
  judge_time(Schedule::zero_bubble, 4, 1, 8, "zero bubble");
  judge_time(Schedule::zero_bubble, 4, 1, 28, "zero bubble");
}

}  // namespace

Exam exam() {
  return {
      {"one stage alone: its passes in the plan's order, each micro-batch with its weight",
       [](CaseRunner& runner) {
         judge_schedule(runner, Schedule::gpipe, "GPipe", {{1, 1, 1}, {1, 1, 2}, {1, 1, 5}});
         judge_schedule(runner, Schedule::interleaved, "interleaved", {{1, 2, 3}});
         Problem p = problem_of(runner, plan_of(Schedule::gpipe, 1, 1, 3), "GPipe, fine weights");
         p.beside = 0x1p-29;  // no float32 holds such a weight
         judge(runner, contract, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 1, 1, 3), "GPipe, one weight is 0");
         p.without_weight = 1;
         judge(runner, contract, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 1, 1, 1), "GPipe, the only weight is 0");
         p.without_weight = 0;
         judge(runner, contract, p);
       }},
      {"GPipe on 2 to 5 stages: losses and gradients are those of one device",
       [](CaseRunner& runner) {
         judge_schedule(runner, Schedule::gpipe, "GPipe",
                        {{2, 1, 1}, {2, 1, 4}, {3, 1, 2}, {4, 1, 7}, {5, 1, 5}});
         Problem p = problem_of(runner, plan_of(Schedule::gpipe, 3, 1, 4), "GPipe, fine weights");
         p.beside = 0x1p-29;  // so gradients are no numbers of float32
         judge(runner, contract, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 3, 1, 4), "GPipe, fine inputs");
         p.fine_inputs = true;
         judge(runner, contract, p);
       }},
      {"1F1B on 2 to 8 and 13 stages, also with fewer micro-batches than stages",
       [](CaseRunner& runner) {
         judge_schedule(
             runner, Schedule::one_f_one_b, "1F1B",
             {{2, 1, 5}, {3, 1, 8}, {4, 1, 2}, {5, 1, 13}, {8, 1, 9}, {2, 1, 1}, {13, 1, 6}});
       }},
      {"interleaved: several chunks on a stage, and parts that follow each other on one",
       [](CaseRunner& runner) {
         judge_schedule(runner, Schedule::interleaved, "interleaved",
                        {{2, 2, 2}, {2, 2, 8}, {3, 2, 6}, {2, 4, 4}, {4, 2, 4}});
       }},
      {"zero bubble: the gradient of the input goes on before that of the weights is made",
       [](CaseRunner& runner) {
         judge_schedule(runner, Schedule::zero_bubble, "zero bubble",
                        {{1, 1, 3}, {2, 1, 4}, {3, 1, 7}, {4, 1, 3}, {5, 1, 8}});
         Problem p = problem_of(runner, plan_of(Schedule::zero_bubble, 2, 1, 4),
                                "zero bubble, one weight is 0");
         p.without_weight = 1;
         judge(runner, contract, p);
       }},
      {"any plan that can be carried out, and no send is waited for before the end", any_plan},
      {"forward passes alone, as in an evaluation",
       [](CaseRunner& runner) {
         for (const auto& [stages, chunks, micro_batches] :
              Sizes{{1, 1, 4}, {3, 1, 5}, {2, 2, 4}}) {
           judge(runner, contract,
                 problem_of(runner, forward_only(stages, chunks, micro_batches), "forward alone"));
         }
       }},
      {"in a subgroup, stages are ranks of that subgroup",
       [](CaseRunner& runner) {
         Problem p = problem_of(runner, plan_of(Schedule::one_f_one_b, 3, 1, 5), "1F1B");
         p.members = {8, {6, 1, 4}};
         judge(runner, contract, p);
       }},
      {"when a neighbour is lost, a stage throws CommError",
       [](CaseRunner& runner) {
         for (const int at_request : {6, 11}) {
           judge_lost_peer(runner, contract,
                           problem_of(runner, plan_of(Schedule::one_f_one_b, 4, 1, 8), "1F1B"), 2,
                           at_request);
         }
       },
       {},
       Asks::cost},
      {"what a stage throws leaves the part", failing_stage, {}, Asks::cost},
      {"each boundary is crossed once in each direction by each micro-batch, and by nothing else",
       [](CaseRunner& runner) {
         for (const auto& [schedule, stages, chunks, micro_batches] :
              {std::tuple{Schedule::gpipe, 3, 1, 5}, std::tuple{Schedule::interleaved, 3, 2, 6},
               std::tuple{Schedule::zero_bubble, 2, 1, 5}}) {
           judge(runner, contract,
                 problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), "messages"),
                 check_messages);
         }
       },
       {},
       Asks::cost},
      {"a stage keeps no more tensors than the plan has in flight, however many micro-batches come",
       memory,
       {},
       Asks::cost},
      {"messages travel while stages work, so transfers cost no time",
       hidden_transfers,
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::run_stage
