// What the texts say of the repository is true of it.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "engine/base/text.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/predictions.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep::lessons;

namespace {

// The list at the top of the script: commands="start test …"
std::vector<std::string> commands_of_the_lab() {
  const std::string script = file_text("lab");
  const std::string start = "commands=\"";
  const auto at = script.find(start);
  REQUIRE(at != std::string::npos);
  const auto end = script.find('"', at + start.size());
  std::istringstream words(script.substr(at + start.size(), end - at - start.size()));
  std::vector<std::string> commands;
  for (std::string word; words >> word;) commands.push_back(word);
  return commands;
}

// The sentences of all test cases.
std::set<std::string> test_cases() {
  std::set<std::string> sentences;
  const std::string start = std::string("TEST_CASE") + '(';
  for (const std::string& path : test_files()) {
    const std::string text = file_text(path);
    for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
      at = text.find_first_not_of(" \n", at + start.size());
      if (at == std::string::npos || text[at] != '"') continue;
      ++at;
      sentences.insert(text.substr(at, text.find('"', at) - at));
    }
  }
  return sentences;
}

// Of lessons whose runs are simulated on GPUs: where a number means nothing without dtype and rate.
const std::vector<std::string> lessons_on_gpus{"07_ddp",
                                               "08_horovod",
                                               "09_asynchronous",
                                               "10_compression",
                                               "11_sharding",
                                               "12_tensor_parallel",
                                               "13_pipeline_parallel",
                                               "14_expert_parallel",
                                               "15_sequence_parallel",
                                               "16_hybrid_parallel",
                                               "17_fault_tolerance"};

bool names_its_simulation(const std::string& said) {
  return said.find("imulated") != std::string::npos && said.find("float") != std::string::npos;
}

bool is_simulated(const std::string& command) {
  return command.find("--backend sim") != std::string::npos ||
         command.find("/runs.sh") != std::string::npos ||
         command.find("/local-sgd") != std::string::npos;
}

}  // namespace

TEST_CASE("the texts: they are found") { CHECK(documents().size() > 10); }

TEST_CASE("the texts: quoted code stands, verbatim, in the file it names") {
  for (const Document& document : documents()) {
    for (const Block& block : blocks_of(document.text)) {
      const auto file = quoted_file(block);
      if (!file) continue;
      INFO(document.path << ":" << block.line << " quotes " << *file);
      CHECK(file_text(*file).find(block.text) != std::string::npos);
    }
  }
}

TEST_CASE("the texts: lessons quote engine and tests, never solutions") {
  for (const Document& document : documents()) {
    for (const Block& block : blocks_of(document.text)) {
      INFO(document.path << ":" << block.line);
      CHECK(quoted_file(block).value_or("").rfind("solutions/", 0) != 0);
    }
  }
}

TEST_CASE("the texts: links lead to files that are there") {
  for (const Document& document : documents()) {
    const auto folder = std::filesystem::path(document.path).parent_path();
    for (const std::string& link : links_of(document.text)) {
      INFO(document.path << " links to " << link);
      CHECK(exists((folder / link).string()));
    }
  }
}

TEST_CASE("the texts: paths they name are there") {
  for (const Document& document : documents()) {
    for (const std::string& path : paths_of(document.text)) {
      INFO(document.path << " names " << path);
      CHECK(exists(path));
    }
  }
}

TEST_CASE("the texts: commands they name are commands of the lab") {
  const auto known = commands_of_the_lab();
  for (const Document& document : documents()) {
    for (const std::string& command : commands_of(document.text)) {
      INFO(document.path << " says ./lab " << command);
      CHECK(std::find(known.begin(), known.end(), command) != known.end());
    }
  }
}

TEST_CASE("the texts: a lesson says where each of its exercises stands, and how long it takes") {
  const lockstep::grader::Course course =
      lockstep::grader::read_course(std::string(LOCKSTEP_ROOT) + "/exercises/course.toml");
  for (const lockstep::grader::Exercise& exercise : course.exercises) {
    if (exercise.kind == lockstep::grader::Kind::quiz) continue;
    const std::string path = "lessons/" + exercise.reading + "/README.md";
    const std::string line =
        lockstep::text("**Exercise** `", exercise.name, "` (", exercise.minutes, " minutes");
    INFO(path << " has no line that begins with " << line);
    CHECK(file_text(path).find("\n" + line) != std::string::npos);
  }
}

TEST_CASE("the texts: a page of a lesson is read in half an hour, in at most 3,500 words") {
  int pages = 0;
  for (const Document& document : documents()) {
    if (!document.path.starts_with("lessons/") || document.path == "lessons/README.md") continue;
    ++pages;
    std::istringstream text(document.text);  // words are counted as by wc -w, code and all
    std::ptrdiff_t words = 0;
    for (std::string word; text >> word;) ++words;
    INFO(document.path << " has " << words << " words");
    CHECK(words > 1000);
    CHECK(words <= 3500);
  }
  CHECK(pages >= 18);
}

TEST_CASE("the texts: a run or a figure that is simulated says so, with its dtype and rate") {
  for (const std::string& lesson : lessons_on_gpus) {
    const std::string folder = "lessons/" + lesson + "/";
    const auto runs = lockstep::grader::predicted_runs(LOCKSTEP_ROOT "/" + folder);
    for (const lockstep::grader::PredictedRun& predicted : runs) {
      if (!is_simulated(predicted.run.command)) continue;
      const std::string& before = predicted.run.before;
      INFO(folder << "README.md:" << predicted.run.line);
      const std::string asked = before.substr(before.rfind("**Predict**"));
      CHECK(names_its_simulation(asked));
      CHECK(asked.find("FLOP/s") != std::string::npos);
    }
    for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_ROOT "/" + folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".svg")) continue;
      const std::string drawn = file_text(folder + name);
      const std::string text = file_text(folder + "README.md");
      const auto shown = text.rfind("![", text.find("](" + name + ")"));
      const std::string title = text.substr(shown, text.find('(', shown) - shown);
      INFO(folder << name << ": " << title);
      // Of time units, boxes or calls, not of a GPU.
      const bool is_plan = title.find("a plan") != std::string::npos;
      if (is_plan || title.find("The calls of") != std::string::npos) continue;
      CHECK(names_its_simulation(title));
      CHECK(drawn.find(">simulated: ") != std::string::npos);
    }
  }
}

TEST_CASE("the texts: tests that docs/conformance.md names by their sentence are there") {
  const std::set<std::string> there = test_cases();
  const std::vector<std::string> named = tests_named_in(file_text("docs/conformance.md"));
  CHECK(named.size() > 10);
  for (const std::string& sentence : named) {
    INFO("docs/conformance.md names the test \"" << sentence << "\"");
    CHECK(there.contains(sentence));
  }
}
