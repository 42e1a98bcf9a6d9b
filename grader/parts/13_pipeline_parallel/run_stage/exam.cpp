// The exam of run_stage. The inputs of a chain are dealt to the stages, and the judge has the
// matrices: a stage gets what a pass makes from the judge, after the pass's time (passes.hpp). So
// the order of passes, their gradients and the time of the run are the judge's own; what a stage
// waits for shows in the time. The judge also looks at the memory of each player. What a player
// says of its tensors can lower the verdict, and no more (decision 0055).
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "engine/base/units.hpp"
#include "engine/parallel/pipeline/outbox.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/13_pipeline_parallel/run_stage/passes.hpp"

namespace lockstep::grader::run_stage {
namespace {

using pipeline::Plan;
using pipeline::Schedule;

StageCase case_of(const Problem& p, std::uint64_t salt, int stage) {
  StageCase one{.plan = p.plan, .weights = weights_of(p, salt)};
  one.fails_at = p.fails_at;
  one.share = share_of(p, chains_of(p, salt), stage);
  one.share.noise = keyed_bits(salt, 92'000);
  return one;
}

bool no_float32(double value) {
  return std::isfinite(value) && static_cast<double>(static_cast<float>(value)) != value;
}

void ask_of(const Problem&, std::uint64_t, int, const StageCase& c, Situations& asked) {
  for (const auto& of_micro_batch : c.share.inputs) {
    ask_of_values(of_micro_batch, asked);
    if (std::ranges::any_of(of_micro_batch, no_float32)) asked.insert(Situation::double_digits);
  }
  const bool all_shapes = c.share.parts >= c.share.shapes && c.share.shapes == 3;
  if (all_shapes && c.share.loss_axes == 0) asked.insert(Situation::shapes);
  if (c.share.dtype == DType::float32) asked.insert(Situation::every_dtype);
}

// Fewer micro-batches or stages would need another plan; what can go is the world around them.
std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  if (p.members.size() < p.members.world) {
    offered.emplace_back(p).members = whole_world(p.plan.stages);
  }
  return offered;
}

using Contract = RanksContract<Problem, StageCase, StageReport, PassService>;
const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .smaller = smaller,
    .services = [](CaseRunner& runner, const Problem& p,
                   std::uint64_t salt) { return std::tuple(PassService(runner, p, salt)); },
    .explain = explain};

Plan plan_of(Schedule schedule, int stages, int chunks, int micro_batches) {
  return pipeline::make_plan(schedule, stages, chunks, micro_batches);
}

const RanksChecks checks(contract, [](CaseRunner& runner, int stages) {
  return problem_of(runner, plan_of(Schedule::one_f_one_b, stages, 1, 5), "1F1B");
});

// Sizes of plans: (stages, chunks, micro-batches) each.
using Sizes = std::vector<std::array<int, 3>>;
void judge_schedule(CaseRunner& runner, Schedule schedule, const std::string& name,
                    const Sizes& sizes) {
  for (const auto& [stages, chunks, micro_batches] : sizes) {
    checks.ask(runner, problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), name));
  }
}

void any_plan(CaseRunner& runner) {
  // Gradients are needed in another order than they are sent. Their sizes do not give them away.
  Plan turned = plan_of(Schedule::gpipe, 2, 1, 4);
  std::reverse(turned.actions.front().begin() + 4, turned.actions.front().end());
  Problem p = problem_of(runner, turned, "GPipe, on stage 0 the last micro-batch goes back first");
  p.rows.assign(4, 2);
  checks.ask(runner, p);
  // The first stage hurries ahead: its messages are taken much later than they were sent.
  Plan hurried = plan_of(Schedule::one_f_one_b, 3, 1, 6);
  hurried.actions.front() = plan_of(Schedule::gpipe, 3, 1, 6).actions.front();
  checks.ask(runner, problem_of(runner, hurried, "GPipe on stage 0 and 1F1B on the others"));
  for (const auto& [stages, chunks, micro_batches] :
       Sizes{{2, 1, 5}, {3, 1, 7}, {2, 3, 4}, {4, 2, 3}, {1, 3, 3}, {5, 1, 6}}) {
    checks.ask(runner, problem_of(runner, drawn_plan(runner.draw(), stages, chunks, micro_batches),
                                  "a drawn plan"));
  }
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    Problem p = problem_of(runner, plan_of(Schedule::gpipe, 3, 1, 3), "GPipe");
    p.odd = odd;
    checks.ask(runner, p);
  }
  Problem p = problem_of(runner, plan_of(Schedule::one_f_one_b, 2, 1, 3), "1F1B");
  p.dtype = DType::float32;
  checks.ask(runner, p);
  p = problem_of(runner, plan_of(Schedule::one_f_one_b, 3, 1, 3), "1F1B");
  p.loss_axes = 0;
  checks.ask(runner, p);
}

