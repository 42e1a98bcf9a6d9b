// The command line of `train` as values.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/apps/train_command_line.hpp"
#include "engine/data/dataset.hpp"
#include "engine/data/tokenizer.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/train/chosen_ways.hpp"
#include "engine/train/loop.hpp"

namespace lockstep::apps {

// The text that was read, in whole.
struct ReadText {
  std::int64_t bytes = 0;  // of the files, as they lie on the disk
  std::uint64_t checksum = 0;
};

// The datasets to train on, their name, and the tokenizer if they are text.
struct Datasets {
  std::string name;
  std::unique_ptr<data::Dataset> train, test;
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::optional<ReadText> text = std::nullopt;
};

// All of these throw UsageError, which names the option, when what was typed cannot be.
Datasets open_datasets(const Arguments& arguments);
nn::ModelSpec model_spec(const Arguments& arguments, const data::Dataset& dataset);
optim::OptimizerSpec optimizer_spec(const Arguments& arguments);
double clip_norm(const Arguments& arguments);  // 0: none
train::TrainOptions loop_options(const Arguments& arguments);

}  // namespace lockstep::apps
