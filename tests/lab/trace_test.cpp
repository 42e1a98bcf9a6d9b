// ./lab trace and ./lab compare: what is kept of a check, and what a collective costs.
#include <nlohmann/json.hpp>

#include "engine/trace/data.hpp"
#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using lockstep::test::Tree;

namespace {

const std::string traced_ring = "06_all_reduce/ring_all_reduce.cpp";

void replace_all(std::string& text, const std::string& old, const std::string& by) {
  for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size())) {
    text.replace(at, old.size(), by);
  }
}

// The reference with every send blocking: all ranks send, and nobody receives.
std::string ring_that_hangs(const Tree& tree) {
  std::string text = read_text(tree.root() / "solutions" / traced_ring);
  replace_all(text, "comm::Work sending = peers.isend", "peers.send");
  replace_all(text, "    sending.wait();\n", "");
  return text;
}

trace::Timeline kept_run(const Tree& tree) {
  return trace::read_data(read_text(tree.root() / "build" / "traces" / "ring_all_reduce.timeline"));
}

nlohmann::json row_of(const nlohmann::json& document, const std::string& who) {
  for (const auto& row : document.at("rows")) {
    if (row.at("who") == who) return row;
  }
  return nullptr;
}

// The document behind what stderr said of compiling.
nlohmann::json document_in(const std::string& output) {
  return nlohmann::json::parse(output.substr(output.find('{')));
}

}  // namespace

TEST_CASE("lab trace: before a check there is nothing, and the sentence says what to type") {
  const Tree tree;
  const auto early = tree.lab({"trace", "ring_all_reduce"});
  CHECK(early.exit_code == 2);
  CHECK_THAT(early.output, contains("./lab check ring_all_reduce"));
  CHECK(tree.lab({"trace", "05_data_parallel/quiz"}).exit_code == 2);
}

TEST_CASE("lab trace: after a pass it shows the largest case, as a page and for Perfetto") {
  const Tree tree;
  tree.solve(traced_ring);
  REQUIRE(tree.lab({"check", "ring_all_reduce"}).exit_code == 0);
  const trace::Timeline run = kept_run(tree);
  CHECK(run.ranks == 13);
  CHECK(!run.messages.empty());
  CHECK(!run.finding);
  const auto traced = tree.lab({"trace", "ring_all_reduce", "--chrome"});
  CHECK(traced.exit_code == 0);
  CHECK_THAT(traced.output, contains("build/traces/ring_all_reduce.html"));
  const auto folder = tree.root() / "build" / "traces";
  CHECK_THAT(read_text(folder / "ring_all_reduce.html"), contains("<title>" + run.title));
  const auto chrome = nlohmann::json::parse(read_text(folder / "ring_all_reduce.json"));
  CHECK(chrome.at("traceEvents").size() > run.messages.size());
}

TEST_CASE("lab trace: after a failure it shows the case that failed, and who waited for whom") {
  const Tree tree;
  write_text(tree.root() / "work" / traced_ring, ring_that_hangs(tree));
  REQUIRE(tree.lab({"check", "ring_all_reduce"}).exit_code == 1);
  const trace::Timeline run = kept_run(tree);
  REQUIRE(run.finding);
  CHECK(run.finding->verdict == "deadlock");
  CHECK(run.finding->ranks.size() == static_cast<std::size_t>(run.ranks));
  REQUIRE(!run.finding->waiting.empty());
  CHECK_THAT(run.finding->waiting[0].operation, contains("send to rank 1"));
  CHECK_THAT(run.finding->waiting[0].where, contains("ring_all_reduce.cpp:"));
  CHECK(tree.lab({"trace", "ring_all_reduce"}).exit_code == 0);
}

