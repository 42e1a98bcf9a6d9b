// What a program that looks for copies is given.
#include "grader/pack/hand_ins.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/written_parts.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const fs::path course_root = LOCKSTEP_ROOT;
const std::string stub_of_part =
    "#include \"a.hpp\"\n// >>> your code\n// <<< your code\nvoid part() {\n  // >>> your code\n"
    "  throw NotImplemented(\"part\");\n  // <<< your code\n}\n";

const Member* member(const HandIns& hand_ins, const std::string& path) {
  const auto found = std::ranges::find(hand_ins.members, path, &Member::path);
  return found == hand_ins.members.end() ? nullptr : &*found;
}

Lab here() {
  Lab lab;
  lab.places = {course_root, course_root / "build/none"};
  lab.course = read_course(lab.places.manifest());
  return lab;
}

}  // namespace

TEST_CASE("written parts: the regions, and other lines that the stub does not have") {
  CHECK(written_part("#include \"a.hpp\"\n// >>> your code\nint help() { return 1; }\n"
                     "// <<< your code\nint hidden();\nvoid part() {\n  // >>> your code\n"
                     "  help();\n  // <<< your code\n}\n",
                     stub_of_part, "part") ==
        "int hidden();\nint help() { return 1; }\nvoid part_2() {\n  help();\n}\n");
  CHECK(written_part(stub_of_part, stub_of_part, "part") ==
        "void part_2() {\n  throw NotImplemented(\"part\");\n}\n");
}

TEST_CASE("written parts: a file without markers is all its author's") {
  CHECK(written_part("void part() { help(); }\n", stub_of_part, "part") ==
        "void part() { help(); }\n");
  CHECK(written_part("a\n// >>> your code\nb\n", stub_of_part, "p") ==
        "a\nb\n");  // no end: to the last line
}

TEST_CASE("hand-ins for JPlag: a folder a student, the base and the references beside them") {
  const test::Scratch scratch;
  const std::string ring = "06_all_reduce/ring_all_reduce.cpp";
  const fs::path amy = scratch.path() / "amy", bob = scratch.path() / "bob";
  write_text(amy / ring, read_text(course_root / "solutions" / ring));
  write_text(amy / "06_all_reduce/quiz.toml",
             answered_quiz(course_root / "solutions/06_all_reduce/quiz.toml"));
  write_text(bob / ring, read_text(course_root / "exercises" / ring));
  const HandIns found = hand_ins_for_comparison(here(), scratch.path(), "");
  CHECK(found.students == 1);
  CHECK(found.files == 1);
  CHECK(found.without == std::vector<std::string>{"bob"});
  REQUIRE(member(found, "submissions/amy/" + ring) != nullptr);
  const std::string& written = member(found, "submissions/amy/" + ring)->content;
  CHECK_THAT(written, test::contains("peers.isend("));
  CHECK_THAT(written, !test::contains("#include"));
  CHECK(member(found, "submissions/bob/" + ring) == nullptr);
  CHECK(member(found, "submissions/amy/06_all_reduce/quiz.toml") == nullptr);
  REQUIRE(member(found, "base/" + ring) != nullptr);
  CHECK_THAT(member(found, "base/" + ring)->content, test::contains("NotImplemented"));
  CHECK(member(found, "earlier/reference/" + ring)->content == written);
  CHECK_THAT(member(found, "README")->content, test::contains("-bc base"));
  CHECK_THROWS_AS(hand_ins_for_comparison(here(), scratch.path() / "none", ""), UsageError);
}
