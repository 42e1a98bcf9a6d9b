// Random bytes hold no check up for long. A result that has the right form, with numbers that might
// be right, comes further: for each kind of case there is one below. A case of reports (a loader,
// a rendezvous) has no result to guess.
#include "grader/impostors/impostor.hpp"
#include "grader/parts/01_why_distribute/model_memory/case.hpp"
#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"
#include "grader/parts/01_why_distribute/training_time/case.hpp"
#include "grader/parts/02_processes_and_ranks/node_layout/case.hpp"
#include "grader/parts/02_processes_and_ranks/seed_everything/case.hpp"
#include "grader/parts/02_processes_and_ranks/split_groups/case.hpp"
#include "grader/parts/03_collectives/read_the_hang/case.hpp"
#include "grader/parts/04_feeding_the_ranks/distributed_sampler/case.hpp"
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"
#include "grader/parts/05_data_parallel/broadcast_parameters/case.hpp"
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"
#include "grader/parts/05_data_parallel/scale_learning_rate/case.hpp"
#include "grader/parts/05_data_parallel/token_weighted_mean/case.hpp"
#include "grader/parts/05_data_parallel/training_loop/case.hpp"
#include "grader/parts/06_all_reduce/choose_all_reduce/case.hpp"
#include "grader/play/collective_case.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {
namespace {

using Numbers = std::vector<std::int64_t>;

double fraction(Dice& dice) { return static_cast<double>(dice.bits() >> 11) * 0x1.0p-53; }

Bytes random_bytes(Dice& dice, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& one : bytes) one = static_cast<std::byte>(dice.bits());
  return bytes;
}

// Numbers of the type, of the size that numbers of cases have.
Bytes random_elements(Dice& dice, DType dtype, std::size_t count) {
  return visit_dtype(dtype, [&]<typename T>() {
    std::vector<T> values(count);
    for (T& value : values) {
      value = static_cast<T>(is_integer(dtype) ? dice.below(100) : 4 * fraction(dice) - 2);
    }
    const auto bytes = std::as_bytes(std::span<const T>(values));
    return Bytes(bytes.begin(), bytes.end());
  });
}

Ending random_ending(Dice& dice, const char* expected) {
  if (dice.below(2) == 0) return {};
  return {Ending::Kind::threw_expected, expected, "it makes no sense"};
}

void write_lost_peer(ByteWriter& out, Dice& dice) {
  const Ending ending = random_ending(dice, "CommError");
  const bool told = ending.kind != Ending::Kind::returned;
  write_fields(out, LostPeerEnding{ending, told ? "rank 1 was killed" : ""});
}

// An answer to each question: answer_to(question).
template <typename Question>
Bytes answers(const std::vector<Question>& questions, const auto& answer_to) {
  ByteWriter out;
  for (const Question& question : questions) write_fields(out, answer_to(question));
  return out.take();
}
// The same where some may be refused.
template <typename Question>
Bytes answers_or_refusals(const std::vector<Question>& questions, Dice& dice,
                          const auto& answer_to) {
  ByteWriter out;
  for (const Question& question : questions) {
    write_fields(out, random_ending(dice, "ContractError"), answer_to(question));
  }
  return out.take();
}

Bytes of(const std::vector<MemoryQuestion>& questions, Dice& dice) {
  return answers_or_refusals(questions, dice, [&](const MemoryQuestion& q) {
    const auto some = [&] { return q.parameters * dice.below(9); };
    return plan::MemoryReport{some(), some(), some(), some(), some(), some()};
  });
}

Bytes of(const std::vector<TimeQuestion>& questions, Dice& dice) {
  return answers(questions, [&](const TimeQuestion&) {
    return plan::TimeEstimate{dice.below(1000), fraction(dice), fraction(dice)};
  });
}

Bytes of(const std::vector<LayoutQuestion>& questions, Dice& dice) {
  return answers_or_refusals(questions, dice, [&](const LayoutQuestion& q) {
    LayoutAnswer answer{{}, {dice.below(std::ssize(q.ranks_per_node)), dice.below(8)}};
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                             "GROUP_WORLD_SIZE", "MASTER_PORT"}) {
      answer.environment[name] = text(dice.below(8));
    }
    answer.environment["MASTER_ADDR"] = q.master.host;
    return answer;
  });
}

Bytes of(const std::vector<SeedQuestion>& questions, Dice& dice) {
  return answers(questions, [&](const SeedQuestion&) {
    return Seeds{dice.bits(), dice.bits(), dice.bits(), dice.bits(), dice.bits()};
  });
}

