#include "engine/apps/train_options.hpp"

#include <algorithm>

#include "engine/base/edition.hpp"
#include "engine/base/nearest.hpp"
#include "engine/data/text.hpp"

namespace lockstep::apps {
namespace {

constexpr std::int64_t bpe_vocabulary = 512;
// One in which DDP learns the order of gradients, one that makes the buckets, one that is steady.
constexpr std::int64_t steps_of_sizes = 3;
constexpr std::int64_t mib = 1 << 20;
static_assert(ddp::BucketLimits{}.cap_bytes == default_bucket_mb * mib);
static_assert(horovod::HorovodOptions{}.fusion_threshold_bytes == default_fusion_mb * mib);

// Batches per rank in one optimizer step.
std::int64_t accumulate_of(const Arguments& arguments) {
  return arguments.integer(arguments.flag("horovod") ? "backward-passes" : "accumulate", 1);
}

horovod::HorovodOptions horovod_options(const Arguments& arguments) {
  horovod::HorovodOptions options;
  const double fusion_mb = arguments.number("fusion-threshold-mb", 0);
  if (fusion_mb > 1 << 20) throw UsageError("--fusion-threshold-mb is more than 1,048,576");
  options.fusion_threshold_bytes = static_cast<std::int64_t>(fusion_mb * static_cast<double>(mib));
  options.cycle_s = arguments.number("cycle-time-ms", 0) / 1000;
  if (options.cycle_s > 1) throw UsageError("--cycle-time-ms is more than 1000, one second");
  if (arguments.get("horovod-op") == "sum") options.combine = horovod::Combine::sum;
  return options;
}

// "inf", or the steps that a worker may be ahead.
std::int64_t staleness_of(const Arguments& arguments) {
  if (arguments.get("staleness") == "inf") return async_sgd::unbounded;
  const std::int64_t steps = arguments.integer("staleness");
  if (steps >= 0) return steps;
  throw UsageError(text("--staleness ", steps, ": no worker can be that many steps ahead of the ",
                        "slowest; pass 0 to keep all in step, a positive number, or inf"));
}

train::AsyncOptions async_options(const Arguments& arguments) {
  train::AsyncOptions options;
  options.staleness = staleness_of(arguments);
  if (!arguments.given("servers")) return options;
  const std::int64_t servers = arguments.integer("servers", 1);
  if (servers > 1 << 20) throw UsageError(text("--servers ", servers, " is more than 1,048,576"));
  options.servers = static_cast<int>(servers);
  return options;
}

std::int64_t batch_size_of(const Arguments& arguments) {
  if (arguments.given("batch-size")) return arguments.integer("batch-size", 1);
  return is_gpt(arguments) ? 16 : 64;
}

// The smallest number that fills a pipeline and cuts the batch evenly; if there is none, one that
// does not, so that the sentence about it is the same as for a number that was typed.
std::int64_t usual_micro_batches(const train::PipelineOptions& options, std::int64_t batch) {
  const std::int64_t groups =
      options.schedule == pipeline::Schedule::interleaved ? options.stages : 1;
  for (std::int64_t m = options.stages; m <= batch; ++m) {
    if (batch % m == 0 && m % groups == 0) return m;
  }
  return options.stages;
}

train::PipelineOptions pipeline_options(const Arguments& arguments) {
  train::PipelineOptions options;
  const auto number = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t value = arguments.given(name) ? arguments.integer(name, 1) : otherwise;
    if (value > 1 << 16) throw UsageError(text("--", name, " ", value, " is more than 65,536"));
    return static_cast<int>(value);
  };
  const std::string& schedule = arguments.get("schedule");
  options.stages = number("pp", 1);
  options.schedule = schedule == "gpipe"         ? pipeline::Schedule::gpipe
                     : schedule == "interleaved" ? pipeline::Schedule::interleaved
                     : schedule == "zero-bubble" ? pipeline::Schedule::zero_bubble
                                                 : pipeline::Schedule::one_f_one_b;
  if (options.schedule == pipeline::Schedule::interleaved) options.chunks = number("chunks", 2);
  const std::int64_t batch = batch_size_of(arguments);
  options.micro_batches = number("micro-batches", usual_micro_batches(options, batch));
  if (batch % options.micro_batches != 0) {
    throw UsageError(
        text("--batch-size ", batch, " cannot be cut into ", options.micro_batches,
             " micro-batches of one size; pass --batch-size ",
             (batch + options.micro_batches - 1) / options.micro_batches * options.micro_batches,
             ", or --micro-batches with a number that divides the batch"));
  }
  return options;
}

// Of this program: where it was built, or the students' edition that it lies in.
std::string folder_of_lab() {
  const auto edition = folder_of_edition();
  return edition ? edition->string() : LOCKSTEP_SOURCE_FOLDER;
}

Datasets open_text(const Arguments& arguments, const std::string& data) {
  const bool own = data.starts_with("text:");
  const auto paths = own ? std::vector{data.substr(5)} : data::course_texts(folder_of_lab());
  const std::string all = data::read_text(paths);
  const std::string train = data::part_of(all, data::Split::train);
  const std::string test = data::part_of(all, data::Split::test);
  Datasets sets{data, nullptr, nullptr, nullptr};
  if (arguments.get("tokenizer") == "bpe") {
    const std::int64_t vocabulary =
        arguments.given("vocab") ? arguments.integer("vocab", 256) : bpe_vocabulary;
    sets.tokenizer = data::train_bpe(train, vocabulary - 256);
  } else {
    if (arguments.given("vocab") && arguments.integer("vocab", 1) != 256) {
      throw UsageError(
          "--tokenizer bytes has 256 tokens; for a different --vocab, pass --tokenizer bpe");
    }
    sets.tokenizer = data::make_byte_tokenizer();
  }
  const std::int64_t sequence = arguments.integer("sequence", 1);
  const std::int64_t stride = arguments.given("stride") ? arguments.integer("stride", 1)
                                                        : std::max<std::int64_t>(sequence / 16, 1);
  sets.train = data::make_text(train, *sets.tokenizer, sequence, stride);
  sets.test = data::make_text(test, *sets.tokenizer, sequence, sequence);
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
  const std::int64_t samples = options.batch_size * options.accumulate *
                               shares_of(arguments, static_cast<int>(ranks_of(arguments)));
  const bool gpt = is_gpt(arguments);
  const std::int64_t inputs = gpt ? arguments.integer("sequence", 1) : 784;
  const std::int64_t classes = !gpt                       ? 10
                               : arguments.given("vocab") ? arguments.integer("vocab", 1)
                                                          : bpe_vocabulary;
  const auto shapes = [&] {
    return std::make_unique<Shapes>(gpt ? nn::ModelKind::gpt : nn::ModelKind::mlp, samples, inputs,
                                    classes);
  };
  return {"shapes", shapes(), shapes(), nullptr};
}

}  // namespace

