// The exam of load_for_inference. The judge has the model, writes checkpoints of it as runs of many
// layouts do, and answers the same tokens itself. The log of its storage says what was read.
#include <algorithm>
#include <cctype>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/weights.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/lives/storage_service.hpp"
#include "grader/exam/ranks/services.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/17_fault_tolerance/load_for_inference/case.hpp"

namespace lockstep::grader::load_for_inference {
namespace {

using checkpoint::NamedTensor;
using checkpoint::Piece;
using checkpoint::PieceKind;

constexpr std::int64_t step = 7, vocabulary = 11;
const std::string folder = "step_000007";

// The cut by which a checkpoint was written.
enum class Wrote : std::uint8_t { whole, flat_shares, columns };

struct Problem {
  Members members{};
  Wrote wrote = Wrote::whole;
  int writers = 1;
  std::string prefix{};        // before every name
  std::string not_prefixed{};  // but this one
  double dropout = 0;
  std::int64_t layers = 1, width = 8;
  DType dtype = DType::float32;
  // The model that is asked for, where it is another one.
  std::int64_t other_width = 0;
  std::optional<DType> other_dtype{};
  std::string missing{};     // a tensor that is not saved
  bool more = false;         // a tensor is saved that the model has not
  std::string transposed{};  // a tensor whose axes are saved in the other order
  std::uint64_t schedule_seed = 0;

  std::string description() const;
};

nn::ModelSpec saved_spec(const Problem& p) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = p.dtype;
  spec.gpt.layers = p.layers;
  spec.gpt.width = p.width;
  spec.gpt.heads = 2;
  spec.gpt.sequence = 6;
  spec.gpt.vocabulary = vocabulary;
  spec.gpt.dropout = p.dropout;
  return spec;
}
nn::ModelSpec asked_spec(const Problem& p) {
  nn::ModelSpec spec = saved_spec(p);
  if (p.other_width > 0) spec.gpt.width = p.other_width;
  if (p.other_dtype) spec.dtype = *p.other_dtype;
  return spec;
}

// Its name in the checkpoint; empty: it is not there.
std::string saved_name(const std::string& name, const Problem& p) {
  if (name == p.missing) return "";
  return (name == p.not_prefixed ? "" : p.prefix) + name;
}

// The model's tensors, and two moments of each, as pieces of a run.
std::vector<Piece> pieces_of(nn::Module& model, const Problem& p, Device& device) {
  std::vector<Piece> pieces;
  const auto add = [&](PieceKind kind, const std::string& name, const Tensor& value) {
    pieces.push_back({kind, name, value.shape(), whole_of(value.shape()), value});
  };
  for (const NamedTensor& one : checkpoint::tensors_of(model)) {
    const std::string name = saved_name(one.name, p);
    if (name.empty()) continue;
    Shape shape = one.value.shape();
    if (one.name == p.transposed) std::ranges::reverse(shape);
    const Tensor value = one.value.view(shape);
    add(PieceKind::parameter, name, value);
    for (const char* moment : {".exp_avg", ".exp_avg_sq"}) {
      add(PieceKind::optimizer_state, name + moment, value);
    }
  }
  if (p.more) add(PieceKind::parameter, p.prefix + "ema.decay", full({2}, 0.5, p.dtype, device));
  return pieces;
}

// The boxes of a writer. Columns are cut of what has two axes; the rest is the first writer's.
Boxes share_of(const Shape& shape, const Problem& p, int writer) {
  if (p.wrote == Wrote::columns && shape.size() == 2) {
    Box box = whole_of(shape).front();
    box.begin[1] = shape[1] * writer / p.writers;
    box.end[1] = shape[1] * (writer + 1) / p.writers;
    return {box};
  }
  if (p.wrote != Wrote::flat_shares) return writer == 0 ? whole_of(shape) : Boxes{};
  const std::int64_t count = numel_of(shape);
  return range_of(whole_of(shape), count * writer / p.writers, count * (writer + 1) / p.writers);
}

void save(checkpoint::Storage& storage, nn::Module& model, const Problem& p, Device& device) {
  const checkpoint::Metadata metadata = nn::metadata_of(saved_spec(p));
  const checkpoint::Draft draft = checkpoint::begin_save(storage, step);
  std::vector<std::string> shares;
  for (int writer = 0; writer < p.writers; ++writer) {
    checkpoint::Contents mine{{}, "adamw"};
    for (Piece piece : pieces_of(model, p, device)) {
      piece.boxes = share_of(piece.shape, p, writer);
      piece.value = cut(piece.value, piece.boxes);
      if (!piece.boxes.empty()) mine.pieces.push_back(std::move(piece));
    }
    shares.push_back(checkpoint::write_share(storage, draft, {writer, p.writers}, mine, metadata));
  }
  checkpoint::commit_save(storage, draft, shares, {.step = step}, {.model = metadata});
}

std::string Problem::description() const {
  const char* const cut = wrote == Wrote::whole         ? "whole"
                          : wrote == Wrote::flat_shares ? "in flat shares"
                                                        : "in columns";
  std::string words = text("a GPT of width ", width, ", saved ", cut, " by ", writers,
                           writers == 1 ? " rank" : " ranks");
  if (!prefix.empty()) words += text(", its names behind \"", prefix, '"');
  if (!not_prefixed.empty()) words += text(", but for ", not_prefixed);
  if (!missing.empty()) words += text(", without ", missing);
  if (more) words += ", with one tensor that is not the model's";
  if (!transposed.empty()) words += text(", ", transposed, " with its axes exchanged");
  if (other_width > 0) words += text("; a model of width ", other_width, " is asked for");
  if (other_dtype) words += text("; a model of ", name_of(*other_dtype), " is asked for");
  if (dropout > 0) words += text(", dropout ", dropout);
  return words;
}

// The checkpoint of a case, and the run that it is of.
struct Saved {
  StorageService storage;
  Bytes logits;             // the right ones
  std::uint64_t bytes = 0;  // of the model

