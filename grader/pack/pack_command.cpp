#include "grader/pack/pack_command.hpp"

#include <iostream>

#include "engine/base/destination.hpp"
#include "engine/base/error.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/base/units.hpp"
#include "grader/course/quiz/hashes.hpp"
#include "grader/course/quiz/slow_hash.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"
#include "grader/pack/built_files.hpp"
#include "grader/pack/gradescope_bundle.hpp"
#include "grader/pack/hand_ins.hpp"
#include "grader/pack/student_edition.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

Options pack_options() {
  Options options("./lab pack", "Makes an archive that an instructor hands out or uploads.");
  options
      .words("WHAT [SUBMISSIONS]",
             "student: the students' edition, without references, keys or exams to read; jplag: "
             "what students of SUBMISSIONS wrote, for a search for copies; gradescope: an "
             "autograder to upload")
      .option("out", "", "the archive: FILE.zip; of student FILE.tar.gz (default: in build/)")
      .option("student-from", "", "jplag: how hand-ins are named, as for ./lab grade")
      .option("exercises", "", "gradescope: names or lessons, separated by commas (default: all)")
      .option("seed-file", "", "gradescope: your own secret seed (default: a new one)")
      .option("rounds", text(slower_rounds), "student: how slow it is to try a quiz's number");
  return options;
}

fs::path out_of(const Arguments& arguments, const std::string& ending, fs::path out = {}) {
  if (out.empty() || arguments.given("out")) out = arguments.get("out");
  if (out.empty()) throw UsageError("say where to: --out FILE" + ending);
  if (!out.filename().string().ends_with(ending)) {
    throw UsageError(text("--out ", out.string(), " must end in ", ending));
  }
  check_destination("--out", out);
  return fs::absolute(out);
}

std::string megabytes(std::uintmax_t bytes) { return text((bytes + 500'000) / 1'000'000, " MB"); }

// With its digest. Under another name first, since a disk can be full.
void write_tar(const fs::path& folder, const fs::path& out) {
  ran({"sh", "-euc",
       "trap 'rm -f \"$2.unfinished\"' EXIT\n"
       "tar --create --use-compress-program='gzip -n' --sort=name --owner=0 --group=0 "
       "--numeric-owner --mtime='2000-01-01 00:00Z' --file \"$2.unfinished\" -C \"$1\" lockstep\n"
       "mv \"$2.unfinished\" \"$2\"\ncd \"${2%/*}\"\nsha256sum \"${2##*/}\" >\"$2.sha256\"",
       "sh", folder.string(), out.string()},
      "/");
}

Exit pack_student(const Lab& lab, const Arguments& arguments) {
  const std::string usual = "lockstep-student-" + system_of_edition() + ".tar.gz";
  const fs::path out = out_of(arguments, ".tar.gz", lab.places.root / "build" / usual);
  make_targets_ready(lab, targets_of_edition(lab));
  const TemporaryFolder scratch("pack");
  write_student_edition(lab, scratch.path() / "lockstep",
                        static_cast<int>(arguments.integer("rounds", 1)));
  write_tar(scratch.path(), out);
  const std::string name = out.filename();
  const std::string about = text(
      out.string(), ": ", megabytes(fs::file_size(out)), ". It works on this system and with this ",
      "compiler. No six tokens of a reference are in it that the course does not tell. ",
      hashes_can_be_guessed, "\n\nPublish it together with ", name, ".sha256. A student types:\n");
  std::cout << wrapped(about, lab.columns) << "  sha256sum --check " << name
            << ".sha256\n  tar -xzf " << name << "\n  cd lockstep && ./lab start\n";
  return Exit::passed;
}

Exit pack_jplag(const Lab& lab, const Arguments& arguments) {
  if (arguments.words().size() != 2) {
    throw UsageError("name the folder of submissions: ./lab pack jplag DIR --out FILE.zip");
  }
  const fs::path out = out_of(arguments, ".zip");
  const HandIns found =
      hand_ins_for_comparison(lab, arguments.words()[1], arguments.get("student-from"));
  write_zip(out, found.members);
  std::cout << wrapped(
      text(out.string(), ": ", counted(found.files, "file"), " of ",
           counted(found.students, "student"), ", and README says how to compare them\n"),
      lab.columns);
  for (const std::string& student : found.without) {
    std::cout << "  nothing to compare: " << student << "\n";
  }
  return Exit::passed;
}

Exit pack_gradescope(const Lab& lab, const Arguments& arguments) {
  const fs::path out = out_of(arguments, ".zip");
  const Bundle bundle =
      gradescope_bundle(lab, arguments.get("exercises"), arguments.get("seed-file"));
  write_zip(out, bundle.members);
  fs::permissions(out, fs::perms::owner_read | fs::perms::owner_write);
  std::cout << wrapped(
      text(out.string(), ": ", megabytes(fs::file_size(out)),
           ". Keep it secret: it holds the references and the seed, whose SHA-256 is ",
           bundle.seed_sha256, "\n"),
      lab.columns);
  return Exit::passed;
}

}  // namespace

Exit pack_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(pack_options(), words);
  if (arguments.asks_help()) return print_help(pack_options());
  const std::string what = arguments.words().empty() ? "" : arguments.words().front();
  if (what == "jplag") return pack_jplag(lab, arguments);
  if (what == "gradescope" && arguments.words().size() == 1) return pack_gradescope(lab, arguments);
  if (what == "student" && arguments.words().size() == 1) return pack_student(lab, arguments);
  throw UsageError("say what to pack: ./lab pack student, or ./lab pack --help");
}

}  // namespace lockstep::grader
