// Names of types on made-up rooms.
#include "tests/house/names.hpp"

#include "tests/catch.hpp"

using namespace lockstep::house;

namespace {

std::string names_in(const std::string& text) {
  std::string all;
  for (const NamedType& type : named_types(source_of("engine/comm/x.hpp", text))) {
    all += type.name + (type.alias_of.empty() ? "" : "=" + type.alias_of) + " ";
  }
  return all;
}

Complaints shared(const std::vector<Source>& sources) { return names_shared_in_rooms(sources); }

}  // namespace

TEST_CASE("names: classes, enumerations and aliases at namespace scope are types") {
  CHECK(names_in("struct A {\n  int a;\n};\nclass B final : public A {\n};\n") == "A B ");
  CHECK(names_in("enum class C : std::uint8_t { one };\nenum D { two };\nunion E {\n};\n") ==
        "C D E ");
  CHECK(names_in("template <typename T>\nstruct F {};\n") == "F ");
  CHECK(names_in("struct alignas(64) G {\n};\n") == "G ");
  CHECK(names_in("class H\n    : public A {\n};\n") == "H ");
  CHECK(names_in("using I = std::vector<\n    int>;\n") == "I=std::vector<int> ");
}

TEST_CASE(
    "names: inner types, declarations, specialisations and definitions of inner types are none") {
  CHECK(names_in("struct A {\n  struct B {};\n  enum class C { one };\n};\n") == "A ");
  CHECK(names_in("class A;\nstruct B;\nenum class C : int;\n") == "");
  CHECK(names_in("template <>\nstruct A<int> {\n};\n") == "");
  CHECK(names_in("class A::B final : public C {\n};\nstruct A::D {\n};\n") == "");
  CHECK(names_in("using namespace a;\nusing a::b;\n") == "");
  CHECK(names_in("// struct A {\nstruct B one() {\n}\nconst char* text = \"struct C {\";\n") == "");
}

TEST_CASE("names: a room is a folder with its inner folders, and parts are rooms") {
  CHECK(room_of("engine/comm/worlds/shm/x.hpp") == "engine/comm");
  CHECK(room_of("engine/base/x.hpp") == "engine/base");
  CHECK(room_of("engine/parallel/ddp/x.hpp") == "engine/parallel/ddp");
  CHECK(room_of("grader/judge/x.hpp") == "grader/judge");
  CHECK(room_of("grader/parts/07_ddp/bucketed_reducer/x.cpp") ==
        "grader/parts/07_ddp/bucketed_reducer");
  CHECK(room_of("grader/parts/07_ddp/x.hpp") == "grader/parts/07_ddp");
}

TEST_CASE("names: two types of one room may not have one name, in unnamed namespaces either") {
  const Source one = source_of("engine/comm/a.cpp", "namespace {\nstruct Asked {\n};\n}\n");
  const Source other = source_of("engine/comm/worlds/b.hpp", "struct Asked {\n};\n");
  CHECK(shared({one, other}) ==
        Complaints{"engine/comm/worlds/b.hpp:1: engine/comm has a type Asked already, in "
                   "engine/comm/a.cpp:2: give each a name that says what it alone is"});
  CHECK(shared({one, source_of("engine/sim/b.hpp", "struct Asked {\n};\n")}) == Complaints{});
}

TEST_CASE("names: aliases for one type are one type, and those for two are two") {
  const Source words = source_of("engine/apps/a.cpp", "using Words = std::vector<std::string>;\n");
  const Source same =
      source_of("engine/apps/b.cpp", "using Words =\n    std::vector<std::string>;\n");
  const Source two = source_of("engine/apps/c.cpp", "using Words = std::set<std::string>;\n");
  CHECK(shared({words, same}) == Complaints{});
  CHECK(shared({words, two}).size() == 1);
  CHECK(shared({words, source_of("engine/apps/d.cpp", "class Words {\n};\n")}).size() == 1);
}

TEST_CASE("names: a house word is a type in its own file, and nowhere else") {
  const HouseWords words{{"Unit", "engine/nn/units.hpp"}, {"Room", ""}};
  const Source home = source_of("engine/nn/units.hpp", "struct Unit {\n};\n");
  CHECK(taken_house_words({home}, words, {}) == Complaints{});
  CHECK(taken_house_words(
            {home, source_of("grader/batch/a.hpp", "struct Unit {\n};\nclass Room {\n};\n")}, words,
            {}) ==
        Complaints{"grader/batch/a.hpp:1: Unit is a house word, the type in engine/nn/units.hpp: "
                   "take another name",
                   "grader/batch/a.hpp:3: Room is a house word: take another name"});
  CHECK(taken_house_words({}, words, {}) ==
        Complaints{"engine/nn/units.hpp has no type Unit: correct the list of house words"});
}

TEST_CASE(
    "names: an exception lets one type keep a house word, and is told when nothing needs it") {
  const HouseWords words{{"Unit", "engine/nn/units.hpp"}};
  const Source home = source_of("engine/nn/units.hpp", "struct Unit {\n};\n");
  const Source other = source_of("grader/batch/a.hpp", "struct Unit {\n};\n");
  CHECK(taken_house_words({home, other}, words, {"grader/batch/a.hpp Unit"}) == Complaints{});
  CHECK(taken_house_words({home}, words, {"grader/batch/a.hpp Unit"}) ==
        Complaints{"grader/batch/a.hpp Unit: an exception that nothing needs"});
}

TEST_CASE("names: a comment that opens as a fragment is told with its line, once a comment") {
  const auto told = [](const std::string& text) {
    return fragment_comments(source_of("engine/comm/x.hpp", text));
  };
  CHECK(told("// What a rank calls.\n// Of all ranks.\nint a;\n  // Whether it ends.\n") ==
        Complaints{"engine/comm/x.hpp:1: the comment opens as a fragment: name its subject",
                   "engine/comm/x.hpp:4: the comment opens as a fragment: name its subject"});
  CHECK(told("// Whatever it is.\nint a;  // of a rank\n// The rank, and what it calls.\n") ==
        Complaints{});
  CHECK(told("//   Where it is.\n\n// Who calls.\n").size() == 2);
}
