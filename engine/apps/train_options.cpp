#include "engine/apps/train_options.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "engine/base/bytes.hpp"
#include "engine/base/edition.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/units.hpp"
#include "engine/data/text.hpp"

namespace lockstep::apps {
namespace {

// One in which DDP learns the order of gradients, one that makes the buckets, one that is steady.
constexpr std::int64_t steps_of_sizes = 3;

// The folder of the lab of this program: where it was built, or the students' edition that it lies
// in.
std::string folder_of_lab() {
  const auto edition = folder_of_edition();
  return edition ? edition->string() : LOCKSTEP_SOURCE_FOLDER;
}

// The bytes of a text as its file has them: to a text without a newline at its end, one was added.
std::int64_t bytes_of(const std::string& file, const std::string& content) {
  std::error_code unseen;
  const bool is_file = !file.empty() && std::filesystem::is_regular_file(file, unseen);
  return is_file ? static_cast<std::int64_t>(std::filesystem::file_size(file))
                 : std::ssize(content);
}

// Says what the whole text has: which part of it was too short is of no use to who wrote it.
UsageError text_too_short(const ReadText& all, const std::string& data,
                          const data::Tokenizer& tokenizer, const std::string& train,
                          const std::string& test, std::int64_t sequence) {
  constexpr std::int64_t parts = 10;  // data::part_of
  const std::int64_t needed = std::min(sequence, std::int64_t{1} << 40) + 1;
  return UsageError(
      text("--data ", data, " has ", counted(all.bytes, "byte"), ", of which a tenth is for ",
           "testing: ", counted(std::ssize(tokenizer.encode(train)), "token"), " to train on and ",
           std::ssize(tokenizer.encode(test)), " to test on, by the tokenizer '", tokenizer.name(),
           "'. Each part needs ", needed, " for a sequence of ", sequence,
           " and the token that follows it: give a text of about ", parts * needed,
           " tokens, or pass a smaller --sequence"));
}

Datasets open_text(const Arguments& arguments, const std::string& data) {
  const bool own = data.starts_with("text:");
  const auto paths = own ? std::vector{data.substr(5)} : data::course_texts(folder_of_lab());
  const std::string all = data::read_text(paths);
  const std::string train = data::part_of(all, data::Split::train);
  const std::string test = data::part_of(all, data::Split::test);
  Datasets sets{data, nullptr, nullptr, nullptr};
  if (arguments.get("tokenizer") == "bpe") {
    sets.tokenizer = data::train_bpe(train, arguments.integer("vocab", 256) - 256);
  } else {
    if (arguments.integer("vocab", 1) != 256) {
      throw UsageError(
          "--tokenizer bytes has 256 tokens; for a different --vocab, pass --tokenizer bpe");
    }
    sets.tokenizer = data::make_byte_tokenizer();
  }
  const std::int64_t sequence = arguments.integer("sequence", 1);
  const std::int64_t stride = arguments.integer("stride", 1);
  sets.text =
      ReadText{bytes_of(own ? paths.front() : "", all), checksum_of(std::as_bytes(std::span(all)))};
  try {
    sets.train = data::make_text(train, *sets.tokenizer, sequence, stride);
    sets.test = data::make_text(test, *sets.tokenizer, sequence, sequence);
  } catch (const UsageError&) {
    throw text_too_short(*sets.text, data, *sets.tokenizer, train, test, sequence);
  }
  return sets;
}

// Samples that have a shape and nothing else; an epoch is one step of the global batch.
class Shapes final : public data::Dataset {
 public:
  Shapes(nn::ModelKind of, std::int64_t size, std::int64_t inputs, std::int64_t classes)
      : of_(of), size_(size), inputs_(inputs), classes_(classes) {}
  std::int64_t size() const override { return size_; }
  std::int64_t inputs() const override { return inputs_; }
  std::int64_t labels() const override { return of_ == nn::ModelKind::gpt ? inputs_ : 1; }
  std::int64_t classes() const override { return classes_; }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    const std::int64_t count = std::ssize(indices);
    if (of_ == nn::ModelKind::mlp) {
      return {empty({count, inputs_}, dtype, device), empty({count}, DType::int64, device)};
    }
    const Shape tokens{count, inputs_};
    return {empty(tokens, DType::int64, device), empty(tokens, DType::int64, device)};
  }

