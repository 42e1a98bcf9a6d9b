// ./lab gpu explain: the line that makes a kernel slow is named, with its cause, and a clean kernel
// is called clean. The kernels are planted.cu's; what is expected of them follows from their lines.
#include "engine/gpu/explain/report.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/paper/run_program.hpp"

using namespace lockstep;
using namespace lockstep::gpu;
using lockstep::test::contains;

namespace {

const std::string source = "tests/gpu/explain/planted.cu";

// The line of planted.cu that ends so.
int line_of(const std::string& mark) {
  std::ifstream lines(std::string(LOCKSTEP_ROOT) + "/" + source);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.ends_with("// here: " + mark)) return number;
  }
  return 0;
}

const std::vector<Roof> roofs{{"GPU of round numbers", "sm_80", 1e12, 2e13}};

const std::vector<Explanation>& planted() {
  static const std::vector<Explanation> all = [] {
    const TemporaryFolder folder("planted");  // tests that run at the same time have one each
    const std::string counted = (folder.path() / "counted").string();
    const test::Ran ran = test::run_program("planted", counted, 1, "PAPER_COUNTERS=1");
    INFO(ran.said);
    REQUIRE(ran.exit_code == 0);
    std::stringstream table;
    table << std::ifstream(counted).rdbuf();
    const auto built = read_ptxas_reports(PLANTED_REPORTS);
    std::vector<Explanation> made;
    for (const CountedKernel& kernel : read_paper_counts(table.str())) {
      made.push_back(explain(kernel, built, roofs, LOCKSTEP_ROOT));
    }
    return made;
  }();
  return all;
}

const Explanation& of(const std::string& kernel) {
  const auto found = std::ranges::find(
      planted(), kernel, [](const Explanation& explained) { return explained.counted.name; });
  REQUIRE(found != planted().end());
  return *found;
}

const ExplainedLine& line_at(const Explanation& explained, int number) {
  const auto found = std::ranges::find_if(explained.lines, [&](const ExplainedLine& line) {
    return line.file == source && line.counted.line == number;
  });
  REQUIRE(found != explained.lines.end());
  return *found;
}

}  // namespace

TEST_CASE("explain: an uncoalesced load is named at its line, with what would do") {
  const Explanation& stride = of("planted_stride");
  REQUIRE(stride.losses.size() == 1);
  const Loss& loss = stride.losses.front();
  CHECK(loss.cause == LossCause::uncoalesced);
  CHECK(loss.file == source);
  CHECK(loss.line == line_of("uncoalesced"));
  CHECK(loss.share > 0.7);
  CHECK_THAT(loss.sentence, contains("32 sectors a request, where 4 hold the bytes"));
  CHECK_THAT(loss.sentence, contains("places 128 bytes apart"));
  const ExplainedLine& costliest = stride.lines.front();  // worst first
  CHECK(costliest.counted.line == loss.line);
  CHECK(costliest.source == "const float wanted = x[i * side];  // here: uncoalesced");
}

TEST_CASE("explain: a bank conflict is named at its line, and what mends it") {
  const Explanation& banks = of("planted_banks");
  REQUIRE(banks.losses.size() == 1);
  const Loss& loss = banks.losses.front();
  CHECK(loss.cause == LossCause::bank_conflict);
  CHECK(loss.line == line_of("bank conflict"));
  CHECK_THAT(loss.sentence, contains("32 passes a request, where 1 would do"));
  CHECK_THAT(loss.sentence, contains("places 128 bytes apart"));
  CHECK_THAT(loss.sentence, contains("pad each row of the array by one element"));
}

TEST_CASE("explain: a branch that splits warps is named at its line") {
  const Explanation& branch = of("planted_branch");
  REQUIRE(branch.losses.size() == 1);
  const Loss& loss = branch.losses.front();
  CHECK(loss.cause == LossCause::divergence);
  CHECK(loss.line == line_of("divergence"));
  CHECK_THAT(loss.sentence, contains("splits a warp 32 times"));  // 4 blocks of 8 warps
  CHECK(branch.whole.lanes_active() < 0.6);
  CHECK(line_at(branch, loss.line).counted.figures.divergent_branches == 32);
}

TEST_CASE("explain: a kernel that wastes nothing is called so") {
  const Explanation& clean = of("planted_clean");
  CHECK(clean.losses.empty());
  CHECK(clean.wasted == 0);
  CHECK(clean.whole.lanes_active() == 1);
  CHECK(clean.whole.sectors_a_request() == 4);
  CHECK_THAT(report(clean), contains("Nothing stands out: 0 % of the modelled cost is waste"));
}

TEST_CASE("explain: what a header of the compiler's does is counted at the line that calls it") {
  const Explanation& inlined = of("planted_inlined");
  CHECK(line_at(inlined, line_of("inlined atomic")).counted.figures.atomics == 256);
  CHECK(line_at(inlined, line_of("inlined shuffle")).counted.figures.instructions > 0);
  for (const ExplainedLine& line : inlined.lines) CHECK(line.file == source);
}

TEST_CASE("explain: registers and resident warps are the build's, for both processors") {
  const Explanation& inlined = of("planted_inlined");
  REQUIRE(inlined.processors.size() == 2);
  for (const OnProcessor& on : inlined.processors) {
    CAPTURE(on.built.processor);
    CHECK(on.built.registers > 0);
    CHECK(on.built.spilled_bytes == 0);
    CHECK(on.resident.warps == resident_warps_max);
  }
  CHECK(inlined.counted.dynamic_shared == 1024);
  // 100 KiB a block: one block, whatever its registers are.
  const Resident crowded = resident(inlined.processors.front().built, 256, 100 * 1024);
  CHECK(crowded.warps == 8);
  CHECK(crowded.limited_by == "shared memory");
}

