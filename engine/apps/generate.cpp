// generate: text from a checkpoint of a language model, on one process.
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>

#include "engine/apps/computing.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/shell_word.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/data/tokenizer.hpp"
#include "engine/nn/generate.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/expert/expert_layers.hpp"

namespace {

using namespace lockstep;

Options declared() {
  Options options("lab generate", "Generates text with a model trained by lab train --model gpt.");
  options.option("checkpoint", "", "a checkpoint, or a folder of checkpoints (the latest is used)")
      .option("prompt", "A rank ", "text to start with")
      .option("tokens", "400", "number of tokens to add")
      .option("temperature", "0.8", "0: always the most likely token; 1: the model's probabilities")
      .option("top-k", "0", "sample from the k most likely tokens; 0: from all")
      .option("seed", "0", "seed for sampling");
  apps::add_device(options);
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

// Gives the model layers that route. A text has few tokens at a time, so none of them is dropped.
void complete_mixture(nn::ModelSpec& spec, const std::filesystem::path& folder) {
  nn::MixtureOptions& mixture = spec.gpt.mixture;
  if (mixture.router == nn::Router::experts) {
    throw UsageError(text("the experts of the model in ", folder.string(),
                          " choose their tokens, and to choose they must see later ones, which a "
                          "text that is being written does not have; train one with --router "
                          "tokens"));
  }
  mixture.capacity = expert_parallel::no_capacity;
  spec.layers = std::make_shared<expert_parallel::ExpertLayers>(
      expert_parallel::ExpertRanks{}, std::make_shared<nn::LayerMaker>(),
      expert_parallel::ExpertModel{.blocks = spec.gpt.layers, .experts = mixture.experts});
}

int run(int argc, const char* const* argv) {
  const Options options = declared();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  nn::GenerateOptions wanted;
  wanted.tokens = arguments.integer("tokens", 0);
  wanted.temperature = arguments.number("temperature", 0);
  wanted.top_k = arguments.integer("top-k", 0);
  wanted.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  const std::string& prompt = arguments.get("prompt");
  if (prompt.empty()) throw UsageError("--prompt is empty; give it at least one character");

  const std::filesystem::path folder = chosen(arguments);
  nn::ModelSpec spec;
  read_checkpoint(folder, [&] { spec = nn::spec_of(checkpoint::model_metadata(folder)); });
  const auto tokenizer = tokenizer_of(folder);
  if (spec.gpt.mixture.experts > 0) complete_mixture(spec, folder);
  const apps::Computing computing(arguments);
  std::unique_ptr<nn::Module> model;
  read_checkpoint(folder, [&] {
    const checkpoint::FileStorage storage(folder);
    model = checkpoint::load_for_inference(storage, "", spec, computing.device());
  });
  wanted.sequence = spec.gpt.sequence;
  std::cout << prompt << std::flush;
  nn::generate(*model, tokenizer->encode(prompt), wanted, [&](std::int64_t token) {
    std::cout << tokenizer->decode({&token, 1}) << std::flush;
  });
  std::cout << "\n";
  return computing.ends_well() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab generate", [&] { return run(argc, argv); });
}