  std::vector<sim::Service*> all() { return {&storage}; }
};
using SavedRun = std::unique_ptr<Saved>;
using Reports = std::vector<InferenceReport>;

// Numbers that no new model has: its biases are 0, and its norms 1.
void fill(nn::Module& model, std::uint64_t seed, Device& device) {
  std::uint64_t at = 0;
  for (const NamedTensor& one : checkpoint::tensors_of(model)) {
    std::vector<double> values(static_cast<std::size_t>(one.value.numel()));
    for (double& value : values) value = keyed_uniform(seed, at++) - 0.5;
    one.value.copy_(from_values(values, one.value.shape(), one.value.dtype(), device));
  }
}

InferenceCase case_of(const Problem& p, std::uint64_t salt, int) {
  InferenceCase c{folder, nn::metadata_of(asked_spec(p)), {}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    c.tokens.push_back(static_cast<std::int64_t>(keyed_bits(salt + 1, i) % vocabulary));
  }
  return c;
}

SavedRun save_run(const Problem& p, std::uint64_t salt) {
  auto seen = std::make_unique<Saved>();
  CpuDevice device;
  const auto model = nn::make_model(saved_spec(p), device, 0);
  fill(*model, salt, device);
  model->prepare({.mode = nn::Mode::evaluation});
  save(seen->storage.files(), *model, p, device);
  seen->logits = logits_of(*model, case_of(p, salt, 0).tokens, device);
  for (const NamedTensor& one : checkpoint::tensors_of(*model)) seen->bytes += one.value.bytes();
  seen->storage.begin({});
  return seen;
}

// Two models that were loaded answer as the run does.
void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t,
             const Reports& reports, const SavedRun& saved) {
  const Ending& ending = reports[0].ending;
  if (ending.kind == Ending::Kind::threw_other) {
    runner.fail(played, unexpected_error(ending, p.description()));
  }
  if (ending.kind == Ending::Kind::threw_expected) {
    const std::string why =
        p.more ? "every tensor of the model is in the checkpoint; that it has others, too, is no "
                 "reason to refuse it"
        : p.prefix.empty()
            ? "every tensor of the model is in the checkpoint, with its shape and dtype"
            : text("every name of the model stands behind the prefix ", quoted(p.prefix),
                   "; a prefix may be any, and have several dots");
    runner.fail(played, because({"refuses_valid", why},
                                {.message = text("the checkpoint was refused, with \"",
                                                 sim::printable(ending.what, 200), '"')}));
  }
  const std::vector<Bytes>& logits = reports[0].logits;
  if (logits.size() != 2) throw MalformedMessage("two models answer");
  const auto right = [&](const Bytes& one) { return one == saved->logits; };
  if (std::ranges::all_of(logits, right)) return;
  if (right(logits[0])) {
    runner.fail(played, because({"second_load", "nothing may be kept from one call to the next"},
                                {.message = "the first model answers as the run does, and the "
                                            "second one, of the same checkpoint, does not"}));
  }
  const Cause cause = p.dropout > 0
                          ? Cause{"dropout_on",
                                  "without dropout in the model, the answers were "
                                  "right; prepare this one for an evaluation"}
                          : Cause{"other_logits",
                                  "some elements are those of a new model; every tensor has to get "
                                  "all the elements that were saved, whoever wrote them"};
  runner.fail(played,
              because(cause, {.message = "the logits are not those of the model that was saved"}));
}

