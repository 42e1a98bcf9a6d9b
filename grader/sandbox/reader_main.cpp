// lab-reader: reads what a student wrote into a quiz, for a judge that would rather not.
//
//   lab-reader quiz FILE NAME    the answers in the file; NAME is what messages call it
//   lab-reader formula FILE      a formula's values: the formula, then the points
//
// It opens the file, gives up everything, and only then reads. Its memory is its own: it was
// executed, not forked from a judge that has read the key. Its answer goes to stdout: '+' and the
// answers or values, or '-' and the sentence that says why there are none.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "grader/sandbox/confined_quiz.hpp"
#include "grader/sandbox/give_up.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::grader;

constexpr int not_confined = 126;  // the lab's failure, not the file's

std::string read_all(int file) {
  std::string all;
  char part[65536];
  ssize_t count;
  while ((count = ::read(file, part, sizeof part)) > 0) {
    all.append(part, static_cast<std::size_t>(count));
  }
  return all;
}

void write_all(const Bytes& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data() + sent, bytes.size() - sent);
    if (count <= 0) std::_Exit(1);
    sent += static_cast<std::size_t>(count);
  }
}

Bytes answered(const std::string& kind, const std::string& content, const std::string& name) {
  const QuizReader reader;
  ByteWriter out;
  try {
    if (kind == "quiz") {
      write_answers(out.put('+'), reader.answers(content, name));
    } else {
      const FormulaQuestion asked = read_formula(content);
      write_values(out.put('+'), reader.values(asked.formula, asked.points));
    }
    return out.take();
  } catch (const UnreadableQuiz& unreadable) {
    ByteWriter why;
    why.put('-').put_text(unreadable.what());
    return why.take();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return not_confined;
  const int file = ::open(argv[2], O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    std::fprintf(stderr, "lab-reader: %s: %s\n", argv[2], std::strerror(errno));
    return not_confined;
  }
  if (const std::string wrong = give_up_everything(); !wrong.empty()) {
    std::fprintf(stderr, "lab-reader: %s\n", wrong.c_str());
    return not_confined;
  }
  write_all(answered(argv[1], read_all(file), argc > 3 ? argv[3] : ""));
  std::_Exit(0);  // nothing is left to be closed or destroyed
}
