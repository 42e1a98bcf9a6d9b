// By OpenSSL.
#include "grader/course/quiz/slow_hash.hpp"

#include <openssl/evp.h>

#include "engine/base/error.hpp"

namespace lockstep::grader {

std::string slow_hash(const std::string& words, const std::string& salt, std::size_t bytes,
                      int rounds) {
  std::string out(bytes, '\0');
  const int done = ::PKCS5_PBKDF2_HMAC(
      words.data(), static_cast<int>(words.size()),
      reinterpret_cast<const unsigned char*>(salt.data()), static_cast<int>(salt.size()), rounds,
      ::EVP_sha256(), static_cast<int>(bytes), reinterpret_cast<unsigned char*>(out.data()));
  if (done != 1) throw Error("OpenSSL cannot compute PBKDF2");
  return out;
}

}  // namespace lockstep::grader