// (source, destination, tag) of each message of the plan.
using Labels = std::vector<std::tuple<int, int, int>>;
Labels labels_of(const Problem& p) {
  Labels labels;
  for (int stage = 0; stage < p.plan.stages; ++stage) {
    for (const auto& action : p.plan.actions[static_cast<std::size_t>(stage)]) {
      const auto parcel = pipeline::made_by(p.plan, stage, action);
      if (parcel && parcel->dst != stage) labels.emplace_back(stage, parcel->dst, parcel->tag);
    }
  }
  std::ranges::sort(labels);
  return labels;
}

void check_tags(CaseRunner& runner, const Played& played, const Problem& p) {
  Labels seen;
  for (const auto& message : played.counters.messages) {
    seen.emplace_back(message.src, message.dst, message.tag);
  }
  std::ranges::sort(seen);
  const Labels right = labels_of(p);
  if (seen == right) return;
  const auto differs = std::ranges::mismatch(seen, right);
  const auto [src, dst, tag] = *differs.in1;
  runner.fail(played,
              because({"other_tags", "each message has the tag of its parcel (outbox.hpp)"},
                      {.message = text("the gradients are right, but stage ", src,
                                       " sends a message with tag ", tag, " to stage ", dst,
                                       ", and no parcel of the plan between them has this tag"),
                       .expected = "the tags of the parcels",
                       .seen = text("tag ", tag),
                       .where = text("stage ", src)}));
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
  check_tags(runner, played, p);
}

void messages(CaseRunner& runner) {
  for (const auto& [schedule, stages, chunks, micro_batches] :
       {std::tuple{Schedule::gpipe, 3, 1, 5}, std::tuple{Schedule::interleaved, 3, 2, 6},
        std::tuple{Schedule::zero_bubble, 2, 1, 5}, std::tuple{Schedule::one_f_one_b, 2, 1, 1},
        std::tuple{Schedule::one_f_one_b, 1, 1, 1}, std::tuple{Schedule::one_f_one_b, 13, 1, 2}}) {
    Situations asked;
    if (micro_batches == 1) asked = {Situation::price_at_the_extremes};
    checks.ask(runner,
               problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), "messages"),
               check_messages, asked);
  }
}

Failure too_much_kept(int stage, const std::string& seen, int most) {
  Failure failure{
      .message = text("the gradients are right, but when a pass of stage ", stage, " begins, ",
                      seen, " kept beside the stage's own, where ", most, " tensors are enough"),
      .expected = text("at most ", most, " tensors"),
      .seen = seen,
      .where = text("stage ", stage)};
  failure.verdict = Verdict::efficiency;
  return because({"tensors_kept",
                  "what was received is kept after its pass, or what was sent after it has "
                  "arrived, or receives are posted more than one action ahead; a plan bounds the "
                  "memory of a stage only if both are let go"},
                 failure);
}

