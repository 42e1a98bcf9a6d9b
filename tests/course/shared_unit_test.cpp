#include "grader/course/proofs/shared_unit.hpp"

#include "tests/catch.hpp"

using namespace lockstep::grader;

namespace {

std::string body_of(const std::string& source) {
  const auto part = unit_part(source, "v");
  return part ? part->body : "does not fit";
}

}  // namespace

TEST_CASE("a unit's part: what a namespace holds is put into one more, lines stay where they are") {
  const auto part = unit_part(
      "// Task.\n#include \"a.hpp\"\n#include <map>\n\nnamespace a::b {\nint f() {\n  return "
      "1;\n}\n"
      "}  // namespace a::b\n",
      "v");
  REQUIRE(part);
  CHECK(part->includes == "#include \"a.hpp\"\n#include <map>\n");
  CHECK(part->body ==
        "// Task.\n\n\n\nnamespace a::b { namespace v {\nint f() {\n  return 1;\n}\n} }  // "
        "namespace a::b\n");
}

TEST_CASE("a unit's part: every namespace of the file gets one, inner ones none") {
  CHECK(body_of("namespace a { namespace { int x; } }\nnamespace b { }\n") ==
        "namespace a { namespace v { namespace { int x; } } }\nnamespace b { namespace v { } }\n");
}

TEST_CASE("a unit's part: braces in comments, texts and characters are none") {
  for (const char* inside :
       {"// }\n", "/* } */", "const char* s = \"}\";", "const char* s = \"\\\"}\";",
        "char c = '}';", "char c = '\\'', d = '}';", "int n = 1'000; // '}\n"}) {
    INFO(inside);
    const std::string source = std::string("namespace a {") + inside + "}";
    CHECK(body_of(source) == std::string("namespace a { namespace v {") + inside + "} }");
  }
}

TEST_CASE("a unit's part: what means something else in a unit, or may, does not fit") {
  for (const char* source :
       {"int x;\n", "using namespace std;\n", "namespace { int x; }\n", "struct A {};\n",
        "namespace a { }\nint x;\n", "#define A 1\n", "namespace a {\n#include <map>\n}\n",
        "#include <map> \\\n", "namespace a {\n#if 1\n#endif\n}\n", "namespace a {", "}",
        "inline namespace a { }\n", "namespace a = b;\n", "namespace a { auto s = R\"(x)\"; }\n",
        "extern \"C\" { }\n", "void f() { }\n"}) {
    INFO(source);
    CHECK_FALSE(unit_part(source, "v"));
  }
}

TEST_CASE("a unit: includes once, then each version under its file's name") {
  const std::vector<UnitPart> parts{{"#include <map>\n", "1\n"}, {"#include <map>\n", "2\n"}};
  CHECK(unit_of(parts, {"a.cpp", "b.cpp"}) ==
        "#include <map>\n#line 1 \"a.cpp\"\n1\n\n#line 1 \"b.cpp\"\n2\n\n");
}
