#include "grader/batch/processes/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(digits[bytes[i] >> 4]);
    out.push_back(digits[bytes[i] & 15]);
  }
  return out;
}

}  // namespace

std::string sha256(const std::string& bytes) {
  Digest digest;
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error("the system's SHA-256 failed");
  }
  return hexadecimal(digest.data(), length);
}

std::uint64_t seed_of(const std::string& secret, const std::string& what) {
  Digest digest;
  unsigned length = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(what.data());
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text, what.size(),
           digest.data(), &length) == nullptr) {
    throw Error("the system's HMAC failed");
  }
  std::uint64_t seed = 0;
  for (int i = 0; i < 8; ++i) seed = seed << 8 | digest[static_cast<std::size_t>(i)];
  return seed >> 11;
}

std::string random_secret() {
  std::array<unsigned char, 32> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error("the system gives no random numbers");
  }
  return hexadecimal(bytes.data(), bytes.size()) + "\n";
}

}  // namespace lockstep::grader