// The player counts tensors, which can only speak against it. The judge's own measure is the memory
// of the process: less fine, and nothing that the player says enters it.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const PassService& passes) {
  const std::int64_t bytes_of_tensor =
      std::int64_t{3} * chain_width * p.filler * static_cast<std::int64_t>(sizeof(double));
  constexpr int spare = 2;
  // The program, its stacks, the stage's numbers, and what the line to the judge has in hand. A
  // right stage is at a third of it.
  constexpr std::int64_t others_bytes = std::int64_t{2} << 20;
  for (int stage = 0; stage < p.plan.stages; ++stage) {
    const int most = tensors_held(p.plan, stage) + spare;
    const PassService::Ran& ran = passes.of(stage);
    if (ran.held_bytes_max < 0) throw MalformedMessage("tensors of less than no bytes");
    // Losses and weights are smaller than a tensor, and do not count.
    if (const std::int64_t held = ran.held_bytes_max / bytes_of_tensor; held > most) {
      runner.fail(played, too_much_kept(stage, text("up to ", held, " tensors are"), most));
    }
    if (ran.memory_bytes_max.value_or(0) <= most * bytes_of_tensor + others_bytes) continue;
    const std::string seen = text(grouped(*ran.memory_bytes_max), " bytes are in the process, of ",
                                  grouped(bytes_of_tensor), " a tensor: more than can be");
    runner.fail(played, too_much_kept(stage, seen, most));
  }
}

// The part must let through what a stage throws.
void compare_thrown(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t,
                    const std::vector<StageReport>& reports, const PassService& passes) {
  if (reports.front().threw && std::ssize(passes.of(0).passes) == p.fails_at + 1) return;
  runner.fail(played, because({"error_swallowed",
                               "what the stage throws is caught. Let it leave the part, so that "
                               "no caller mistakes a partial result for a complete one"},
                              {.message = text("the stage throws in its pass number ",
                                               p.fails_at + 1, ", and the part returns normally"),
                               .expected = "what the stage throws",
                               .seen = "a normal return"}));
}

void failing_stage(CaseRunner& runner) {
  for (const auto& [schedule, fails_at] :
       {std::tuple{Schedule::gpipe, 1}, std::tuple{Schedule::gpipe, 4},
        std::tuple{Schedule::zero_bubble, 1}, std::tuple{Schedule::zero_bubble, 2}}) {
    Problem p = problem_of(runner, plan_of(schedule, 1, 1, 3), "one stage that fails");
    p.fails_at = fails_at;
    checks.compared(compare_thrown).ask(runner, p);
  }
}

