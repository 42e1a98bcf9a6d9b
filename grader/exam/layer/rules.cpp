// Compares what the ranks of a layer made with what one device makes.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/layer/exam.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::string text_of(const Axes& sizes) {
  std::string all = "[";
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    all += text(axis > 0 ? ", " : "", sizes[axis]);
  }
  return all + "]";
}

// How a shape differs from the one that is wanted, if the sizes of its axes say so.
std::optional<Cause> cause_of_shape(const Axes& wanted, const Axes& seen, int ranks) {
  if (seen.size() != wanted.size() || ranks == 1) return std::nullopt;
  std::vector<std::size_t> others;  // axes
  for (std::size_t axis = 0; axis < seen.size(); ++axis) {
    if (seen[axis] != wanted[axis]) others.push_back(axis);
  }
  if (others.size() == 2 && seen[others[0]] == wanted[others[1]] &&
      seen[others[1]] == wanted[others[0]]) {
    return Cause{"wrong_shape", text("axes ", others[0], " and ", others[1], " are exchanged")};
  }
  if (others.size() != 1) return std::nullopt;
  const std::size_t axis = others.front();
  if (seen[axis] == ranks * wanted[axis]) {
    return Cause{"wrong_shape", text("along axis ", axis, " it is the whole of all ", ranks,
                                     " ranks; this rank has its own part of it")};
  }
  if (ranks * seen[axis] == wanted[axis]) {
    return Cause{"wrong_shape",
                 text("along axis ", axis, " it has ", seen[axis], " of ", wanted[axis],
                      ": one rank's part of ", ranks, " where those of all belong together, or ",
                      "an end is missing")};
  }
  return std::nullopt;
}

// A tensor that a rank made: an output, or a gradient.
struct MadeTensor {
  bool defined = true;
  const Axes* shape = nullptr;
  DType dtype = DType::float64;
  const Bytes* numbers = nullptr;
};
MadeTensor made_of(const LayerGradient& gradient) {
  return {gradient.defined, &gradient.shape, gradient.dtype, &gradient.numbers};
}

// A tensor of all ranks, by its name: "the output of pass 0".
struct Compared {
  const LayerPart* part = nullptr;
  std::string name{};
  const Numbers* right = nullptr;  // the whole
  std::vector<MadeTensor> of_ranks{};
};

// Compares the tensors of all ranks, one after the other.
class LayerComparison {
 public:
  LayerComparison(CaseRunner& runner, const Played& played, const LayerProblem& p,
                  const Layer& layer)
      : runner_(runner), played_(played), p_(p), layer_(layer) {}