 private:
  nn::ModelKind of_;
  std::int64_t size_, inputs_, classes_;
};

Datasets open_shapes(const Arguments& arguments) {
  const train::TrainOptions options = loop_options(arguments);
  const int shares =
      train::ChosenWays(arguments).shares(arguments, static_cast<int>(ranks_of(arguments)));
  const std::int64_t samples = options.batch_size * options.accumulate * shares;
  const bool gpt = train::is_gpt(arguments);
  const std::int64_t inputs = gpt ? arguments.integer("sequence", 1) : 784;
  const std::int64_t classes = gpt ? arguments.integer("vocab", 1) : 10;
  const auto shapes = [&] {
    return std::make_unique<Shapes>(gpt ? nn::ModelKind::gpt : nn::ModelKind::mlp, samples, inputs,
                                    classes);
  };
  return {"shapes", shapes(), shapes(), nullptr};
}

// The experts of each block; none of a model without them, or where no way declares them.
nn::MixtureOptions mixture_of(const Arguments& arguments) {
  nn::MixtureOptions mixture;
  if (!arguments.declared("experts") || !arguments.given("experts")) return mixture;
  mixture.experts = arguments.integer("experts", 1);
  if (mixture.experts > 65'536) {
    throw UsageError(text("--experts ", mixture.experts, " is more than 65,536"));
  }
  mixture.top_k = arguments.integer("top-k", 1);
  if (mixture.top_k > mixture.experts) {
    throw UsageError(text("--top-k ", mixture.top_k, " is more than the ",
                          counted(mixture.experts, "expert"),
                          " of a block, and a token chooses each at most once; pass --top-k ",
                          mixture.experts, " or less"));
  }
  if (arguments.has("--capacity")) {
    mixture.capacity = arguments.number("capacity", -std::numeric_limits<double>::infinity());
    if (mixture.capacity <= 0) {
      throw UsageError(text("--capacity ", arguments.get("capacity"),
                            " leaves no expert a slot; pass a number above 0, such as 1.25, or "
                            "none"));
    }
  }
  mixture.router = arguments.has("--router experts") ? nn::Router::experts : nn::Router::tokens;
  mixture.aux_loss = arguments.number("aux-loss", 0);
  if (mixture.aux_loss >= 1) {
    throw UsageError(text("--aux-loss ", arguments.get("aux-loss"),
                          " would outweigh the model's loss; pass a fraction, such as 0.01"));
  }
  return mixture;
}

}  // namespace

Datasets open_datasets(const Arguments& arguments) {
  if (!train::has_numbers(arguments)) return open_shapes(arguments);
  const std::string data = data_name(arguments);
  if (data == "lessons" || data.starts_with("text:")) {
    if (!train::is_gpt(arguments)) throw UsageError("only --model gpt reads text; add it");
    return open_text(arguments, data);
  }
  if (data != "fashion-mnist" && data != "synthetic") {
    const std::vector<std::string> known{"fashion-mnist", "synthetic", "lessons"};
    throw UsageError(text("--data ", data, " does not exist; choose fashion-mnist, synthetic, ",
                          "lessons or text:FILE", did_you_mean(data, known)));
  }
  if (train::is_gpt(arguments)) {
    throw UsageError(text("--model gpt reads text, and ", data,
                          " is not text; pass --data lessons or --data text:FILE"));
  }
  if (data == "synthetic") {
    return {data, data::make_synthetic(20'000, 64, 10, 0), data::make_synthetic(4'000, 64, 10, 1),
            nullptr};
  }
  const std::string& folder = arguments.get("data-folder");
  return {data, data::open_fashion_mnist(data::Split::train, folder),
          data::open_fashion_mnist(data::Split::test, folder), nullptr};
}

