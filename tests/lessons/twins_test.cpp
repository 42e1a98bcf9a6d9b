// The lessons' PyTorch twins: each runs as its first line says, with the PyTorch of ./lab dev
// torch, and prints what its lesson shows. Continuous integration asks for them
// (LOCKSTEP_TWINS=required); elsewhere a missing PyTorch is said, and is no pass.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>

#include "grader/course/command.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep;
using namespace lockstep::lessons;

namespace {

const std::string root_of_twins = LOCKSTEP_ROOT;
const std::string torch_programs = root_of_twins + "/build/torch/bin";

struct Twin {
  std::string file;      // from the root
  std::string expected;  // what the lesson shows; empty where no text block follows
  std::string shown_at;  // lesson:line
};

std::vector<Twin> twins_shown() {
  std::vector<Twin> twins;
  for (const Document& document : documents()) {
    const std::vector<Block> blocks = blocks_of(document.text);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto file = quoted_file(blocks[i]);
      if (!file || file->find("/twins/") == std::string::npos) continue;
      const bool has_output = i + 1 < blocks.size() && blocks[i + 1].info == "text";
      twins.push_back({*file, has_output ? blocks[i + 1].text : "",
                       document.path + ":" + std::to_string(blocks[i].line)});
    }
  }
  return twins;
}

std::string first_line_of(const std::string& file) {
  const std::string text = file_text(file);
  return text.substr(0, text.find('\n'));
}

// "# torchrun --nproc-per-node 3 FILE" as words; the program is the one of ./lab dev torch.
std::vector<std::string> command_of(const std::string& file) {
  std::istringstream line(first_line_of(file));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  REQUIRE(words.size() >= 3);
  REQUIRE(words[0] == "#");
  REQUIRE((words[1] == "torchrun" || words[1] == "python"));
  REQUIRE(words.back() == file);
  words.erase(words.begin());
  words[0] = torch_programs + "/" + words[0];
  // A free port for each run, and one thread a rank.
  if (words[0].ends_with("torchrun")) words.insert(words.begin() + 1, "--standalone");
  words.insert(words.begin(), {"env", "OMP_NUM_THREADS=1", "PYTHONWARNINGS=ignore"});
  return words;
}

}  // namespace

TEST_CASE("twins: every file is shown whole in a lesson, with what it prints") {
  std::set<std::string> shown;
  for (const Twin& twin : twins_shown()) {
    INFO(twin.shown_at);
    shown.insert(twin.file);
    CHECK_FALSE(twin.expected.empty());
    CHECK(first_line_of(twin.file).find(" " + twin.file) != std::string::npos);
  }
  CHECK(shown.size() >= 6);
  std::set<std::string> there;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root_of_twins + "/lessons")) {
    if (entry.path().extension() != ".py") continue;
    there.insert(entry.path().lexically_relative(root_of_twins).generic_string());
  }
  CHECK(shown == there);
}

TEST_CASE("twins: PyTorch prints what the lessons show") {
  if (!std::filesystem::exists(torch_programs + "/torchrun")) {
    const char* required = std::getenv("LOCKSTEP_TWINS");
    REQUIRE((required == nullptr || std::string(required) != "required"));
    std::cout << "SKIPPED: no PyTorch under build/torch; ./lab dev torch installs the newest\n";
    return;
  }
  for (const Twin& twin : twins_shown()) {
    const auto result =
        grader::run_command(command_of(twin.file), root_of_twins, {.deadline_s = 120});
    INFO(twin.shown_at << "\nexpected\n" << twin.expected << "\nseen\n" << result.output);
    CHECK(result.exit_code == 0);
    CHECK(output_matches(twin.expected, result.output));
  }
}