  void check(const Compared& compared, const Cause& otherwise) {
    const LayerPart& part = *compared.part;
    const Numbers& right = *compared.right;
    const std::string& name = compared.name;
    std::vector<Bytes> pieces;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      check_shape(part, name, rank, compared.of_ranks);
      pieces.push_back(*compared.of_ranks[static_cast<std::size_t>(rank)].numbers);
    }
    ExpectedPieces expected{.name = name, .dtype = p_.dtype, .whole = right, .tolerance = {}};
    expected.tolerance = relative_tolerance(p_.dtype == DType::float64 ? 1e-12 : 1e-5, right);
    expected.otherwise = otherwise;
    if (p_.dtype == DType::float64) {
      const Cause rounded{"rounded",
                          "only the last digits are wrong: on the way a float64 was rounded to a "
                          "smaller type"};
      expected.mistakes = {{rounded, right}};
    }
    check_pieces(runner_, played_, part.deal, expected, pieces);
    check_bits(part, name, pieces);
  }

 private:
  void check_shape(const LayerPart& part, const std::string& name, int rank,
                   const std::vector<MadeTensor>& of_ranks) const {
    const MadeTensor& made = of_ranks[static_cast<std::size_t>(rank)];
    const Axes& wanted = part.shapes[static_cast<std::size_t>(rank)];
    const std::string where = text("rank ", rank, ", ", name);
    if (!made.defined) {
      const bool first_half = p_.walk == LayerWalk::in_halves && &part == &layer_.input_gradient;
      const auto has = std::ranges::find_if(of_ranks, &MadeTensor::defined) - of_ranks.begin();
      const Cause unrecorded{
          "no_gradient",
          has < p_.ranks()
              ? text("rank ", has, " has one: it used ", part.name, ", and rank ", rank,
                     " did not. Each rank has to use it, or its gradient stays on some of them")
              : text("no operation on the tape has ", part.name,
                     " among its inputs: it was not used, or what was made of it is a tensor and "
                     "no Value")};
      const auto index = static_cast<std::size_t>(rank);
      const std::string why = index < part.unused.size() ? part.unused[index] : std::string();
      const Cause late{"no_gradient",
                       "the derivative gives it only in the second half, for which weights may "
                       "wait; what goes on to the inputs comes in the first one"};
      runner_.fail(
          played_,
          because(first_half    ? late
                  : why.empty() ? unrecorded
                                : Cause{"no_gradient", why},
                  {.message = text("after ", first_half ? "the first half of backward" : "backward",
                                   ", there is no ", name.substr(4), " on rank ", rank),
                   .expected = text_of(wanted),
                   .seen = "nothing",
                   .where = where}));
    }
    if (*made.shape == wanted && made.dtype == p_.dtype) return;
    const std::string expected = text(text_of(wanted), " of ", lockstep::name_of(p_.dtype));
    const std::string seen = text(text_of(*made.shape), " of ", lockstep::name_of(made.dtype));
    const Failure other{
        .cause = "wrong_shape",
        .message = text(name, " is ", seen, " on rank ", rank, ", where its piece is ", expected),
        .expected = expected,
        .seen = seen,
        .where = where};
    const auto cause = cause_of_shape(wanted, *made.shape, p_.ranks());
    runner_.fail(played_, cause ? because(*cause, other) : other);
  }

  // A tensor that several ranks hold has the same bits on all of them.
  void check_bits(const LayerPart& part, const std::string& name,
                  const std::vector<Bytes>& pieces) const {
    for (int rank = 1; rank < p_.ranks(); ++rank) {
      const auto places = part.deal.places(rank), first = part.deal.places(0);
      if (!std::ranges::equal(places, first)) continue;
      const auto seen = as_doubles(p_.dtype, pieces[static_cast<std::size_t>(rank)]);
      const auto zero = as_doubles(p_.dtype, pieces.front());
      const auto at = first_other_bits(seen, zero);
      if (!at) continue;
      runner_.fail(played_,
                   because({"bits_differ",
                            "each rank adds in its own order; one collective gives "
                            "all ranks the same bits"},
                           {.message = text(name, " differs in its last bits: element ", *at,
                                            " is ", number_at(zero, *at), " on rank 0 and ",
                                            number_at(seen, *at), " on rank ", rank),
                            .expected = "the same bits on every rank",
                            .where = text("rank ", rank)}));
    }
  }

  CaseRunner& runner_;
  const Played& played_;
  const LayerProblem& p_;
  const Layer& layer_;
};

std::string of_pass(const LayerProblem& p, std::size_t pass) {
  return p.passes() > 1 ? text(" of pass ", pass + 1) : std::string();
}

void check_hooks(CaseRunner& runner, const Played& played, const LayerProblem& p,
                 const Layer& layer, const LayerReports& reports) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const LayerReport& report = reports[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      if (is_frozen(p.frozen, i, layer.parameters.size())) continue;
      if (report.fired.at(i) == p.passes()) continue;
      runner.fail(played,
                  because({"hooks_fired",
                           "a gradient was added to the parameter itself; return it from the "
                           "derivative, and the tape adds it"},
                          {.message = text("the gradients are right, but the hook of ",
                                           layer.parameters[i].name, " fires ",
                                           counted(report.fired[i], "time"), " on rank ", rank,
                                           " in ", counted(std::ssize(p.back), "backward pass")),
                           .expected = text(p.passes()),
                           .seen = text(report.fired[i]),
                           .where = text("rank ", rank)}));
    }
  }
}