Plan random_plan(Dice& dice, std::size_t ranks) {
  if (dice.below(2) == 0) return std::nullopt;
  comm::GroupPlan plan;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (dice.below(2) == 0) plan.members.push_back(static_cast<int>(rank));
  }
  plan.rank = dice.below(std::ssize(plan.members));
  return plan;
}

// Questions of a case that begins with its form.
struct SplitQuestions {
  SplitForm form = SplitForm::questions;
  std::vector<SplitQuestion> list;
};
template <typename Archive>
void fields(Archive& archive, SplitQuestions& questions) {
  archive(questions.form, questions.list);
}
struct RealSplit {
  SplitForm form = SplitForm::exchange;
  SplitExchange mine;
};
template <typename Archive>
void fields(Archive& archive, RealSplit& split) {
  archive(split.form, split.mine);
}

Bytes of(const SplitQuestions& questions, Dice& dice) {
  return answers(questions.list,
                 [&](const SplitQuestion& q) { return random_plan(dice, q.of_all_ranks.size()); });
}

Bytes of(const RealSplit& split, Dice& dice) {
  SplitReport report{random_plan(dice, 3), {}};
  if (report.plan) report.tokens.assign(report.plan->members.size(), split.mine.token);
  return fields_to_bytes(report);
}

Bytes of(const std::vector<comm::HangReport>& reports, Dice& dice) {
  return answers(reports, [&](const comm::HangReport& report) {
    return comm::Diagnosis{
        .kind = static_cast<comm::HangKind>(dice.below(1 + static_cast<int>(comm::HangKind::slow))),
        .culprits = {dice.below(std::ssize(report.ranks))},
        .number = dice.below(4) - 1};
  });
}

Bytes of(const std::vector<data::SamplerOptions>& questions, Dice& dice) {
  return answers_or_refusals(questions, dice, [&](const data::SamplerOptions& q) {
    const std::int64_t ranks = std::max(q.ranks, 1);
    Numbers indices(static_cast<std::size_t>((q.length + ranks - 1) / ranks));
    for (auto& index : indices) index = dice.below(q.length);
    return indices;
  });
}

Bytes of(const std::vector<RateQuestion>& questions, Dice& dice) {
  return answers_or_refusals(questions, dice,
                             [&](const RateQuestion& q) { return q.rate.base * dice.below(9); });
}

Bytes of(const std::vector<ChoiceQuestion>& questions, Dice& dice) {
  return answers(questions, [&](const ChoiceQuestion&) {
    collectives::Choice choice;
    choice.algorithm = static_cast<collectives::AllReduce>(1 + dice.below(5));
    for (double& seconds : choice.seconds) seconds = fraction(dice);
    return choice;
  });
}

Bytes of(const CollectiveCase& c, Dice& dice) {
  ByteWriter out;
  for (const CollectiveCall& call : c.calls) {
    if (c.peer == Peer::lost) write_lost_peer(out, dice);
    out.put(std::int64_t{0});
    for (const HeldBuffer& held : call.buffers) {
      const bool none = c.elements == Elements::none;
      const bool keeps = !held.given.empty() && dice.below(2) == 0;
      const auto count = static_cast<std::size_t>(none ? 0 : held.count);
      out.put_bytes(keeps ? held.given : random_elements(dice, c.dtype, count));
    }
  }
  return out.take();
}

GradientReports random_gradients(const Gradients& mine, Dice& dice) {
  GradientReports reports;
  for (std::size_t i = 0; i < mine.sizes.size(); ++i) {
    const auto count = static_cast<std::size_t>(mine.sizes[i]);
    const bool has = mine.has_grad[i] != 0;
    const Shape right = shape_of_parameter(mine.sizes[i]);
    reports.push_back({.defined = has,
                       .dtype = has ? mine.dtype : DType::float32,
                       .shape = Numbers(right.begin(), has ? right.end() : right.begin()),
                       .grad = random_elements(dice, mine.dtype, has ? count : 0),
                       .value = random_elements(dice, mine.dtype, count)});
    if (mine.dtype != DType::float32) continue;
    const std::vector<float> ones(count, 1);
    const auto bytes = std::as_bytes(std::span(ones));
    reports.back().value.assign(bytes.begin(), bytes.end());
  }
  return reports;
}

// The result of one rank in a group: `report()`, if this rank has to report anything.
Bytes in_group(const auto& c, Dice& dice, const auto& report) {
  ByteWriter out;
  if (c.peer == Peer::lost) {
    write_lost_peer(out, dice);
  } else if (c.group.color != comm::ProcessGroup::no_color) {
    write_fields(out, report());
  }
  return out.take();
}

Bytes of(const GradientCase& c, Dice& dice) {
  return in_group(c, dice, [&] { return random_gradients(c.mine, dice); });
}