// A transfer takes some 6 µs, or 16 of a large tensor. Beside passes of 20 µs and more, every one
// of them can be hidden.
void check_time(CaseRunner& runner, const Played& played, const Problem& p) {
  constexpr double slack = 1.03;
  const double largest = *std::ranges::max_element(p.rows) * chain_width * p.filler *
                         static_cast<double>(bytes_of(p.dtype));
  const double transfer_s = 6.1e-6 + largest / sim::Network().bandwidth_bytes_s;
  const double best = pipeline::price(p.plan, {{p.costs}, transfer_s}).makespan_s;
  const double seen = played.counters.makespan_s;
  // No stage gets what a pass makes before the pass's time is over.
  const double least = pipeline::price(p.plan, {{p.costs}, 0}).makespan_s;
  if (seen < least * (1 - 1e-9)) throw MalformedMessage("a run of less time than its passes take");
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

// The largest tensors travel while stages work, too: a part can tell these cases by the sizes.
void check_both(CaseRunner& runner, const Played& played, const Problem& p,
                const PassService& passes) {
  check_memory(runner, played, p, passes);
  check_time(runner, played, p);
}

void memory(CaseRunner& runner) {
  for (const auto& [schedule, stages, chunks, micro_batches] :
       {std::tuple{Schedule::one_f_one_b, 2, 1, 48}, std::tuple{Schedule::one_f_one_b, 4, 1, 24},
        std::tuple{Schedule::interleaved, 2, 2, 24}, std::tuple{Schedule::interleaved, 1, 3, 24},
        std::tuple{Schedule::zero_bubble, 3, 1, 24}}) {
    Problem p = problem_of(runner, plan_of(schedule, stages, chunks, micro_batches),
                           text(micro_batches, " micro-batches"));
    p.rows.assign(static_cast<std::size_t>(micro_batches), 3);
    p.measured = true;
    p.filler = 1024;
    checks.then(check_both).ask(runner, p);
  }
}

void hidden_transfers(CaseRunner& runner) {
  const auto judge_time = [&](Schedule schedule, int stages, int chunks, int micro_batches,
                              const std::string& name) {
    checks.ask(runner, problem_of(runner, plan_of(schedule, stages, chunks, micro_batches), name),
               check_time);
  };
  judge_time(Schedule::gpipe, 2, 1, 8, "GPipe");
  judge_time(Schedule::gpipe, 4, 1, 12, "GPipe");
  judge_time(Schedule::one_f_one_b, 2, 1, 12, "1F1B");
  judge_time(Schedule::one_f_one_b, 4, 1, 12, "1F1B");
  judge_time(Schedule::interleaved, 2, 2, 8, "interleaved");
  judge_time(Schedule::zero_bubble, 4, 1, 8, "zero bubble");
  judge_time(Schedule::zero_bubble, 4, 1, 28, "zero bubble");
  judge_time(Schedule::one_f_one_b, 2, 1, 1, "1F1B");
  judge_time(Schedule::gpipe, 13, 1, 4, "GPipe");
  judge_time(Schedule::one_f_one_b, 13, 1, 16, "1F1B");
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
         checks.ask(runner, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 1, 1, 3), "GPipe, one weight is 0");
         p.without_weight = 1;
         checks.ask(runner, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 1, 1, 1), "GPipe, the only weight is 0");
         p.without_weight = 0;
         checks.ask(runner, p);
       }},
      {"GPipe on 2 to 5 stages: losses and gradients are those of one device",
       [](CaseRunner& runner) {
         judge_schedule(runner, Schedule::gpipe, "GPipe",
                        {{2, 1, 1}, {2, 1, 4}, {3, 1, 2}, {4, 1, 7}, {5, 1, 5}});
         Problem p = problem_of(runner, plan_of(Schedule::gpipe, 3, 1, 4), "GPipe, fine weights");
         p.beside = 0x1p-29;  // so gradients are no numbers of float32
         checks.ask(runner, p);
         p = problem_of(runner, plan_of(Schedule::gpipe, 3, 1, 4), "GPipe, fine inputs");
         p.fine_inputs = true;
         checks.ask(runner, p);
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
         checks.ask(runner, p);
       }},
      {"any plan that can be carried out, and no send is waited for before the end", any_plan},
      {"forward passes alone, as in an evaluation",
       [](CaseRunner& runner) {
         for (const auto& [stages, chunks, micro_batches] :
              Sizes{{1, 1, 4}, {3, 1, 5}, {2, 2, 4}}) {
           checks.ask(runner, problem_of(runner, forward_only(stages, chunks, micro_batches),
                                         "forward alone"));
         }
       }},
      {"in a subgroup, stages are ranks of that subgroup", checks.twice_in_a_subgroup()},
      {"what is not finite in a micro-batch shows in the loss and the gradients; zeros, "
       "float32 and a loss without dimensions are right, too",
       odd_values},
      // Also at the last requests, when the others wait for their sends.
      of_fault("when a neighbour is lost, a stage throws CommError",
               [](CaseRunner& runner) {
                 judge_lost_peers(
                     runner, contract,
                     problem_of(runner, plan_of(Schedule::one_f_one_b, 3, 1, 2), "1F1B"), 39);
               }),
      of_fault("what a stage throws leaves the part", failing_stage),
      of_cost("each boundary is crossed once in each direction by each micro-batch, and by nothing "
              "else",
              messages),
      of_cost("a stage keeps no more tensors than the plan has in flight, however many "
              "micro-batches come",
              memory),
      of_cost("messages travel while stages work, so transfers cost no time", hidden_transfers),
  };
}

}  // namespace lockstep::grader::run_stage
