// Judging among GPUs, on paper: check --world nccl.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace fs = std::filesystem;

const std::string ring_file = "06_all_reduce/ring_all_reduce.cpp";

}  // namespace

TEST_CASE("lab check --world nccl: GPUs on paper confirm values, and only values") {
  const test::Tree tree;
  const std::vector<std::string> on_paper{"--world", "nccl", "--paper"};
  const auto check = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{"check", name};
    words.insert(words.end(), on_paper.begin(), on_paper.end());
    words.insert(words.end(), more.begin(), more.end());
    return tree.lab(words);
  };
  tree.solve("05_data_parallel/average_gradients.cpp");
  const auto seen = check("average_gradients", {"--json"});
  INFO(seen.output);
  if (seen.exit_code == 3) {  // said loudly, and with what is missing
    CHECK_THAT(seen.output, test::contains("--world nccl needs NVIDIA's compiler"));
    return;
  }
  const auto report = nlohmann::json::parse(seen.output);
  CHECK(report.at("verdict") == "pass");
  CHECK(report.at("points") == 0);
  CHECK(report.at("checks").back().at("verdict") == "skipped");
  tree.write_changed(ring_file, "mine.reduce_(arrived, op);", "mine.copy_(arrived);");
  const auto wrong = check("ring_all_reduce", {});
  INFO(wrong.output);
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.output, test::contains("values only, on real processes: no points"));
  CHECK_THAT(wrong.output, test::contains("--world nccl --paper"));
  // A GPU's memory is none that the host reads.
  const std::string place = "  const int size = peers.size();\n";
  tree.write_changed(ring_file, place, place + "  if (data.raw_bytes().empty()) return;\n");
  const auto on_host = check("ring_all_reduce", {});
  INFO(on_host.output);
  CHECK(on_host.exit_code == 1);
  CHECK_THAT(on_host.output, test::contains("to_host"));
  CHECK(check("model_memory", {}).exit_code == 2);
  CHECK(tree.lab({"check", "ring_all_reduce", "--paper"}).exit_code == 2);
}

namespace {

void check_solution_on_paper(const std::string& file) {
  const test::Tree tree;
  tree.solve(file);
  const auto seen =
      tree.lab({"check", fs::path(file).stem(), "--world", "nccl", "--paper", "--json"});
  INFO(seen.output);
  if (seen.exit_code == 3) {
    CHECK_THAT(seen.output, test::contains("--world nccl needs NVIDIA's compiler"));
    return;
  }
  CHECK(nlohmann::json::parse(seen.output).at("verdict") == "pass");
}

}  // namespace

TEST_CASE("lab check --world nccl: an all-reduce over messages is right on GPUs on paper") {
  check_solution_on_paper(ring_file);
}

TEST_CASE("lab check --world nccl: every part that real processes can judge is right on paper",
          "[.all]") {
  int parts = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(LOCKSTEP_ROOT) / "exercises")) {
    if (entry.path().extension() != ".toml") continue;
    if (read_text(entry.path()).find("among_processes = true") == std::string::npos) continue;
    ++parts;
    const fs::path solution = entry.path().parent_path().filename() / entry.path().stem();
    check_solution_on_paper(solution.string() + ".cpp");
  }
  CHECK(parts > 10);
}

TEST_CASE("lab check --world nccl: a machine without a GPU says what to type") {
  if (fs::exists("/dev/nvidiactl")) return;
  const test::Tree tree;
  const auto seen = tree.lab({"check", "ring_all_reduce", "--world", "nccl"});
  CHECK(seen.exit_code == 3);
  CHECK_THAT(seen.output, test::contains("--world nccl needs"));
}