Bytes of(const WeightedCase& c, Dice& dice) {
  return in_group(c, dice, [&] {
    std::vector<WeightedReport> reports;
    for (const WeightedCall& call : c.calls) {
      reports.push_back({4 * fraction(dice), random_gradients(call.mine, dice)});
    }
    return reports;
  });
}

Bytes of(const ReplicaCase& c, Dice& dice) {
  return in_group(c, dice, [&] {
    std::vector<ModelReport> reports;
    for (const Replica& replica : c.replicas) {
      ModelReport& report = reports.emplace_back();
      for (const auto* tensors : {&replica.parameters, &replica.buffers}) {
        for (const ReplicaTensor& tensor : *tensors) {
          const std::size_t count = tensor.values.size() / bytes_of(tensor.dtype);
          report.push_back({random_elements(dice, tensor.dtype, count), true, true});
        }
      }
    }
    return reports;
  });
}

Bytes of(const EvaluateCase& c, Dice& dice) {
  return in_group(c, dice, [&] {
    std::vector<EvaluateResult> results;
    for (std::size_t i = 0; i < c.model_seeds.size(); ++i) {
      results.push_back({2 * fraction(dice), fraction(dice), dice.bits(), false, false});
    }
    return results;
  });
}

// The parameters of the network that the widths describe.
std::vector<Bytes> random_network(Dice& dice, DType dtype, const Numbers& widths) {
  std::vector<Bytes> parameters;
  for (std::size_t layer = 1; layer < widths.size(); ++layer) {
    for (const std::int64_t count : {widths[layer - 1] * widths[layer], widths[layer]}) {
      parameters.push_back(random_elements(dice, dtype, static_cast<std::size_t>(count)));
    }
  }
  return parameters;
}

std::vector<double> random_losses(Dice& dice, std::int64_t count) {
  std::vector<double> losses(static_cast<std::size_t>(count));
  for (double& loss : losses) loss = 2 * fraction(dice);
  return losses;
}

Bytes of(const StepCase& c, Dice& dice) {
  return in_group(c, dice, [&] {
    const std::int64_t steps = std::ssize(c.labels) / std::max<std::int64_t>(c.batch, 1);
    StepReport report{random_losses(dice, steps), !c.unused, {}};
    if (c.unused) report.parameters.push_back(random_elements(dice, c.dtype, 6));
    for (Bytes& one : random_network(dice, c.dtype, c.widths)) {
      report.parameters.push_back(std::move(one));
    }
    return report;
  });
}

Bytes of(const LoopCase& c, Dice& dice) {
  return fields_to_bytes(
      LoopReport{random_losses(dice, c.epochs), random_network(dice, c.dtype, c.widths)});
}

Bytes of(const TrainingLoopCase& c, Dice& dice) {
  return in_group(c, dice, [&] {
    const auto& [size, inputs, labels, classes] = c.dataset;
    return random_losses(dice, (inputs + 1) * 8 + 9 * classes + inputs);
  });
}

// The first kind of case that the input is.
std::optional<Bytes> result_of_form(std::span<const std::byte>, Dice&) { return std::nullopt; }

template <typename Read, typename... Others>
std::optional<Bytes> result_of_form(std::span<const std::byte> input, Dice& dice, Read read,
                                    Others... others) {
  if (const auto found = case_in(input, read)) return of(*found, dice);
  return result_of_form(input, dice, others...);
}

}  // namespace

Bytes impostors_result(std::span<const std::byte> input, Dice& dice) {
  constexpr std::size_t lengths[] = {0, 1, 4, 8, 16, 64, 1000};
  const int form = dice.below(10);
  if (form == 0) return random_bytes(dice, lengths[dice.below(std::ssize(lengths))]);
  if (form == 1) return random_bytes(dice, input.size());
  const auto result = result_of_form(
      input, dice, read_fields<CollectiveCase>, read_fields<std::vector<MemoryQuestion>>,
      read_fields<std::vector<TimeQuestion>>, read_fields<std::vector<LayoutQuestion>>,
      read_fields<std::vector<SeedQuestion>>, read_fields<SplitQuestions>, read_fields<RealSplit>,
      read_fields<std::vector<comm::HangReport>>, read_fields<std::vector<data::SamplerOptions>>,
      read_fields<std::vector<RateQuestion>>, read_fields<std::vector<ChoiceQuestion>>,
      read_fields<GradientCase>, read_fields<WeightedCase>, read_fields<ReplicaCase>,
      read_fields<EvaluateCase>, read_fields<StepCase>, read_fields<LoopCase>,
      read_fields<TrainingLoopCase>);
  return result ? *result : random_bytes(dice, input.size());
}

}  // namespace lockstep::grader
