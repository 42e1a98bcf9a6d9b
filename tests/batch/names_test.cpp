// Names of people: one name however it is encoded, itself wherever it is shown, and told where the
// roster writes it otherwise.
#include "engine/base/error.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/hand_ins/roster.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using Names = std::set<std::string>;
using Pairs = std::map<std::string, std::string>;

TEST_CASE("names: composed and decomposed letters are one name") {
  CHECK(readable_name("Zoe\u0308") == "Zo\u00eb");
  CHECK(readable_name("Nun\u0303ez") == readable_name("Nuñez"));
  CHECK(readable_name("\u1112\u1161\u11ab") == "\ud55c");       // Hangul, as a Mac has it
  CHECK(readable_name("A\u030a") == readable_name("\u212b"));   // Å, and the unit Ångström
  CHECK(readable_name("Nguye\u0302\u0303n") == "Nguy\u1ec5n");  // two marks on one letter
  CHECK(readable_name("o\u0323\u0302") == readable_name("o\u0302\u0323"));  // in either order
  const Roster roster = read_roster("student\nZo\u00eb\nZoe\u0308\n");
  CHECK(roster.students.size() == 1);
  REQUIRE(roster.notes.size() == 1);
  CHECK_THAT(roster.notes.front(), test::contains("names Zo\u00eb again"));
}

TEST_CASE("names: what can be printed is itself, and different names stay different") {
  for (const std::string name :
       {"O'Neill, Siobhán", "D’Arcy", "Jean-Luc", "Kumar s/o Raman", "amy@uni.example", "=1+1",
        "-rf", "..", "Ada \"the\" Countess", "李小龙", "100 %", "50%", "a;b", "(exchange) Bo"}) {
    CHECK(readable_name(name) == name);
  }
  CHECK(readable_name("a\nb") == "a%0Ab");
  CHECK(readable_name("\xff") == "%FF");
  CHECK(readable_name("%FF") == "%25FF");
  CHECK(readable_name("100%41") == "100%2541");
  CHECK(readable_name("\u202etxt") == "%E2%80%AEtxt");
}

TEST_CASE("names: written otherwise on the roster, a hand-in is that student's") {
  for (const auto& [theirs, listed] : Pairs{{"anna", "Anna"},
                                            {"D\u2019Arcy", "D'Arcy"},
                                            {"D`Arcy", "D'Arcy"},
                                            {"D\u00b4Arcy", "D'Arcy"},
                                            {"Jean\u2010Luc", "Jean-Luc"},
                                            {"Ada  Lovelace ", "Ada Lovelace"},
                                            {"Ada\u00a0Lovelace", "Ada Lovelace"},
                                            {"ＡＤＡ", "Ada"},
                                            {"GROSS", "Groß"},
                                            {"Ada\u200b", "Ada"}}) {
    CAPTURE(theirs, listed);
    const LookAlikes found = look_alikes({theirs, "bob"}, {listed, "bob", "cid"});
    CHECK(found.taken_for == Pairs{{theirs, listed}});
    CHECK(found.perhaps.empty());
  }
}

TEST_CASE("names: a similar one is proposed, and nobody is taken for two") {
  const auto perhaps = [](const Names& handed_in, const Names& roster) {
    const LookAlikes found = look_alikes(handed_in, roster);
    CHECK(found.taken_for.empty());
    return found.perhaps;
  };
  CHECK(perhaps({"Zoe"}, {"Zoë", "bob"}) == Pairs{{"Zoe", "Zoë"}});
  CHECK(perhaps({"Lovelace, Ada"}, {"Ada Lovelace"}) == Pairs{{"Lovelace, Ada", "Ada Lovelace"}});
  CHECK(perhaps({"ada_lovelace"}, {"Ada Lovelace"}) == Pairs{{"ada_lovelace", "Ada Lovelace"}});
  CHECK(perhaps({"Jon Smith"}, {"John Smith"}) == Pairs{{"Jon Smith", "John Smith"}});
  // One who handed in is not meant by another's name.
  CHECK(perhaps({"anna", "Anna"}, {"Anna"}).empty());
  // Two of the roster would do: a person decides.
  CHECK(perhaps({"anna"}, {"Anna", "ANNA"}).size() == 1);
  CHECK(perhaps({"amy"}, {}).empty());
  CHECK(perhaps({"quentin"}, {"bob"}).empty());
}

TEST_CASE("names: a list of an option takes names with commas in quotes") {
  CHECK(names_in_list("\"O'Neill, Siobhán\",amy", "--students") ==
        std::vector<std::string>{"O'Neill, Siobhán", "amy"});
  CHECK(names_in_list("O'Neill;x, bob", "--students") ==
        std::vector<std::string>{"O'Neill;x", "bob"});
  CHECK(names_in_list("", "--students").empty());
  CHECK(slash_before_exercise("amy/06_all_reduce/ring_all_reduce") == 3);
  CHECK(slash_before_exercise("Kumar s/o Raman") == std::string::npos);
  CHECK(slash_before_exercise("Kumar s/o Raman/exchange") == 15);
}
