#include "grader/pack/hand_ins.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "grader/batch/hand_ins/submission.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/pack/written_parts.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* how_to_compare =
    "Hand-ins for JPlag (https://github.com/jplag/JPlag). From this folder:\n"
    "\n"
    "    java -jar jplag.jar -l cpp -bc base -new submissions -old earlier\n"
    "\n"
    "compares all lessons at once; with -s 06_all_reduce only that one. base has what everybody "
    "was\n"
    "given, earlier the references. A file has the marked regions, and lines outside of them that\n"
    "the stub does not have. Short regions look alike by themselves: judge a pair by reading it.\n";

}  // namespace

HandIns hand_ins_for_comparison(const Lab& lab, const std::filesystem::path& submissions,
                                const std::string& naming) {
  std::vector<const Exercise*> exercises;
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::code) exercises.push_back(&exercise);
  }
  HandIns out;
  out.members.push_back({"README", how_to_compare});
  const auto add = [&](const std::string& folder, const Exercise& exercise,
                       const std::string& source) {
    const std::string stub = read_text(lab.places.stub(exercise));
    const std::string part = written_part(source, stub, exercise.name);
    out.members.push_back({folder + "/" + exercise.file(), part});
  };
  for (const Exercise* exercise : exercises) {
    add("base", *exercise, read_text(lab.places.stub(*exercise)));
    add("earlier/reference", *exercise, read_text(lab.places.solution(*exercise)));
  }
  for (const Submission& submission : take_in(submissions, exercises, {}, naming).submissions) {
    std::size_t files = 0;
    for (const Exercise* exercise : exercises) {
      const auto found = submission.answers.find(exercise->address());
      if (found == submission.answers.end()) continue;
      const Answer& answer = found->second;
      if (answer.state != Answer::State::handed_in) continue;
      if (answer.content == read_text(lab.places.stub(*exercise))) continue;  // nothing written
      add("submissions/" + submission.student, *exercise, answer.content);
      ++files;
    }
    out.files += files;
    out.students += files > 0;
    if (files == 0) out.without.push_back(submission.student);
  }
  std::ranges::sort(out.members, {}, &Member::path);
  return out;
}

}  // namespace lockstep::grader
