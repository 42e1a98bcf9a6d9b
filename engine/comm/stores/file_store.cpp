// Record  body bytes u32, checksum of the body u64, body: kind u8, key, value
#include "engine/comm/stores/file_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/base/bytes.hpp"
#include "engine/comm/stores/local_store.hpp"

namespace lockstep::comm {

namespace {

using namespace std::chrono_literals;

constexpr char mark[] = "lockstep store 1\n";
constexpr off_t mark_bytes = sizeof mark - 1;
constexpr std::size_t head_bytes = sizeof(std::uint32_t) + sizeof(std::uint64_t);
enum class RecordKind : std::uint8_t { put, gone };

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw CommError(text("store in the file ", path, ": ", why));
}

[[noreturn]] void fail(const std::string& path, const char* attempt) {
  refuse(path, text("cannot ", attempt, " it: ", std::strerror(errno),
                    "; pass a path in a folder that every rank may write"));
}

// The next pause of somebody who tries again and again.
void pause(std::chrono::microseconds& length, std::chrono::microseconds longest) {
  std::this_thread::sleep_for(length);
  length = std::min(2 * length, longest);
}

// The file, open and locked until the end of its life. It is opened for each operation, because a
// lock belongs to an open file, and after fork() parent and child would have one lock between them.
class LockedFile {
 public:
  LockedFile(const std::string& path, int kind, double timeout_s)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_.get() < 0) fail(path, "open");
    const Deadline deadline = deadline_after(timeout_s);
    for (auto wait = 50us; flock(file_.get(), kind | LOCK_NB) != 0; pause(wait, 2000us)) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail(path, "lock");
      if (poll_ms_until(deadline) == 0) {
        refuse(path,
               text("another process has kept it locked for ", timeout_s,
                    " s; a rank is stopped in the middle of a change: go on with it or end it"));
      }
    }
    if (fstat(file_.get(), &state_) != 0) fail(path, "look at");
    if (!S_ISREG(state_.st_mode)) refuse(path, "it is no plain file; pass another path");
  }
  // Said aloud: a child that was forked meanwhile holds the same lock, and close() would leave it.
  ~LockedFile() { flock(file_.get(), LOCK_UN); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  const struct stat& state() const { return state_; }

  Bytes read(off_t begin, off_t end) const {
    Bytes bytes(static_cast<std::size_t>(end - begin));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = pread(file_.get(), bytes.data() + done, bytes.size() - done,
                                begin + static_cast<off_t>(done));
      if (got < 0 && errno != EINTR) fail(path_, "read");
      if (got == 0) refuse(path_, "it became shorter during a read; take a new path for each run");
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  // Cuts the file at `begin` and adds `bytes` there.
  void write(off_t begin, std::span<const std::byte> bytes) const {
    if (state_.st_size > begin && ftruncate(file_.get(), begin) != 0) fail(path_, "shorten");
    while (!bytes.empty()) {
      const ssize_t put = pwrite(file_.get(), bytes.data(), bytes.size(), begin);
      if (put < 0 && errno != EINTR) fail(path_, "write");
      if (put <= 0) continue;
      bytes = bytes.subspan(static_cast<std::size_t>(put));
      begin += put;
    }
  }

 private:
  const std::string& path_;
  Descriptor file_;
  struct stat state_ {};
};

class FileStore final : public LocalStore {
 public:
  FileStore(std::string path, double timeout_s)
      : LocalStore("in the file " + path, timeout_s), path_(std::move(path)) {}

 private:
  void change(const std::string& key, const Change& how) override {
    const std::scoped_lock inside(mutex_);
    const LockedFile file(path_, LOCK_EX, timeout_s());
    catch_up(file);
    const auto before = held(key);
    how(all_);
    if (const auto after = held(key); after != before) add_record(file, key, after);
  }

  bool await(Deadline deadline, const Look& enough) override {
    for (auto wait = 200us;; pause(wait, 5000us)) {
      {
        const std::scoped_lock inside(mutex_);
        const LockedFile file(path_, LOCK_SH, timeout_s());
        catch_up(file);
        if (enough(all_)) return true;
      }
      if (poll_ms_until(deadline) == 0) return false;
    }
  }

  std::optional<std::string> held(const std::string& key) const {
    const std::string* value = all_.find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  // Reads the records that are new since the last operation.
  void catch_up(const LockedFile& file) {
    const struct stat& state = file.state();
    if (read_to_ > 0 && (state.st_ino != inode_ || state.st_size < read_to_)) {
      refuse(path_,
             "it was removed or replaced; take a new path for each run, and remove the "
             "file only when all ranks have ended");
    }
    inode_ = state.st_ino;
    if (read_to_ == 0 && !read_mark(file)) return;
    const Bytes bytes = file.read(read_to_, state.st_size);
    std::span<const std::byte> rest = bytes;
    while (const std::size_t size = take_record(rest)) {
      rest = rest.subspan(size);
      read_to_ += static_cast<off_t>(size);
    }
  }

  // True if the whole mark is there. If only a part of it is, the store's maker did not finish.
  bool read_mark(const LockedFile& file) {
    const Bytes seen = file.read(0, std::min(file.state().st_size, mark_bytes));
    if (!seen.empty() && std::memcmp(seen.data(), mark, seen.size()) != 0) {
      refuse(path_, "it holds something else than a store; pass the path of a new file");
    }
    if (seen.size() < mark_bytes) return false;
    read_to_ = mark_bytes;
    return true;
  }

  // The bytes of the record at the beginning, which is applied; 0 when it is not whole.
  std::size_t take_record(std::span<const std::byte> bytes) {
    if (bytes.size() < head_bytes) return 0;
    ByteReader head(bytes);
    const auto size = head.get<std::uint32_t>();
    const auto checksum = head.get<std::uint64_t>();
    if (size > 2 * store_bytes_max) refuse_damaged();
    if (bytes.size() < head_bytes + size) return 0;
    const auto body = bytes.subspan(head_bytes, size);
    if (checksum_of(body) != checksum) refuse_damaged();
    ByteReader record(body);
    const RecordKind kind = record.get<RecordKind>();
    const std::string key = record.get_text();
    const std::string value = record.get_text();
    if (kind == RecordKind::put) all_.set(key, value);
    if (kind == RecordKind::gone) all_.erase(key);
    return head_bytes + size;
  }

  void add_record(const LockedFile& file, const std::string& key,
                  const std::optional<std::string>& value) {
    const Bytes body = ByteWriter()
                           .put(value ? RecordKind::put : RecordKind::gone)
                           .put_text(key)
                           .put_text(value.value_or(""))
                           .take();
    ByteWriter record;
    if (read_to_ == 0) {
      for (off_t i = 0; i < mark_bytes; ++i) record.put(mark[i]);
    }
    record.put(static_cast<std::uint32_t>(body.size())).put(checksum_of(body));
    Bytes bytes = record.take();
    bytes.insert(bytes.end(), body.begin(), body.end());
    try {
      file.write(read_to_, bytes);
    } catch (...) {
      all_ = {};  // it holds a change that the file does not: read all again
      read_to_ = 0;
      throw;
    }
    read_to_ += static_cast<off_t>(bytes.size());
  }

  [[noreturn]] void refuse_damaged() const {
    refuse(path_,
           text("it is damaged at byte ", read_to_, "; remove it and start the ranks again"));
  }

  const std::string path_;
  std::mutex mutex_;   // guards what follows
  Dictionary all_;     // as the records up to read_to_ say
  off_t read_to_ = 0;  // end of the last whole record; 0 before the mark was read
  ino_t inode_ = 0;
};

}  // namespace

std::unique_ptr<Store> open_file_store(const std::string& path, double timeout_s) {
  return std::make_unique<FileStore>(path, timeout_s);
}

}  // namespace lockstep::comm
