// generate: text from a checkpoint of a language model, by one process or by ranks that compute
// each layer together.
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/apps/computing.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/shell_word.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/data/tokenizer.hpp"
#include "engine/launch/spawn.hpp"
#include "engine/nn/generate.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"

namespace {

using namespace lockstep;

Options declared() {
  Options options("lab generate", "Generates text with a model trained by lab train --model gpt.");
  options.option("checkpoint", "", "a checkpoint, or a folder of checkpoints (the latest is used)")
      .option("prompt", "A rank ", "text to start with")
      .option("tokens", "400", "number of tokens to add")
      .option("temperature", "0.8", "0: always the most likely token; 1: the model's probabilities")
      .option("top-k", "0", "sample from the k most likely tokens; 0: from all")
      .option("seed", "0", "seed for sampling")
      .option("tp", "1", "ranks that compute each layer together")
      .only_if({"tp"}, "computes on processors; leave out --device cuda",
               [](const Arguments& arguments) { return !apps::uses_gpu(arguments); });
  apps::add_device(options);
  options.choice("with", {"work"}, "",
                 "use your own parts, if they pass, instead of the references");
  return options;
}

std::filesystem::path chosen(const Arguments& arguments) {
  if (!arguments.given("checkpoint")) {
    throw UsageError(
        "--checkpoint FOLDER is missing; ./lab train --model gpt --checkpoint FOLDER writes one");
  }
  const std::filesystem::path folder = arguments.get("checkpoint");
  for (const char* file : {"index.json", "model.safetensors"}) {
    if (std::filesystem::exists(folder / file)) return folder;
  }
  const auto latest = checkpoint::latest_in(folder);
  if (!latest) {
    throw UsageError(text("there is no checkpoint in '", folder.string(),
                          "'; lab train --model gpt --checkpoint ", folder.string(),
                          " writes one"));
  }
  return *latest;
}

// Runs `read`, which reads the checkpoint. If it is damaged, says which older one is whole.
void read_checkpoint(const std::filesystem::path& folder, const std::function<void()>& read) {
  try {
    read();
  } catch (const checkpoint::CheckpointError& damage) {
    const auto whole = checkpoint::whole_before(folder);
    if (!whole) throw;
    throw checkpoint::CheckpointError(text("the checkpoint is damaged (", damage.what(), "). ",
                                           whole->string(), " is whole: pass --checkpoint ",
                                           shell_word(whole->string())));
  }
}

std::unique_ptr<data::Tokenizer> tokenizer_of(const std::filesystem::path& checkpoint) {
  std::ifstream file(checkpoint / "tokenizer.txt");
  if (!file) {
    throw UsageError(
        text(checkpoint.string(), " has no tokenizer.txt: its model does not read text"));
  }
  return data::read_tokenizer({std::istreambuf_iterator<char>(file), {}});
}

// The request of a text: what it begins with, and whose model goes on.
struct Request {
  std::filesystem::path folder;
  nn::ModelSpec spec;
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::string prompt;
  nn::GenerateOptions wanted;
};

void check_router(const Request& request) {
  const nn::MixtureOptions& mixture = request.spec.gpt.mixture;
  if (mixture.experts == 0 || mixture.router == nn::Router::tokens) return;
  throw UsageError(text("the experts of the model in ", request.folder.string(),
                        " choose their tokens, and to choose they must see later ones, which a "
                        "text that is being written does not have; train one with --router "
                        "tokens"));
}

// The model with layers of this maker; where it has experts, they are in front. A text has few
// tokens at a time, so none of them is dropped.
nn::ModelSpec with_layers(nn::ModelSpec spec, std::shared_ptr<nn::LayerMaker> layers) {
  spec.layers = layers;
  nn::MixtureOptions& mixture = spec.gpt.mixture;
  if (mixture.experts == 0) return spec;
  mixture.capacity = expert_parallel::no_capacity;
  spec.layers = std::make_shared<expert_parallel::ExpertLayers>(
      expert_parallel::ExpertRanks{}, std::move(layers),
      expert_parallel::ExpertModel{.blocks = spec.gpt.layers, .experts = mixture.experts});
  return spec;
}

// This rank's part of the model: of each parameter the boxes that its layers hold.
std::unique_ptr<nn::Module> load_part(const Request& request, const nn::ModelSpec& spec,
                                      Device& device) {
  const checkpoint::FileStorage storage(request.folder);
  const auto weights = checkpoint::open_weights(storage, "");
  auto model = nn::make_model(spec, device, 0);
  checkpoint::check_part_of_model(*weights, *model);
  for (const Parameter* one : model->parameters()) {
    const Boxes boxes = spec.layers->holding_of(*one).boxes;
    weights->load_boxes(*weights->find(one->name), boxes,
                        one->value.view({-1}).narrow(0, numel_of(boxes)));
  }
  return model;
}

void answer(const Request& request, nn::Module& model, std::ostream& out) {
  out << request.prompt << std::flush;
  nn::generate(model, request.tokenizer->encode(request.prompt), request.wanted,
               [&](std::int64_t token) {
                 out << request.tokenizer->decode({&token, 1}) << std::flush;
               });
  out << "\n";
}

void answer_on_ranks(const Request& request, int ranks, const Arguments& arguments) {
  if (request.spec.gpt.heads % ranks != 0) {
    throw UsageError(text("--tp ", ranks, " does not divide the ", request.spec.gpt.heads,
                          " heads of a layer of the model in ", request.folder.string()));
  }
  launch::spawn(ranks, [&](launch::World& world) {
    const auto group =
        comm::make_gloo_group(*world.store, world.environment.rank, world.environment.world_size);
    const apps::Computing computing(arguments);
    const auto layers =
        std::make_shared<tensor_parallel::TensorLayers>(*group, tensor_parallel::Sequence::whole);
    std::unique_ptr<nn::Module> model;
    read_checkpoint(request.folder, [&] {
      model = load_part(request, with_layers(request.spec, layers), computing.device());
    });
    std::ostream nowhere(nullptr);  // the ranks draw the same tokens, and one of them tells
    answer(request, *model, group->rank() == 0 ? std::cout : nowhere);
  });
}

int run(int argc, const char* const* argv) {
  const Options options = declared();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  apps::leave_to_lab(arguments, {"with"}, "./lab generate");
  Request request;
  nn::GenerateOptions& wanted = request.wanted;
  wanted.tokens = arguments.integer("tokens", 0);
  wanted.temperature = arguments.number("temperature", 0);
  wanted.top_k = arguments.integer("top-k", 0);
  wanted.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  request.prompt = arguments.get("prompt");
  if (request.prompt.empty()) throw UsageError("--prompt is empty; give it at least one character");

  request.folder = chosen(arguments);
  read_checkpoint(request.folder,
                  [&] { request.spec = nn::spec_of(checkpoint::model_metadata(request.folder)); });
  request.tokenizer = tokenizer_of(request.folder);
  wanted.sequence = request.spec.gpt.sequence;
  check_router(request);
  const auto ranks = static_cast<int>(arguments.integer("tp", 1));
  if (ranks > 1) {
    answer_on_ranks(request, ranks, arguments);
    return 0;
  }
  const apps::Computing computing(arguments);
  std::unique_ptr<nn::Module> model;
  read_checkpoint(request.folder, [&] {
    const checkpoint::FileStorage storage(request.folder);
    model = checkpoint::load_for_inference(
        storage, "", with_layers(request.spec, std::make_shared<nn::LayerMaker>()),
        computing.device());
  });
  answer(request, *model, std::cout);
  return computing.ends_well() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab generate", [&] { return run(argc, argv); });
}
