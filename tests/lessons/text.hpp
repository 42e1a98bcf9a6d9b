// Reading lessons and documentation: what in a Markdown text can be held against the repository.
//   ```cpp file=engine/comm/peers.hpp      quotes the file, verbatim
//   ```sh run  followed by  ```text        a command and what it prints; … stands for anything
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::lessons {

struct Block {
  std::string info;      // what follows the fence: "cpp file=engine/…"
  std::string text;      // with a newline after every line
  std::size_t line = 0;  // of the opening fence, from 1
};

struct Document {
  std::string path;  // from the root
  std::string text;
};

// All Markdown files: those of the root, docs/, lessons/, engine/ and exercises/.
std::vector<Document> documents();
std::string file_text(const std::string& path);  // from the root; empty when there is none
bool exists(const std::string& path);            // from the root

std::vector<Block> blocks_of(const std::string& text);
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

struct Run {
  std::string command;
  std::string expected;
  std::size_t line = 0;
};
// A ```sh run block and the ```text block after it. One without the other has no output to compare,
// which is reported by an empty `expected`.
std::vector<Run> runs_of(const std::string& text);

// Line by line. In a line … stands for any characters; a line … alone for any number of lines.
bool output_matches(const std::string& expected, const std::string& seen);

}  // namespace lockstep::lessons
