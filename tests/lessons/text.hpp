// Reading lessons and documentation: what in a Markdown text can be held against the repository.
//   ```cpp file=engine/comm/peers.hpp      quotes the file, verbatim
// Blocks and runs are read by grader/course/text/lesson_text.hpp, which the lab itself uses too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/course/text/lesson_text.hpp"

namespace lockstep::lessons {

using grader::Block;
using grader::blocks_of;
using grader::command_as_built;
using grader::comparable_output;
using grader::output_matches;
using grader::Run;
using grader::runs_of;

struct Document {
  std::string path;  // from the root
  std::string text;
};

// All Markdown files: those of the root, docs/, lessons/, engine/ and exercises/.
std::vector<Document> documents();
std::string file_text(const std::string& path);  // from the root; empty when there is none
bool exists(const std::string& path);            // from the root

std::optional<std::string> quoted_file(const Block& block);

// Targets of [text](target) that are files, without #fragment; relative to the document.
std::vector<std::string> links_of(const std::string& text);
// Paths in `code` that name something of the repository; patterns (NN, <…>, *) are left out.
std::vector<std::string> paths_of(const std::string& text);
// Sentences in `code` with a colon and a space, as names of tests have: "ring: each rank …".
std::vector<std::string> tests_named_in(const std::string& text);
std::vector<std::string> test_files();  // all .cpp below tests/, from the root
// The words that follow "./lab ".
std::vector<std::string> commands_of(const std::string& text);

}  // namespace lockstep::lessons
