#include "grader/batch/hand_ins/roster.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using Cells = std::vector<std::string>;

TEST_CASE("roster: a spreadsheet's mark, quotes, separators and line ends change nothing") {
  const Cells columns{"name", "section"};
  for (const std::string text : {
           "student,name,section\nada,\"Lovelace, Ada\",A\nbob,Bob,B\n",
           "\xef\xbb\xbfstudent,name,section\r\nada,\"Lovelace, Ada\",A\r\nbob,Bob,B\r\n",
           "\xef\xbb\xbfStudent;name;section\r\nada;Lovelace, Ada;A\r\nbob;Bob;B",
           "student\tname\tsection\rada\tLovelace, Ada\tA\rbob\tBob\tB\r",
       }) {
    INFO(text);
    const Roster roster = read_roster(text);
    CHECK(roster.columns == columns);
    REQUIRE(roster.students.size() == 2);
    CHECK(roster.students.at("ada") == Cells{"Lovelace, Ada", "A"});
    CHECK(roster.students.at("bob") == Cells{"Bob", "B"});
    CHECK(roster.notes.empty());
  }
}

TEST_CASE("roster: a first line that names the separator is no student") {
  for (const std::string first :
       {"sep=;\r\n", "sep=;\n", "SEP=;\r", "\xef\xbb\xbfsep=;\r\n", "\"sep=;\"\n", "sep=;;;\n"}) {
    INFO(first);
    const Roster roster = read_roster(first + "student;name,title\namy;A, Ms\n;x\n");
    CHECK(roster.students.size() == 1);
    CHECK(roster.students.at("amy") == Cells{"A, Ms"});
    CHECK(roster.columns == Cells{"name,title"});
    REQUIRE(roster.notes.size() == 1);
    CHECK_THAT(roster.notes[0], test::contains("line 4"));
  }
  CHECK(read_roster("sep=,\nstudent,name;x\namy,1;2\n").students.at("amy") == Cells{"1;2"});
  CHECK_THROWS_WITH(read_roster("sep=|\nstudent|name\namy|A\n"),
                    test::contains("line 1: sep= names the separator"));
  CHECK_THROWS_WITH(read_roster("sep=;\n"), test::contains("empty"));
}

TEST_CASE("roster: as many students as a class has are read, and no more") {
  std::string lines = "student\n";
  for (int i = 0; i < 20'000; ++i) lines += "s" + std::to_string(i) + "\n";
  CHECK(read_roster(lines).students.size() == 20'000);
  for (int i = 20'000; i < 200'000; ++i) lines += "s" + std::to_string(i) + "\n";
  CHECK_THROWS_WITH(read_roster(lines),
                    test::contains("names 200000 students, more than the 20000"));
}

TEST_CASE("roster: a quoted cell may hold quotes, separators and lines") {
  const Roster roster =
      read_roster("name,id\n\"Ada \"\"the\"\" Countess\",1\n\"two\nlines\",2\nO\"Neil,3\n", "id");
  CHECK(roster.students.at("1") == Cells{"Ada \"the\" Countess"});
  CHECK(roster.students.at("2") == Cells{"two\nlines"});
  CHECK(roster.students.at("3") == Cells{"O\"Neil"});
}

TEST_CASE("roster: the students' column is found by its heading, or named") {
  CHECK(read_roster("name,username\nAda,al\n").students.contains("al"));
  CHECK(read_roster("E-Mail,Section\na@x.org,3\n").students.contains("a@x.org"));
  CHECK(read_roster("Name,ID\nAda,17\n").students.contains("17"));
  CHECK(read_roster("Matrikel;Ort\n17;Ulm\n", "matrikel").students.contains("17"));
  CHECK(read_roster("Student,ID,Section\nAda,17,A\n", "id").columns == Cells{"Student", "Section"});
  CHECK_THROWS_WITH(read_roster("Student,ID\nAda,17\n", "login"),
                    test::contains("--student-column login") && test::contains("Student, ID"));
}

TEST_CASE("roster: without a heading the first column holds the students") {
  const Roster roster = read_roster("amy\nbob\n");
  CHECK(roster.students.size() == 2);
  CHECK(roster.columns.empty());
  CHECK(read_roster("amy,Amy A.\nbob,Bob\n").columns == Cells{"column 2"});
}

TEST_CASE("roster: short, long and blank lines keep each cell in its column") {
  const Roster roster = read_roster("student,a,a,\namy,1\n,,,\n\nbob,1,2,3,4\n");
  CHECK(roster.columns == Cells{"a", "column 3", "column 4", "column 5"});
  CHECK(roster.students.at("amy") == Cells{"1", "", "", ""});
  CHECK(roster.students.at("bob") == Cells{"1", "2", "3", "4"});
}

TEST_CASE("roster: lines without a name or with one again are told by number and left out") {
  const Roster roster = read_roster("student,section\namy,A\n,B\n\"bob\n\",C\namy ,D\n");
  CHECK(roster.students.size() == 2);
  CHECK(roster.students.at("amy") == Cells{"A"});
  REQUIRE(roster.notes.size() == 2);
  CHECK_THAT(roster.notes[0], test::contains("line 3"));
  CHECK_THAT(roster.notes[1],
             test::contains("line 6") && test::contains("amy") && test::contains("line 2"));
}

TEST_CASE("roster: what is no CSV in UTF-8 is refused with what mends it") {
  const auto refused = [](const std::string& text, const std::string& words) {
    INFO(text);
    CHECK_THROWS_AS(read_roster(text), UsageError);
    CHECK_THROWS_WITH(read_roster(text), test::contains(words));
  };
  refused(std::string("\xff\xfes\0t\0", 6), "UTF-16");
  refused(std::string("\xfe\xff\0s\0t", 6), "UTF-16");
  refused(std::string("s\0t\0u\0", 6), "UTF-16");
  refused("student\nZo\xeb\n", "line 2");
  refused("student\nZo\xeb\n", "UTF-8");
  refused("student\namy\n\"bob\ncid\n", "line 3: a quote is opened and never closed");
  refused("student,a\n\"amy\"x,1\n", "line 2: after a closing quote");
  refused("", "empty");
  refused("\n \n", "empty");
  refused("student\n", "no students below");
  refused(std::string(9 << 20, 'a'), "bytes");
}

TEST_CASE("roster: any bytes give a roster with a cell a column, or a usage error") {
  const std::string usual = "ab1,,;\t\"\" \n\n\r", rare("\xef\xbb\xbf\xff\0", 5);
  std::uint64_t state = 7;
  const auto draw = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    while (text.size() < 30) {
      text += draw(100) == 0 ? rare[draw(rare.size())] : usual[draw(usual.size())];
    }
    try {
      const Roster roster = read_roster(text);
      ++read;
      for (const auto& [name, cells] : roster.students) {
        REQUIRE_FALSE(name.empty());
        REQUIRE(cells.size() == roster.columns.size());
      }
    } catch (const UsageError&) {
    }
  }
  CHECK(read > 1000);
}

TEST_CASE("roster: a record of it is the same roster") {
  const Roster roster = read_roster("student,name\namy,\"A, y\"\n,x\n");
  const Roster again = roster_from(json_of(roster));
  CHECK(again.students == roster.students);
  CHECK(again.columns == roster.columns);
  CHECK(again.notes == roster.notes);
}
