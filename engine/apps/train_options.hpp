// The command line of `train`, and what it asks for as values.
#pragma once

#include <memory>
#include <string>

#include "engine/base/options.hpp"
#include "engine/data/dataset.hpp"
#include "engine/data/tokenizer.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/make_strategy.hpp"

namespace lockstep::apps {

Options train_options();

// An option that means nothing for this run is a mistake, not a wish to be ignored: throws
// UsageError when one of them was given.
void refuse_given(const Arguments& arguments, std::initializer_list<const char*> names,
                  const std::string& belongs_to);

// What to train on, how it is called, and the tokenizer when it is text.
struct Datasets {
  std::string name;
  std::unique_ptr<data::Dataset> train, test;
  std::unique_ptr<data::Tokenizer> tokenizer;
};

// All of these throw UsageError, which names the option, when what was typed cannot be.
Datasets open_datasets(const Arguments& arguments);
nn::ModelSpec model_spec(const Arguments& arguments, const data::Dataset& dataset);
optim::OptimizerSpec optimizer_spec(const Arguments& arguments);
train::StrategyOptions strategy_options(const Arguments& arguments);
train::TrainOptions loop_options(const Arguments& arguments);

}  // namespace lockstep::apps
