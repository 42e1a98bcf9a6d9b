// Archives are made to break what reads them: a child process reads each, and gives up everything
// before it looks at the first byte.
#include <sys/stat.h>

#include <clocale>

#include "engine/base/bytes.hpp"
#include "grader/batch/hand_ins/answer_files.hpp"
#include "grader/batch/hand_ins/archive_members.hpp"
#include "grader/batch/processes/worker_processes.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/sandbox/give_up.hpp"

namespace lockstep::grader {

void read_archive(const std::filesystem::path& file, const std::vector<const Exercise*>& exercises,
                  const SubmissionLimits& limits, Submission& submission) {
  for (const Exercise* exercise : exercises) submission.answers[exercise->address()] = {};
  const auto read = [&] {
    ::setlocale(LC_CTYPE, "C.UTF-8");  // of the child: without, it loses names that are UTF-8
    Submission inside = submission;
    if (std::filesystem::file_size(file) > limits.archive_bytes) {
      inside.cause = "too_large";
      inside.reason = text("the archive has more than ", limits.archive_bytes,
                           " bytes: hand in work/ alone, as ./lab submit packs it");
      return reply_of(inside);
    }
    const std::string bytes = read_text(file);
    const std::string wrong = give_up_everything();
    if (!wrong.empty()) throw Error(wrong);
    read_members(bytes, exercises, limits, inside);
    return reply_of(inside);
  };
  const auto refuse = [&](const std::string& how) {
    submission.cause = "bad_archive";
    submission.reason = "the archive is damaged: " + how;
  };
  WorkerLimits worker;
  worker.deadline_s = 60;
  worker.memory_bytes = std::size_t{1} << 30;
  worker.answer_bytes = 2 * limits.unpacked_bytes;
  work_through({read}, worker, [&](std::size_t, const Outcome& outcome) {
    if (outcome.state != Outcome::State::answered) return refuse(outcome.how);
    try {
      read_reply(outcome.answer, limits, submission);
    } catch (const MalformedMessage&) {
      refuse("its reader's reply makes no sense");
    }
  });
  struct stat about {};
  if (::lstat(file.c_str(), &about) != 0) return;
  for (auto& [address, answer] : submission.answers) answer.modified = about.st_mtim.tv_sec;
}

}  // namespace lockstep::grader
