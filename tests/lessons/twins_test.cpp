// The lessons' PyTorch twins: each runs as its first line says, with the PyTorch of ./lab dev
// torch, and prints what its lesson shows. One is started by torchrun itself, all by run_twins.py,
// which loads PyTorch once.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/course/scratch.hpp"
#include "tests/lessons/text.hpp"
#include "tests/with_torch.hpp"

using namespace lockstep;
using namespace lockstep::lessons;

namespace {

const std::string root_of_twins = LOCKSTEP_ROOT;

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

bool torch_is_there() { return test::torch_is_there(root_of_twins); }

grader::CommandResult run_with_torch(std::vector<std::string> words) {
  return test::run_with_torch(root_of_twins, std::move(words));
}

}  // namespace

TEST_CASE("twins: every file is shown in a lesson, with what it prints") {
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
  if (!torch_is_there()) return;
  const std::vector<Twin> twins = twins_shown();
  std::vector<std::string> words{"python", "tests/lessons/run_twins.py"};
  for (const Twin& twin : twins) words.push_back(twin.file);
  const auto result = run_with_torch(words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto runs = nlohmann::json::parse(result.output);
  REQUIRE(runs.size() == twins.size());
  for (std::size_t i = 0; i < twins.size(); ++i) {
    const std::string seen = runs[i].at("output");
    INFO(twins[i].shown_at << "\nexpected\n" << twins[i].expected << "\nseen\n" << seen);
    CHECK(runs[i].at("file") == twins[i].file);
    CHECK(runs[i].at("exit_code") == 0);
    CHECK(output_matches(twins[i].expected, seen));
  }
}

TEST_CASE("twins: torchrun starts one as its first line says") {
  if (!torch_is_there()) return;
  const auto twins = twins_shown();
  const auto twin = std::ranges::find_if(
      twins, [](const Twin& one) { return first_line_of(one.file).starts_with("# torchrun"); });
  REQUIRE(twin != twins.end());
  std::istringstream line(first_line_of(twin->file).substr(2));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  words.insert(words.begin() + 1, "--standalone");  // a free port
  // A rank of PyTorch 2.15 dies now and then while its interpreter ends ("terminate called without
  // an active exception"), after everything is printed. Three times in a row would be another
  // cause.
  grader::CommandResult result;
  for (int tries = 0; tries < 3 && (tries == 0 || result.exit_code != 0); ++tries) {
    result = run_with_torch(words);
  }
  INFO(twin->shown_at << "\nexpected\n" << twin->expected << "\nseen\n" << result.output);
  CHECK(result.exit_code == 0);
  CHECK(output_matches(twin->expected, result.output));
}

TEST_CASE("twins: a rank that fails is told with its words, and no success") {
  if (!torch_is_there()) return;
  const test::Scratch scratch;
  const std::string file = (scratch.path() / "failing_twin.py").string();
  std::ofstream(file) << "# torchrun --nproc-per-node 2 " << file << "\n"
                      << "import os\n"
                      << "assert os.environ['RANK'] == '0', 'rank 1 fails'\n";
  const auto result = run_with_torch({"python", "tests/lessons/run_twins.py", file});
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto runs = nlohmann::json::parse(result.output);
  CHECK(runs.at(0).at("exit_code") == 1);
  CHECK(runs.at(0).at("output").get<std::string>().find("rank 1 fails") != std::string::npos);
}
