#include "engine/train/ways/pipeline.hpp"

#include "engine/train/buckets.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/pipeline_memory.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

// The smallest number that fills a pipeline and cuts the batch evenly; if there is none, one that
// does not, so that the sentence about it is the same as for a number that was typed.
std::int64_t usual_micro_batches(const PipelineOptions& options, std::int64_t batch) {
  const std::int64_t groups =
      options.schedule == pipeline::Schedule::interleaved ? options.stages : 1;
  for (std::int64_t m = options.stages; m <= batch; ++m) {
    if (batch % m == 0 && m % groups == 0) return m;
  }
  return options.stages;
}

PipelineOptions options_of(const Arguments& arguments) {
  PipelineOptions options;
  const auto number = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t value = arguments.given(name) ? arguments.integer(name, 1) : otherwise;
    if (value > 1 << 16) throw UsageError(text("--", name, " ", value, " is more than 65,536"));
    return static_cast<int>(value);
  };
  const std::string& schedule = arguments.get("schedule");
  options.stages = number("pp", 1);
  options.schedule = schedule == "gpipe" || schedule == "naive" ? pipeline::Schedule::gpipe
                     : schedule == "interleaved"                ? pipeline::Schedule::interleaved
                     : schedule == "zero-bubble"                ? pipeline::Schedule::zero_bubble
                                                                : pipeline::Schedule::one_f_one_b;
  options.naive = schedule == "naive";
  if (options.schedule == pipeline::Schedule::interleaved) options.chunks = number("chunks", 2);
  const std::int64_t batch = batch_size_of(arguments);
  options.micro_batches =
      number("micro-batches", options.naive ? 1 : usual_micro_batches(options, batch));
  if (batch % options.micro_batches != 0) {
    throw UsageError(
        text("--batch-size ", batch, " cannot be cut into ", options.micro_batches,
             " micro-batches of one size; pass --batch-size ",
             (batch + options.micro_batches - 1) / options.micro_batches * options.micro_batches,
             ", or --micro-batches with a number that divides the batch"));
  }
  options.limits = bucket_limits(arguments);
  if (arguments.has("--zero 1")) options.state = StageState::sharded;
  return options;
}

class PipelineMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    const PipelineOptions options = options_of(making.arguments);
    const TrainingRanks ranks = making.ranks();
    return make_pipeline(ranks, making.device, making.recipe, making.clip_norm, options);
  }
  void check(const Arguments& arguments, const nn::ModelSpec& model, int) const override {
    train::check(options_of(arguments), model);
  }
  int shares(const Arguments& arguments, int ranks) const override {
    const PipelineOptions options = options_of(arguments);
    train::check(options, ranks);
    return ranks / options.stages;
  }
  std::int64_t micro_batches(const Arguments& arguments) const override {
    return options_of(arguments).micro_batches;
  }
  Pace pace() const override { return Pace::staged; }
  std::string_view reduction() const override { return "in the last micro-batch's backward"; }
  std::string note(const Arguments& arguments, const nn::ModelSpec& model) const override {
    const std::string uneven = uneven_parts(options_of(arguments), model);
    return uneven.empty() ? "" : uneven + "\n";
  }
  void check_memory(const Arguments& arguments, const Recipe& recipe,
                    std::span<const std::int64_t> batches, const DeviceRoom& room) const override {
    PipelineOptions options = options_of(arguments);
    if (arguments.given("ranks")) {
      const std::int64_t layer_copies = arguments.integer("ranks", 1) / arguments.integer("tp", 1);
      options.pipelines = static_cast<int>(layer_copies) / options.stages;
    } else if (arguments.given("dp")) {
      options.pipelines = static_cast<int>(arguments.integer("dp", 1));
    }
    train::check_memory(options, recipe, batches, room);
  }
};

}  // namespace

const WayMaker& pipeline_maker() {
  static const PipelineMaker maker;
  return maker;
}

}  // namespace lockstep::train
