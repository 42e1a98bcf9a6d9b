// exercise: distributed_sampler
// verdict: crash
// says: at most 4096
// Asks for services with names of 8 MiB.
#include <unistd.h>

#include "engine/base/bytes.hpp"
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  Bytes fields(69);  // no data, then all fields of a request before its name
  fields[8] = std::byte{9};
  ByteWriter body;
  body.put_text(std::string(8 << 20, 'n'));
  const Bytes name = body.take();
  struct {
    std::uint32_t length;
    std::uint16_t kind, strand;
    std::uint32_t sequence;
  } header{static_cast<std::uint32_t>(fields.size() + name.size()), 16, 0, 0};
  const auto send = [](const void* data, std::size_t size) {
    for (std::size_t sent = 0; sent < size;) {
      const ssize_t count = ::write(3, static_cast<const char*>(data) + sent, size - sent);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  };
  send(&header, sizeof header);
  send(fields.data(), fields.size());
  send(name.data(), name.size());
  ::pause();
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