Datasets open_datasets(const Arguments& arguments) {
  if (!has_numbers(arguments)) return open_shapes(arguments);
  const std::string data = data_name(arguments);
  if (data == "lessons" || data.starts_with("text:")) {
    if (!is_gpt(arguments)) throw UsageError("only --model gpt reads text; add it");
    return open_text(arguments, data);
  }
  if (data != "fashion-mnist" && data != "synthetic") {
    const std::vector<std::string> known{"fashion-mnist", "synthetic", "lessons"};
    throw UsageError(text("--data ", data, " does not exist; choose fashion-mnist, synthetic, ",
                          "lessons or text:FILE", did_you_mean(data, known)));
  }
  if (is_gpt(arguments)) {
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
  const std::string& dtype = arguments.get("dtype");
  spec.dtype = dtype == "float64"    ? DType::float64
               : dtype == "bfloat16" ? DType::bfloat16
                                     : DType::float32;
  if (!is_gpt(arguments)) {
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
              .keep = arguments.flag("recompute") ? nn::Keep::block_inputs : nn::Keep::activations};
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
  const double rate = arguments.given("lr") ? arguments.number("lr", 0)
                      : name == "sgd"       ? 0.05
                                            : 0.001;
  const double decay = arguments.given("weight-decay") ? arguments.number("weight-decay", 0)
                       : name == "adamw"               ? 0.01
                                                       : 0;
  optim::OptimizerSpec spec;
  spec.kind = name == "sgd"    ? optim::OptimizerKind::sgd
              : name == "adam" ? optim::OptimizerKind::adam
                               : optim::OptimizerKind::adamw;
  spec.sgd.learning_rate = spec.adam.learning_rate = rate;
  spec.sgd.weight_decay = spec.adam.weight_decay = decay;
  spec.sgd.momentum = arguments.number("momentum", 0);
  if (name == "adamw") spec.adam.decay_dims_min = 2;
  return spec;
}

namespace {

ddp::BucketLimits bucket_limits(const Arguments& arguments) {
  const double bucket_mb = arguments.number("bucket-mb", 0);
  if (bucket_mb > 1 << 20) throw UsageError("--bucket-mb is more than 1,048,576");
  ddp::BucketLimits limits;
  limits.cap_bytes = static_cast<std::int64_t>(bucket_mb * static_cast<double>(mib));
  limits.first_bytes = std::min(limits.first_bytes, limits.cap_bytes);
  return limits;
}

compress::Compression compression_option(const Arguments& arguments) {
  auto compression = compress::compression_of(arguments.get("compress"));
  if (arguments.flag("no-error-feedback")) compression.feedback = compress::ErrorFeedback::off;
  if (compression.compressor != compress::Compressor::none &&
      arguments.get("dtype") == "bfloat16") {
    throw UsageError(text("--compress ", arguments.get("compress"),
                          " needs gradients of float32 or float64, and those of --dtype bfloat16 "
                          "have 16 bits already; leave one of them out"));
  }
  return compression;
}

}  // namespace

int shares_of(const Arguments& arguments, int ranks) {
  if (!arguments.given("pp")) return ranks;
  const train::PipelineOptions options = pipeline_options(arguments);
  train::check(options, ranks);
  const int pipelines = ranks / options.stages;
  if (arguments.given("dp") && arguments.integer("dp", 1) != pipelines) {
    throw UsageError(text("--dp ", arguments.get("dp"), " disagrees with --ranks ", ranks,
                          " and --pp ", options.stages, ", which make ", pipelines,
                          pipelines == 1 ? " pipeline" : " pipelines", "; leave --dp out, or ",
                          "--ranks"));
  }
  return pipelines;
}

train::StrategyOptions strategy_options(const Arguments& arguments) {
  train::StrategyOptions options;
  options.accumulate = accumulate_of(arguments);
  options.compression = compression_option(arguments);
  if (options.compression.compressor != compress::Compressor::none) {
    options.choice.hook = train::Way::compression;
  }
  options.clip_norm = arguments.given("clip") ? arguments.number("clip", 0)
                      : is_gpt(arguments)     ? 1
                                              : 0;
  if (arguments.flag("async")) {
    options.choice.execution = train::Way::servers;
    options.choice.reduction = train::Way::plain;
    options.async = async_options(arguments);
    return options;
  }
  if (arguments.given("pp")) {
    options.choice.execution = train::Way::pipeline;
    options.pipeline = pipeline_options(arguments);
    options.pipeline.limits = bucket_limits(arguments);
    return options;
  }
  if (arguments.flag("no-overlap")) {
    options.choice.reduction = train::Way::plain;
    return options;
  }
  if (arguments.flag("horovod")) {
    options.choice.reduction = train::Way::horovod;
    options.horovod = horovod_options(arguments);
    return options;
  }
  options.ddp.limits = bucket_limits(arguments);
  if (arguments.flag("find-unused")) options.ddp.unused = ddp::Unused::reduce;
  if (arguments.flag("static-graph")) options.ddp.unused = ddp::Unused::fixed;
  if (arguments.given("join")) {
    options.join =
        arguments.get("join") == "live" ? ddp::JoinDivide::live : ddp::JoinDivide::initial;
  }
  return options;
}

train::TrainOptions loop_options(const Arguments& arguments) {
  const std::string& schedule = arguments.get("lr-schedule");
  train::TrainOptions options;
  options.batch_size = batch_size_of(arguments);
  options.epochs = arguments.integer("epochs", 1);
  options.steps = arguments.given("steps")  ? arguments.integer("steps", 1)
                  : !has_numbers(arguments) ? steps_of_sizes
                                            : 0;
  options.decay = schedule == "cosine"   ? optim::Decay::cosine
                  : schedule == "linear" ? optim::Decay::linear
                                         : optim::Decay::constant;
  options.warmup = arguments.integer("warmup", 0);
  options.accumulate = accumulate_of(arguments);
  if (arguments.given("join")) options.deal = train::Deal::uneven;
  if (arguments.given("lr-scaling")) {
    options.scaling = arguments.get("lr-scaling") == "linear" ? optim::Scaling::linear
                                                              : optim::Scaling::square_root;
    options.base_batch =
        arguments.given("base-batch") ? arguments.integer("base-batch", 1) : options.batch_size;
  }
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  const std::int64_t workers = arguments.integer("workers", 0);
  if (workers > 64) throw UsageError(text("--workers ", workers, ": pass at most 64"));
  options.workers = static_cast<int>(workers);
  return options;
}

}  // namespace lockstep::apps
