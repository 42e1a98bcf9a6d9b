// A lesson's judge is a program, judge-NN, which holds the exams of that lesson: the exams of a
// lesson are built when one of its parts is judged first, and lab-tool holds none. A call is one
// judgement. The program reads it from one pipe and writes its answer to another, so that its
// standard streams stay those of the caller (./lab debug gives them to gdb).
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/bytes.hpp"
#include "grader/judge/judge.hpp"

namespace lockstep::grader {

struct JudgeCall {
  std::string exercise;  // "ring_all_reduce"
  std::string player;    // the program
  JudgeOptions options;  // but for the timeline, which is the caller's memory
};

struct JudgeAnswer {
  enum class What : unsigned char { report, usage_error, error };
  What what = What::report;
  std::string why;  // of an error
  Report report;
};

// Judges by the program `judge`, which ends when the calling thread does.
//   Returns  the report; its verdict is infrastructure when the exam played less than it declares
//   Throws   UsageError when the exam has no case of the number that was asked for, Error when the
//            program is missing, says that the lab failed, or ends without an answer
Report call_judge(const std::filesystem::path& judge, const JudgeCall& call);

// Shared by both sides: the program's ends of the two pipes, and the format of what passes through
// them.
inline constexpr int judge_call_fd = 3, judge_answer_fd = 4;
Bytes to_bytes(const JudgeCall& call);
Bytes to_bytes(const JudgeAnswer& answer);
JudgeCall judge_call_of(const Bytes& bytes);
bool write_all(int to, std::span<const std::byte> bytes);
Bytes read_all(int from);

}  // namespace lockstep::grader