nn::ModelSpec model_spec(const Arguments& arguments, const data::Dataset& dataset) {
  nn::ModelSpec spec;
  spec.dtype = train::dtype_named(arguments.get("dtype")).value_or(DType::float32);
  if (!train::is_gpt(arguments)) {
    spec.widths = {dataset.inputs(), 256, 128, dataset.classes()};
    return spec;
  }
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = {.layers = arguments.integer("layers", 1),
              .width = arguments.integer("width", 1),
              .heads = arguments.integer("heads", 1),
              .sequence = dataset.inputs(),
              .vocabulary = dataset.classes(),
              .head = arguments.flag("untied") ? nn::OutputHead::untied : nn::OutputHead::tied,
              .dropout = arguments.number("dropout", 0),
              .keep = arguments.flag("recompute") ? nn::Keep::block_inputs : nn::Keep::activations,
              .mixture = mixture_of(arguments)};
  for (const char* size : {"layers", "width", "heads"}) {
    if (arguments.integer(size, 1) > 65'536) {
      throw UsageError(text("--", size, " ", arguments.get(size), " is more than 65,536"));
    }
  }
  if (spec.gpt.width % spec.gpt.heads != 0) {
    throw UsageError(text("--heads ", spec.gpt.heads, " must divide --width ", spec.gpt.width,
                          ": every head gets an equal share of the channels"));
  }
  if (spec.gpt.dropout >= 1) {
    throw UsageError(text("--dropout ", arguments.get("dropout"),
                          " would drop everything; pass a fraction below 1"));
  }
  return spec;
}

optim::OptimizerSpec optimizer_spec(const Arguments& arguments) {
  const std::string name = optimizer_name(arguments);
  optim::OptimizerSpec spec;
  spec.kind = name == "sgd"    ? optim::OptimizerKind::sgd
              : name == "adam" ? optim::OptimizerKind::adam
                               : optim::OptimizerKind::adamw;
  spec.sgd.learning_rate = spec.adam.learning_rate = arguments.number("lr", 0);
  spec.sgd.weight_decay = spec.adam.weight_decay = arguments.number("weight-decay", 0);
  spec.sgd.momentum = arguments.number("momentum", 0);
  if (name == "adamw") spec.adam.decay_dims_min = 2;
  return spec;
}

double clip_norm(const Arguments& arguments) { return arguments.number("clip", 0); }

train::TrainOptions loop_options(const Arguments& arguments) {
  const train::ChosenWays ways(arguments);
  const train::WayMaker& way = ways.trainer();
  const std::string& schedule = arguments.get("lr-schedule");
  train::TrainOptions options;
  options.batch_size = train::batch_size_of(arguments);
  options.epochs = arguments.integer("epochs", 1);
  options.steps = arguments.given("steps")         ? arguments.integer("steps", 1)
                  : !train::has_numbers(arguments) ? steps_of_sizes
                                                   : 0;
  options.decay = schedule == "cosine"   ? optim::Decay::cosine
                  : schedule == "linear" ? optim::Decay::linear
                                         : optim::Decay::constant;
  options.warmup = arguments.integer("warmup", 0);
  options.accumulate = way.accumulate(arguments);
  options.deal = way.deal(arguments);
  if (arguments.given("lr-scaling")) {
    options.scaling = arguments.get("lr-scaling") == "linear" ? optim::Scaling::linear
                                                              : optim::Scaling::square_root;
    options.base_batch = arguments.integer("base-batch", 1);
  }
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  const std::int64_t workers = arguments.integer("workers", 0);
  if (workers > 64) throw UsageError(text("--workers ", workers, ": pass at most 64"));
  options.workers = static_cast<int>(workers);
  return options;
}

}  // namespace lockstep::apps
