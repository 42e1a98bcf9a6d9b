// The members of an archive, and the form in which a child process reports them. archive.cpp reads
// every archive in a child, because archives are made to break what reads them.
#pragma once

#include <string>
#include <vector>

#include "grader/batch/hand_ins/submission.hpp"

namespace lockstep::grader {

// Fills in the answers, or why the archive as a whole is refused: "bad_archive", "bomb", and what
// take_answers() finds (hand_in.hpp).
//   bytes   the archive, whatever it is: zip, tar, or a tar behind gzip, bzip2 or xz
void read_members(const std::string& bytes, const std::vector<const Exercise*>& exercises,
                  const SubmissionLimits& limits, Submission& submission);

// The cause, the reason and the answers as bytes, and back. An archive may have taken the child
// over, so a reply is trusted no more than the archive is: it can answer for no other exercise, and
// its sentences are printable.
//   submission   has an answer for each address that may be replied about; on a throw it stays as
//                it was
//   Throws       MalformedMessage
std::string reply_of(const Submission& submission);
void read_reply(const std::string& reply, const SubmissionLimits& limits, Submission& submission);

}  // namespace lockstep::grader
