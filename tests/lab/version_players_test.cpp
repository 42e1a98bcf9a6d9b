// Versions of a file that are compiled together, and those that are not.
#include "grader/dev/version_players.hpp"

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/grade.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

Lab real_lab() {
  Lab lab;
  lab.places = {LOCKSTEP_ROOT, fs::path(LOCKSTEP_TOOL).parent_path().parent_path()};
  lab.course = read_course(lab.places.manifest());
  lab.sanitized = LOCKSTEP_SANITIZED != 0;
  if (lab.sanitized) lab.limits.memory_bytes = 0;
  return lab;
}

struct Versions {
  explicit Versions(const std::vector<std::string>& sources) {
    for (const std::string& source : sources) {
      files.push_back(scratch.path() / text("version", files.size(), ".cpp"));
      write_text(files.back(), source);
    }
    players.compile(files);
  }
  bool shares(std::size_t i) const { return players.player_of(files[i]).has_value(); }
  Report judged(std::size_t i) const {
    const auto build = players.player_of(files[i]);
    REQUIRE(build);
    REQUIRE(build->cause.empty());
    JudgeOptions options;
    options.limits = lab.limits;
    return grade_build(lab, exchange, files[i], *build, options).report;
  }
  test::Scratch scratch;
  Lab lab = real_lab();
  const Exercise& exchange = exercise_named(lab.course, "exchange");
  VersionPlayers players{lab, exchange, scratch.path() / "units"};
  std::vector<fs::path> files;
};

const std::string head =
    "#include \"engine/collectives/exchange.hpp\"\nnamespace lockstep::collectives {\n";
const std::string declaration =
    "void exchange(comm::Peers& peers, const Tensor& mine, Tensor from_left) {\n";

std::string version(const std::string& body) { return head + declaration + body + "}\n}\n"; }

}  // namespace

TEST_CASE("versions: compiled together, each plays its own file and names its own lines") {
  const Versions versions(
      {read_text(real_lab().places.root / "solutions/03_collectives/exchange.cpp"),
       version("throw 1;\n"),
       version("(void)peers, (void)mine;\n"
               "(void)from_left;\n\n\n"
               "peers.recv(from_left, peers.rank());\n"),
       version("from_left.copy_(mine); (void)peers;\n")});
  CHECK(versions.judged(0).verdict == Verdict::pass);
  CHECK(versions.judged(1).verdict == Verdict::crash);
  const Report waiting = versions.judged(2);
  CHECK_THAT(waiting.message, test::contains("version2.cpp:8"));
  CHECK(versions.judged(3).verdict == Verdict::wrong_answer);
}

TEST_CASE("versions: what does not compile, or defines something else, does not spoil the others") {
  const Versions versions({version("undeclared();\n"), version(""), version("throw 2;\n"),
                           head + "void exchanged() {}\n}\n"});
  CHECK_FALSE(versions.shares(0));
  CHECK(versions.shares(1));
  CHECK(versions.shares(2));
  CHECK_FALSE(versions.shares(3));
}

TEST_CASE("versions: what would run, or be missed, in the others' players is compiled alone") {
  const std::string filled = head + "int one();\nint started = one();\nint one() { return 1; }\n" +
                             declaration + "throw started;\n}\n}\n";
  const std::string calls_nothing =
      head + "void nowhere(int);\n" + declaration + "nowhere(1);\n}\n}\n";
  const Versions versions({version(""), filled, version("throw 1;\n"), version("throw 2;\n"),
                           calls_nothing, version("throw 3;\n")});
  CHECK_FALSE(versions.shares(1));
  CHECK_FALSE(versions.shares(4));
  for (const std::size_t other : {0U, 2U, 3U, 5U}) CHECK(versions.shares(other));
}