// The first tensor of the model that is asked for, in its order, that does not fit.
std::string first_misfit(const Problem& p) {
  CpuDevice device;
  const auto saved = nn::make_model(saved_spec(p), device, 0);
  const auto asked = nn::make_model(asked_spec(p), device, 0);
  const auto there = checkpoint::tensors_of(*saved), wanted = checkpoint::tensors_of(*asked);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string& name = wanted[i].name;
    const bool is_named = saved_name(name, p) == p.prefix + name;
    if (!p.not_prefixed.empty() ? name != p.not_prefixed : !is_named) return name;
    if (wanted[i].value.shape() != there[i].value.shape() || name == p.transposed) return name;
    if (wanted[i].value.dtype() != there[i].value.dtype()) return name;
  }
  throw Error("the exam asks for a model that fits");
}

bool is_of_tensors(const StorageEvent& event) {
  return event.kind == StorageCall::Kind::read &&
         event.name.find("safetensors") != std::string::npos;
}

// The way in which a sentence has a name: alone, or only behind a prefix.
enum class Named : std::uint8_t { alone, behind_a_prefix, no };
Named named(const std::string& sentence, const std::string& name) {
  const auto is_of_a_name = [&](std::size_t at) {
    const char c = at < sentence.size() ? sentence[at] : ' ';
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  Named found = Named::no;
  for (auto at = sentence.find(name); at != std::string::npos; at = sentence.find(name, at + 1)) {
    if (at == 0 || !is_of_a_name(at - 1)) return Named::alone;
    found = Named::behind_a_prefix;
  }
  return found;
}

// Checks what the refusal of a checkpoint says.
void check_sentence(CaseRunner& runner, const Played& played, const Problem& p, const Cause& other,
                    const std::string& sentence) {
  const std::string misfit = first_misfit(p);
  const auto fail = [&](const Cause& cause, const std::string& expected) {
    runner.fail(
        played,
        because(cause, {.message = text("the refusal is ", quoted(sim::printable(sentence, 200))),
                        .expected = expected}));
  };
  const Named is = named(sentence, misfit);
  if (is == Named::no) fail(other, misfit);
  if (is == Named::behind_a_prefix) {
    fail({"names_with_the_prefix", "the tensor is named as the model calls it"}, misfit);
  }
  if (sentence.find(folder) != std::string::npos) return;
  fail({"names_no_checkpoint", "the sentence names the checkpoint, too: weights->path()"}, folder);
}

// A checkpoint that does not fit is refused before any of it is read.
void compare_refusal(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t,
                     const Reports& reports, const SavedRun& saved) {
  const Cause names_no_tensor{"names_no_tensor",
                              "the sentence names the first tensor, in the model's order, that is "
                              "missing or differs"};
  const Cause one_prefix{"one_prefix",
                         "a prefix stands before all of the model's names, or there is none: look "
                         "for all of them behind it before you take it"};
  const Ending& ending = reports[0].ending;
  const bool is_mixed = !p.not_prefixed.empty();
  if (ending.kind == Ending::Kind::returned) {
    const Cause any{"accepts_another_model",
                    "compare name, shape and dtype of every tensor before any is read"};
    runner.fail(played, because(is_mixed ? one_prefix : any,
                                {.message = "a checkpoint that does not fit was loaded"}));
  }
  if (ending.kind == Ending::Kind::threw_other) {
    runner.fail(played, wrong_ending(ending, "CheckpointError", p.description()));
  }
  if (std::ranges::any_of(saved->storage.log(), is_of_tensors)) {
    runner.fail(played, because({"half_loaded", "look at all tensors before any is read"},
                                {.message = "the checkpoint was refused when some of it had been "
                                            "read"}));
  }
  check_sentence(runner, played, p, is_mixed ? one_prefix : names_no_tensor, ending.what);
}

// Two models were loaded: no optimizer was read, and each element once for each of them.
void check_reads(CaseRunner& runner, const Played& played, const Problem&, const SavedRun& saved) {
  std::uint64_t bytes = 0;
  for (const StorageEvent& event : saved->storage.log()) {
    if (!is_of_tensors(event)) continue;
    bytes += event.bytes;
    if (event.name.find("optimizer") == std::string::npos) continue;
    runner.fail(played,
                because({"optimizer_read", "an answer needs no optimizer"},
                        {.verdict = Verdict::efficiency,
                         .message = text(event.bytes, " bytes of ", event.name, " were read")}));
  }
  if (bytes <= 2 * saved->bytes) return;
  runner.fail(
      played,
      because({"reads_twice", "each element is read once for each model"},
              {.verdict = Verdict::efficiency,
               .message = text("of a model of ", saved->bytes, " bytes, ", bytes / 2, " were read"),
               .expected = text(saved->bytes, " bytes"),
               .seen = text(bytes / 2, " bytes")}));
}

const RanksChecks checks(RanksContract<Problem, InferenceCase, InferenceReport, SavedRun>{
    .case_of = case_of,
    .compare = compare,
    .ask_of = [](const Problem&, std::uint64_t, int, const InferenceCase&,
                 Situations& asked) { asked.insert(Situation::same_call_twice); },
    .smaller = smaller_by(down_to(&Problem::writers, 1), down_to(&Problem::layers, 1)),
    .services = [](CaseRunner&, const Problem& p,
                   std::uint64_t salt) { return std::tuple(save_run(p, salt)); }});

}  // namespace