TEST_CASE("explain: a spill is read from what ptxas says, and shown") {
  const TemporaryFolder folder("ptxas");
  std::ofstream(folder.path() / "made_up.cu.ptxas")
      << "ptxas info    : Compiling entry function '_Z14planted_stridePKfPf' for 'sm_90'\n"
         "ptxas info    : Function properties for _Z14planted_stridePKfPf\n"
         "    24 bytes stack frame, 20 bytes spill stores, 28 bytes spill loads\n"
         "ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size\n";
  const auto built = read_ptxas_reports(folder.path());
  REQUIRE(built.size() == 1);
  CHECK(built.front().registers == 255);
  CHECK(built.front().spilled_bytes == 48);
  const Explanation spilling = explain(of("planted_stride").counted, built, roofs, LOCKSTEP_ROOT);
  CHECK_THAT(report(spilling), contains("255 registers, 48 bytes spilled"));
  CHECK(spilling.processors.front().resident.limited_by == "registers");
}

TEST_CASE("explain: the roofline's side is that of the ridge, and its time a lower bound") {
  const Explanation& clean = of("planted_clean");
  REQUIRE(clean.roofs.size() == 1);
  CHECK(clean.roofs.front().by_memory);  // one product for eight bytes; the ridge is at 20
  CHECK(clean.flops_a_byte == test::Approx(1.0 / 8));
  CHECK(clean.roofs.front().least_s == test::Approx(8 * 256 * 8 / 1e12));
  const Explanation& branch = of("planted_branch");
  CHECK_FALSE(branch.roofs.front().by_memory);
}

TEST_CASE("explain: the report says modelled, and has lines of source, worst first") {
  const std::string page = report(of("planted_stride"));
  CHECK_THAT(page, contains("planted_stride    modelled: counted on paper, not measured on a GPU"));
  CHECK_THAT(page, contains("18.00 sectors a request, 4.00 needed"));  // a load of 32, a store of 4
  CHECK_THAT(page, contains("tests/gpu/explain/planted.cu:" +
                            std::to_string(line_of("uncoalesced")) + "  uncoalesced"));
  CHECK(page.find("planted.cu:" + std::to_string(line_of("uncoalesced")) + "  const float") <
        page.find("y[i] = wanted + 1;"));
  const std::string list = list_of(planted());
  CHECK_THAT(list, contains("modelled:"));
  CHECK(list.find("planted_stride") < list.find("planted_clean"));  // what wastes most is first
}

namespace {

test::Ran lab_gpu_explain(const std::string& words) {
  return test::run_program("../../bin/gpu-explain", words, 1);
}

}  // namespace

TEST_CASE("lab gpu explain: every kernel of the library runs in the work that is counted") {
  const test::Ran list = lab_gpu_explain("");
  CHECK(list.exit_code == 0);
  std::ifstream page(LOCKSTEP_ROOT "/docs/gpu.md");
  int kernels = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `") || line.find("` | ") == std::string::npos) continue;
    const std::string name = line.substr(3, line.find("` | ") - 3);
    const auto digit = static_cast<unsigned char>(line[line.find("` | ") + 4]);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) continue;
    if (std::isdigit(digit) == 0) continue;  // the table of kernels has registers there
    ++kernels;
    CHECK_THAT(list.said, contains("\n" + name + " "));
  }
  CHECK(kernels > 40);
}

TEST_CASE("lab gpu explain: a kernel's page names its variants and lines of its source") {
  const test::Ran page = lab_gpu_explain("softmax_rows");
  CHECK(page.exit_code == 0);
  CHECK_THAT(page.said, contains("modelled: counted on paper, not measured on a GPU"));
  CHECK_THAT(page.said, contains("  sm_90 "));
  CHECK_THAT(page.said, contains("softmax_rows.cuh:"));
  CHECK_THAT(page.said, contains("./lab gpu explain 'softmax_rows<"));
  CHECK_THAT(lab_gpu_explain("softmax_rows --dtype bfloat16").said, contains("BFloat16"));
}

TEST_CASE("lab gpu explain: --json is one document, labelled modelled") {
  const test::Ran page = lab_gpu_explain("exchange_tiles --json");
  const auto document = nlohmann::json::parse(page.said);
  CHECK(document.at("modelled") == true);
  const auto& kernel = document.at("kernels").at(0);
  for (const char* key : {"kernel", "launches", "blocks", "threads", "figures", "processors",
                          "rooflines", "losses", "lines"}) {
    CHECK(kernel.contains(key));
  }
  CHECK(kernel.at("figures").at("sectors") == kernel.at("figures").at("sectors_needed"));
  CHECK(kernel.at("lines").at(0).at("file") == "engine/gpu/kernels/movement.cu");
}

TEST_CASE("lab gpu explain: a typing error gets the nearest kernel, two names one sentence") {
  const test::Ran unknown = lab_gpu_explain("sotfmax_rows");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.said, contains("no kernel that ran is called 'sotfmax_rows'; did you mean "
                                    "softmax_rows? (./lab gpu explain lists all)"));
  CHECK(lab_gpu_explain("clip drop").exit_code == 2);
}

TEST_CASE("explain: a table of another build is refused") {
  CHECK_THROWS_AS(read_paper_counts("kernel\tname\n"), Error);
  CHECK(read_paper_counts("").empty());
}