// Backward's first half must leave products to the second one, which has another x. A bias costs
// nothing.
void check_halves(CaseRunner& runner, const Played& played, const LayerProblem& p,
                  const Layer& layer, const LayerReports& reports) {
  if (!layer.early) return;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const LayerReport& report = reports[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      if (is_frozen(p.frozen, i, layer.parameters.size())) continue;
      const bool product = layer.parameters[i].shapes.front().size() > 1;
      const Dealt& deal = layer.parameters[i].deal;
      const Numbers early = deal.piece(rank, layer.early->parameter_gradients[i]);
      const Numbers seen = as_doubles(p.dtype, report.parameters[i].numbers);
      const double near = p.dtype == DType::float64 ? 1e-9 : 1e-4;
      const bool is_late = early == deal.piece(rank, layer.right.parameter_gradients[i]) ||
                           seen.size() != early.size() ||
                           first_difference(seen, early, relative_tolerance(near, early));
      if (is_late || !product) continue;
      Failure failure{
          .message =
              text("the gradient of ", layer.parameters[i].name,
                   " is made in the first half of the walk on rank ", rank,
                   ", while the stage before waits, or from a copy of x: the x that is there "
                   "in the second half is another one"),
          .expected = "in the second half",
          .seen = "in the first half",
          .where = text("rank ", rank)};
      failure.verdict = Verdict::efficiency;
      runner.fail(played, because({"weights_early",
                                   "the tape asks for the gradients in two halves (in_halves): the "
                                   "first gives the input's, the second the parameters'"},
                                  failure));
    }
  }
}

// A tensor that the part was given and must not change, as it is in the end.
void check_left(CaseRunner& runner, const Played& played, const LayerProblem& p, int rank,
                const std::string& name, const LayerPart& part, const Numbers& whole,
                const Bytes& left) {
  const auto seen = as_doubles(p.dtype, left);
  const Numbers given = part.deal.piece(rank, whole);
  const auto at = first_other_bits(seen, given);
  if (!at) return;
  runner.fail(played,
              because({"changed",
                       "a collective writes where it reads: reduce a copy, since others "
                       "may read this tensor"},
                      {.message = text(name, " was ", number_at(given, *at), " at element ", *at,
                                       " on rank ", rank, " and is ", number_at(seen, *at), " now"),
                       .expected = "unchanged",
                       .seen = number_at(seen, *at),
                       .where = text("rank ", rank, ", ", name)}));
}

void check_all_left(CaseRunner& runner, const Played& played, const LayerProblem& p,
                    const Layer& layer, const LayerReports& reports) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const LayerReport& report = reports[static_cast<std::size_t>(rank)];
    for (std::size_t pass = 0; pass < p.passes(); ++pass) {
      check_left(runner, played, p, rank, text("the input", of_pass(p, pass)), layer.input,
                 layer.last_input(pass), report.inputs_left.at(pass));
      if (!p.trains()) continue;
      check_left(runner, played, p, rank, text("the gradient of the output", of_pass(p, pass)),
                 layer.output_gradient, layer.output_gradients[pass],
                 report.gradients_left.at(pass));
    }
  }
}

// A part that must refuse, before it sends anything.
void check_refusal(CaseRunner& runner, const Played& played, const LayerProblem& p,
                   const LayerReports& reports) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const Ending& ending = reports[static_cast<std::size_t>(rank)].ending;
    if (ending.kind == Ending::Kind::threw_expected) continue;
    runner.fail(played, wrong_ending(ending, "ContractError",
                                     text("rank ", rank, ", whose shapes or heads do not fit (",
                                          played.description, ")")));
  }
  const bool sent = !played.counters.collectives.empty() || !played.counters.messages.empty();
  if (!sent) return;
  runner.fail(
      played,
      because(
          {"refused_late", "look at the shapes first: what one rank refuses, its peers wait for"},
          {.message = "the shapes do not fit, and the part communicates before it says so",
           .expected = "ContractError before anything is sent",
           .seen = "a collective, and then ContractError"}));
}

const Cause other_derivative{"other_gradient",
                             "the output is right, and the derivative is not that of the output"};
const Cause other_sum{"other_gradient",
                      "the output is right; the gradient of a bias is the sum of the output's "
                      "gradient over all rows of all samples, along every axis but the last"};

