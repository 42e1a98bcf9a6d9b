#include "grader/course/stub.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string reference = R"(// Task: add.
#include "engine/x/add.hpp"

namespace lockstep::x {
namespace {

// >>> your code
int secret_helper() { return 1; }
// <<< your code

}  // namespace

int add(const std::map<int, int>& first, std::span<Parameter* const> second,
        Where where = Where::current()) {
  // >>> your code
  if (secret_helper()) {
    return 2;
  }
  // <<< your code
}

}  // namespace lockstep::x
)";

}  // namespace

TEST_CASE("a stub: regions are gone, what stands around them stays") {
  const std::string stub = stub_of(reference, "add");
  CHECK(stub.find("secret_helper") == std::string::npos);
  CHECK(stub.find("return") == std::string::npos);
  CHECK_THAT(stub, test::contains("// Task: add."));
  CHECK_THAT(stub, test::contains("  // >>> your code\n"));
  CHECK_THAT(stub, test::contains("// >>> your code\n// <<< your code\n"));
}

TEST_CASE("a stub: throws, mentions every parameter, and includes what it throws") {
  const std::string stub = stub_of(reference, "add");
  CHECK_THAT(stub, test::contains("  (void)first, (void)second, (void)where;\n"
                                  "  throw NotImplemented(\"add\");\n  // <<< your code\n"));
  CHECK_THAT(stub, test::contains("add.hpp\"\n\n#include \"engine/base/error.hpp\"\n"));
}

TEST_CASE("a stub: comments that name the steps stay, and what follows them does not") {
  std::string in_steps = reference;
  const std::string helper = "int secret_helper()";
  in_steps.insert(in_steps.find(helper),
                  "// Step 1. One worker.\n// Step 2. Several.\n//\n// Invariants\n");
  const std::string stub = stub_of(in_steps, "add");
  CHECK_THAT(stub, test::contains("// >>> your code\n// Step 1. One worker.\n// Step 2. Several.\n"
                                  "// <<< your code\n"));
}

TEST_CASE("a stub: the include goes to its sorted place and is not given twice") {
  const std::string tail = "\nvoid f() {\n  // >>> your code\n  // <<< your code\n}\n";
  const std::string two = "#include \"engine/x/f.hpp\"\n\n#include \"engine/z.hpp\"\n" + tail;
  CHECK_THAT(stub_of(two, "f"),
             test::contains("f.hpp\"\n\n#include \"engine/base/error.hpp\"\n#include \"engine/z"));
  const std::string there = "#include \"engine/base/error.hpp\"\n" + tail;
  const std::string stub = stub_of(there, "f");
  CHECK(stub.find("error.hpp") == stub.rfind("error.hpp"));
}

TEST_CASE("a stub: a reference without a whole region is refused") {
  CHECK_THROWS_WITH(stub_of("int f() { return 1; }\n", "f"), test::contains("no region"));
  CHECK_THROWS_WITH(stub_of("int f() {\n  // >>> your code\n}\n", "f"),
                    test::contains("// <<< your code"));
}
