// Reading a lesson: its fenced blocks, and the runs that it shows.
//   ```sh run  followed by  ```text        a command and what it prints; … stands for anything
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Block {
  std::string info;      // what follows the fence: "cpp file=engine/…"
  std::string text;      // with a newline after every line
  std::size_t line = 0;  // of the opening fence, from 1
};
std::vector<Block> blocks_of(const std::string& text);

struct Run {
  std::string command;
  std::string expected;
  std::size_t line = 0;
  std::string before;  // the paragraph just before the command
};
// A ```sh run block and the ```text block after it. One without the other has no output to compare,
// which is reported by an empty `expected`.
std::vector<Run> runs_of(const std::string& text);

// Line by line. In a line … stands for any characters; a line … alone for any number of lines.
bool output_matches(const std::string& expected, const std::string& seen);

// The output as it is compared with what the lesson shows: a run that takes long prints how far it
// is every few seconds ("step 40 …"), and how often depends on the machine. Those lines are left
// out unless the lesson shows some. So is what ./lab says while it builds what a run needs.
std::string comparable_output(const std::string& expected, const std::string& seen);

// A lesson's command for the programs of a given build, as they are: ./lab builds before it runs,
// which a test must not do while a build is being tested.
std::string command_as_built(const std::string& command, const std::string& build);

}  // namespace lockstep::grader
