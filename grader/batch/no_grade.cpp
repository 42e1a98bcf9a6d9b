// For a build without libseccomp, libarchive, utf8proc or OpenSSL's headers, or with a sanitizer.
#include <iostream>

#include "grader/batch/grade_command.hpp"

namespace lockstep::grader {

Exit grade_command(const Lab&, const Words&) {
  std::cerr << "lab: this build cannot grade. Run apt-get install bubblewrap libseccomp-dev "
               "libarchive-dev libutf8proc-dev libssl-dev, then ./lab start (a build with a "
               "sanitizer cannot grade "
               "at all)\n";
  return Exit::machine;
}

}  // namespace lockstep::grader