TEST_CASE("lab compare: yours costs what the reference costs when it is the reference") {
  const Tree tree;
  tree.solve(traced_ring);
  const auto ran =
      tree.lab({"compare", "ring_all_reduce", "--json", "--ranks", "5", "--count", "20"});
  REQUIRE(ran.exit_code == 0);
  const auto document = document_in(ran.output);
  const auto yours = row_of(document, "yours"), reference = row_of(document, "reference");
  for (const char* field : {"verdict", "depth", "messages", "bytes_per_rank", "virtual_s"}) {
    CHECK(yours.at(field) == reference.at(field));
  }
  CHECK(yours.at("depth") == 8);             // 2(N-1)
  CHECK(yours.at("bytes_per_rank") == 128);  // 2(N-1)/N of 80 bytes
  const auto naive = row_of(document, "baseline");
  CHECK(naive.at("program") == "naive_all_reduce");
  CHECK(naive.at("bytes_per_rank") > yours.at("bytes_per_rank"));
  CHECK(row_of(document, "native").at("modelled") == true);
  CHECK(row_of(document, "native").at("bytes_per_rank") == 128);
}

TEST_CASE("lab compare: a part that hangs or crashes is a row, and the others still stand") {
  const Tree tree;
  write_text(tree.root() / "work" / traced_ring, ring_that_hangs(tree));
  const auto hangs = tree.lab({"compare", "ring_all_reduce"});
  CHECK(hangs.exit_code == 1);
  CHECK_THAT(hangs.output, contains("deadlock: "));
  CHECK_THAT(hangs.output, contains("reference"));

  std::string text = read_text(tree.root() / "solutions" / traced_ring);
  replace_all(text, "  const int size = peers.size();\n",
              "  const int size = peers.size();\n  if (rank == 1) __builtin_trap();\n");
  write_text(tree.root() / "work" / traced_ring, text);
  const auto crashes = tree.lab({"compare", "ring_all_reduce", "--json"});
  CHECK(crashes.exit_code == 1);
  const auto document = document_in(crashes.output);
  CHECK(row_of(document, "yours").at("verdict") == "crash");
  CHECK(row_of(document, "reference").at("verdict") == "pass");
}

TEST_CASE("lab compare: a schedule, a hook or a reducer is compared in a step of training") {
  const Tree tree;
  for (const char* file :
       {"13_pipeline_parallel/one_f_one_b_schedule.cpp", "07_ddp/bucketed_reducer.cpp"}) {
    tree.solve(file);
    const std::string name = std::filesystem::path(file).stem();
    const auto ran = tree.lab({"compare", name, "--json"});
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    const auto rows = document_in(ran.output).at("rows");
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].at("who") == "without");
    for (const char* field : {"step_s", "exposed_s", "bytes_sent", "memory"}) {
      CHECK(rows[1].at(field) == rows[2].at(field));
    }
    CHECK(rows[1].at("step_s") > 0);
  }
}

TEST_CASE("lab trace: a schedule that passed is drawn, and backward with its buckets") {
  const Tree tree;
  const auto traced = [&](const std::string& file) {
    tree.solve(file);
    const std::string name = std::filesystem::path(file).stem();
    REQUIRE(tree.lab({"check", name}).exit_code == 0);
    const auto trace = tree.lab({"trace", name});
    INFO(trace.output);
    REQUIRE(trace.exit_code == 0);
    return read_text(tree.root() / "build/traces" / (name + ".html"));
  };
  CHECK_THAT(traced("13_pipeline_parallel/one_f_one_b_schedule.cpp"),
             contains("\"forward 0\"") && contains("\"backward 7\"") && contains("activations"));
  CHECK_THAT(traced("07_ddp/bucketed_reducer.cpp"),
             contains("\"gradient 0\"") && contains("\"bucket 3\""));
}

TEST_CASE("lab compare: a stub is unsolved, and what is no collective is refused") {
  const Tree tree;
  tree.lab({"begin"});
  CHECK_THAT(tree.lab({"compare", "ring_all_reduce"}).output, contains("unsolved: "));
  const auto other = tree.lab({"compare", "model_memory"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, contains("./lab check model_memory"));
  CHECK(tree.lab({"compare", "ring_all_reduce", "--ranks", "0"}).exit_code == 2);
}
