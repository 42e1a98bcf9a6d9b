#include "grader/course/compile/compiler_text.hpp"

#include "engine/base/text.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {
const std::string file = "work/ring.cpp";
}

TEST_CASE("diagnostics: the first error in the student's own file comes first") {
  const std::string output =
      "In file included from work/a.cpp:1:\n"
      "engine/x.hpp:7:1: error: far away\n"
      "\x1b[01m\x1b[Kwork/a.cpp:12:3:\x1b[m\x1b[K warning: unused\n"
      "\x1b[01m\x1b[Kwork/a.cpp:14:3:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K'chunk' was "
      "not declared\n";
  CHECK(first_error(output, "work/a.cpp") == "work/a.cpp:14:3: 'chunk' was not declared");
  CHECK_THAT(first_error("engine/x.hpp:7:1: error: far away\n", "work/a.cpp"),
             test::contains("work/a.cpp does not compile: engine/x.hpp:7:1: far away"));
  CHECK(first_error("killed\n", "work/a.cpp") == "work/a.cpp does not compile");
}

TEST_CASE("diagnostics: who included whom and what stands in system headers is left out") {
  const std::string seen = readable_diagnostics(
      "In file included from /usr/include/c++/12/memory:76,\n"
      "                 from /lab/grader/course/student_headers.hpp:11:\n"
      "work/ring.cpp: In function 'void lockstep::ring(lockstep::comm::Peers&)':\n"
      "work/ring.cpp:3:7: error: cannot convert 'int64_t' {aka 'long int'} to 'lockstep::Shape'\n"
      "    3 |   data.view(data.numel());\n"
      "      |             ~~~~~~~~~~^~\n"
      "/lab/engine/tensor/tensor.hpp:45:21: note:   initializing argument 1\n"
      "   45 |   Tensor view(Shape shape) const;\n"
      "/usr/include/c++/12/bits/unique_ptr.h:514:7: note: declared here\n"
      "  514 |       unique_ptr(const unique_ptr&) = delete;\n",
      file, "/lab");
  CHECK(seen ==
        "work/ring.cpp:3:7: error: cannot convert 'int64_t' to 'Shape'\n"
        "    3 |   data.view(data.numel());\n"
        "      |             ~~~~~~~~~~^~\n"
        "engine/tensor/tensor.hpp:45:21: note:   initializing argument 1\n"
        "   45 |   Tensor view(Shape shape) const;\n");
}

TEST_CASE("diagnostics: a name that the compiler proposes keeps its namespace") {
  const std::string seen = readable_diagnostics(
      "work/ring.cpp:3:3: error: 'Work' was not declared in this scope; did you mean "
      "'lockstep::comm::Work'?\n",
      file, "/lab");
  CHECK(seen ==
        "work/ring.cpp:3:3: error: 'Work' was not declared in this scope; did you mean "
        "'comm::Work'?\n");
}

TEST_CASE("diagnostics: an error inside a template is told by the line that led there") {
  const std::string output =
      "/usr/include/c++/12/bits/predefined_ops.h: In instantiation of 'bool less()':\n"
      "/usr/include/c++/12/bits/stl_algo.h:4820:18:   required from 'void std::sort()'\n"
      "work/ring.cpp:16:12:   required from here\n"
      "/usr/include/c++/12/bits/predefined_ops.h:45:23: error: no match for operator<\n"
      "   45 |       { return *__it1 < *__it2; }\n";
  CHECK_THAT(first_error(output, file), test::contains("work/ring.cpp:16:12: no match for"));
  CHECK(readable_diagnostics(output, file, "/lab") ==
        "work/ring.cpp:16:12: error: no match for operator<\n");
}

TEST_CASE("diagnostics: three different errors are told, and how many there are besides") {
  std::string output;
  for (int line = 1; line <= 5; ++line) {
    for (int twice = 0; twice < 2; ++twice) output += text(file, ":", line, ":1: error: no\n");
  }
  CHECK(readable_diagnostics(output, file, "/lab") ==
        "work/ring.cpp:1:1: error: no\nwork/ring.cpp:2:1: error: no\nwork/ring.cpp:3:1: error: "
        "no\n… and 2 more, which may follow from these\n");
}

TEST_CASE("diagnostics: the usual beginner's errors say what mends them") {
  for (const auto& [error, advice] : std::vector<std::pair<std::string, std::string>>{
           {"expected ‘,’ or ‘;’ before ‘const’", "a ; is missing"},
           {"expected initializer before ‘for’", "a ; is missing"},
           {"‘autograd’ has not been declared", "include the header that declares it"},
           {"expected ';' after expression", "a ; is missing"},
           {"expected ‘}’ at end of input", "never closed"},
           {"cannot declare parameter ‘peers’ to be of abstract type ‘Peers’", "&"},
           {"use of deleted function ‘Work::Work(const Work&)’", "cannot be copied"},
           {"binding reference of type ‘Tensor&’ to ‘const Tensor’ discards qualifiers", "const"},
           {"no match for ‘operator<’", "no such operator"}}) {
    INFO(error);
    CHECK_THAT(advice_for(error), test::contains(advice));
  }
  CHECK(advice_for("‘arived’ was not declared in this scope").empty());
}

TEST_CASE("diagnostics: what is no diagnosis is shown as it came") {
  CHECK(readable_diagnostics("c++: killed\n", file, "/lab") == "c++: killed\n");
}
