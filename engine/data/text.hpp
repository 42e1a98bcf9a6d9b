// Text as a dataset for language models: a long row of tokens, cut into sequences; what is to be
// predicted at each place is the token that follows.
// T tokens of one sequence, n tokens of the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/data/tokenizer.hpp"

namespace lockstep::data {

// The contents of files one after the other, each ended by a newline. A path may be a file or a
// folder; a folder stands for all files *.md below it, in the order of their paths.
//   Throws  UsageError naming the path when nothing can be read there
std::string read_text(const std::vector<std::string>& paths);

// The text that comes with the repository: what its lessons, exercises and documents say. `root` is
// the folder that holds them. It grows with the course; results on it can be compared only on one
// version of the repository.
std::vector<std::string> course_texts(const std::string& root);

// The part of a text to train on, or the part to test on. Lines are dealt by the block in which
// they begin; blocks have 2,000 bytes (or a tenth of a shorter text), and every tenth block is for
// testing. So both parts are of one kind, whatever the text ends with. A text in which no line
// begins in a tenth block is cut at nine tenths. The parts do not depend on the tokenizer, which is
// learnt from the training part alone.
std::string part_of(std::string_view text, Split split);

// Sample i: tokens [i·S, i·S + T) as inputs [T], and [i·S + 1, i·S + T + 1) as labels [T], both
// int64; the batch's dtype has no say in it. S is the stride: T reads each token once an epoch, a
// smaller one shows each at T/S places of a sequence, so that a small text is not learnt by place.
// size() = ⌊(n - 1 - T)/S⌋ + 1, inputs() = T, classes() = the vocabulary.
//   Thread  batch may be called by several strands at once
//   Throws  UsageError when the text has no T + 1 tokens
std::unique_ptr<Dataset> make_text(std::string_view text, const Tokenizer& tokenizer,
                                   std::int64_t sequence, std::int64_t stride);

}  // namespace lockstep::data