Exam exam() {
  constexpr Wrote flat = Wrote::flat_shares, columns = Wrote::columns;
  const auto behind = [](const char* prefix) {
    return Problem{.wrote = flat, .writers = 2, .prefix = prefix};
  };
  return {
      {"the logits of the run, whoever has written its checkpoint",
       checks.these({{},
                     {.wrote = flat, .writers = 2},
                     {.wrote = flat, .writers = 3},
                     {.wrote = flat, .writers = 8},
                     {.wrote = columns, .writers = 2},
                     {.wrote = columns, .writers = 4},
                     {.wrote = flat, .writers = 2, .dtype = DType::bfloat16},
                     {.layers = 3}})},
      {"names behind a prefix, and beside tensors that are not the model's",
       checks.these({behind("module."),
                     behind("_orig_mod."),
                     behind("a.b."),
                     {.more = true},
                     {.prefix = "module.", .more = true}})},
      {"dropout is off", checks.each(1, &Problem::dropout, {0.1, 0.5})},
      {"another model is refused by its first tensor, and nothing is read",
       checks.compared(compare_refusal)
           .these({{.other_width = 16},
                   {.other_dtype = DType::bfloat16},
                   {.missing = "ln_f.bias"},
                   {.prefix = "module.", .not_prefixed = "wpe.weight"},
                   {.prefix = "module.", .other_width = 16},
                   {.transposed = "wpe.weight"},
                   {.missing = "ln_f.bias", .transposed = "wpe.weight"},
                   {.wrote = columns, .writers = 2, .other_width = 4}})},
      of_cost("no optimizer is read, and each element of the model once",
              checks.then(check_reads)
                  .these({{.width = 64},
                          {.wrote = flat, .writers = 2, .width = 64},
                          {.wrote = flat, .writers = 4, .width = 64}})),
  };
}

}  // namespace lockstep::grader::load_for_inference
