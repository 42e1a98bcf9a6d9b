#include "grader/lab/save_watch.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {

namespace fs = std::filesystem;

SaveWatch::SaveWatch(fs::path file)
    : file_(std::move(file)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (inotify_ >= 0) {
    ::inotify_add_watch(inotify_, file_.parent_path().c_str(),
                        IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
  }
  changed();
}

SaveWatch::~SaveWatch() {
  if (inotify_ >= 0) ::close(inotify_);
}

bool SaveWatch::stirred() {
  alignas(inotify_event) std::array<char, 4096> events;
  bool ours = false;
  for (;;) {
    const ssize_t got = ::read(inotify_, events.data(), events.size());
    if (got <= 0) return ours;
    for (const char* at = events.data(); at < events.data() + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->len > 0 && file_.filename() == event->name) ours = true;
      at += sizeof(inotify_event) + event->len;
    }
  }
}

bool SaveWatch::changed() {
  if (!fs::is_regular_file(file_)) return false;
  std::string content;
  try {
    content = read_text(file_);
  } catch (const std::exception&) {
    return false;  // it was replaced just now
  }
  if (content == content_) return false;
  content_ = std::move(content);
  return true;
}

std::chrono::system_clock::time_point SaveWatch::written_at() const {
  struct stat about {};
  if (::stat(file_.c_str(), &about) != 0) return {};
  using namespace std::chrono;
  return system_clock::time_point(duration_cast<system_clock::duration>(
      seconds(about.st_mtim.tv_sec) + nanoseconds(about.st_mtim.tv_nsec)));
}

}  // namespace lockstep::grader
