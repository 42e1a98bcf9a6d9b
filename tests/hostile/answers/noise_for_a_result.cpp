// exercise: parameter_server
// verdict: crash
// says: a result that cannot be read
// then: the reference
// Puts noise into its results on their way to the judge, whose services have heard all that counts.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <vector>

extern "C" ssize_t writev(int to, const iovec* parts, int count) {
  std::vector<char> frame;
  for (int i = 0; i < count; ++i) {
    const char* const bytes = static_cast<const char*>(parts[i].iov_base);
    frame.insert(frame.end(), bytes, bytes + parts[i].iov_len);
  }
  const char result[] = "\0\0\0\0\x13\0\0\0";  // without a byte in it
  const bool is_empty_result = frame.size() == 12 && std::memcmp(frame.data(), result, 8) == 0;
  if (is_empty_result) {
    frame[0] = 4;
    frame.insert(frame.end(), {'f', 'o', 'u', 'r'});
  }
  const auto sent = ::syscall(SYS_write, to, frame.data(), frame.size());
  return is_empty_result && sent == 16 ? 12 : static_cast<ssize_t>(sent);
}