// Earlier cases have asked for the same on a tape that records, and with parameters that are
// trained.
Cause cause_of_output(const LayerProblem& p, const Layer& layer) {
  if (p.walk == LayerWalk::inference) {
    return {"other_output",
            "the tape is one for inference: nothing is recorded there, and all that a forward "
            "pass computes and sends is the same"};
  }
  if (p.frozen != LayerFrozen::none) {
    return {"other_output",
            "a bias or weights are constants of the tape here (node -1): they are computed with as "
            "any others, and only their gradients are not wanted"};
  }
  return {"other_output", layer.steps.empty()
                              ? "it is no other part of the output and no multiple of it"
                              : layer.steps};
}
Cause cause_of_input_gradient(const LayerProblem& p) {
  if (p.walk != LayerWalk::in_halves) return other_derivative;
  return {"other_gradient",
          "backward is walked in two halves, and the gradient of x goes on after the first: what "
          "it waits for, as a sum over the ranks, is over by then"};
}

void check_outputs(LayerComparison& comparison, const LayerProblem& p, const Layer& layer,
                   const LayerService& seen) {
  const Cause other = cause_of_output(p, layer);
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    std::vector<MadeTensor> made;
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const auto& outputs = seen.of(rank).outputs;
      if (outputs.size() != p.passes()) throw MalformedMessage("not an output of each pass");
      made.push_back({true, &outputs[pass].shape, outputs[pass].dtype, &outputs[pass].numbers});
    }
    comparison.check({&layer.output, text("the output", of_pass(p, pass)),
                      &layer.right.outputs[pass], std::move(made)},
                     other);
  }
}

void require_whole(const LayerProblem& p, const Layer& layer, const LayerReport& report,
                   std::size_t back) {
  const std::size_t parameters = layer.parameters.size(), passes = p.passes();
  const std::size_t goes_back = p.trains() ? passes : 0;
  const bool whole = back == goes_back && report.gradients_left.size() == goes_back &&
                     report.inputs_left.size() == passes && report.inputs.size() == passes &&
                     report.parameters.size() == parameters && report.fired.size() == parameters;
  if (!whole) throw MalformedMessage("not a report of all passes");
}

void check_gradients(LayerComparison& comparison, const LayerProblem& p, const Layer& layer,
                     const LayerReports& reports) {
  for (std::size_t pass = 0; pass < p.passes() && p.input == LayerInput::wanted; ++pass) {
    std::vector<MadeTensor> made;
    for (const LayerReport& report : reports) made.push_back(made_of(report.inputs[pass]));
    comparison.check({&layer.input_gradient, text("the gradient of the input", of_pass(p, pass)),
                      &layer.right.input_gradients[pass], std::move(made)},
                     cause_of_input_gradient(p));
  }
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    if (is_frozen(p.frozen, i, layer.parameters.size())) continue;
    std::vector<MadeTensor> made;
    for (const LayerReport& report : reports) made.push_back(made_of(report.parameters[i]));
    comparison.check({&layer.parameters[i], text("the gradient of ", layer.parameters[i].name),
                      &layer.right.parameter_gradients[i], std::move(made)},
                     layer.parameters[i].shapes.front().size() == 1 ? other_sum : other_derivative);
  }
}

}  // namespace

void compare_layer(CaseRunner& runner, const Played& played, const LayerProblem& p,
                   const LayerReports& reports, const LayerService& seen) {
  const Layer& layer = seen.layer();
  if (p.walk == LayerWalk::refused) return check_refusal(runner, played, p, reports);
  LayerComparison comparison(runner, played, p, layer);
  check_outputs(comparison, p, layer, seen);
  for (int rank = 0; rank < p.ranks(); ++rank) {
    require_whole(p, layer, reports[static_cast<std::size_t>(rank)], seen.of(rank).back);
  }
  if (p.trains()) check_halves(runner, played, p, layer, reports);
  if (p.trains()) check_gradients(comparison, p, layer, reports);
  check_all_left(runner, played, p, layer, reports);
  if (p.trains()) check_hooks(runner, played, p, layer, reports);
}

}  // namespace lockstep::grader
