#include "engine/sim/hosts/frame.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace lockstep::sim {

namespace {

template <typename Message>
Bytes fields_of(const Message& message) {
  ByteWriter out;
  write_fields(out, message);
  return out.take();
}

Bytes length_of(const Payload& data) {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(data.bytes.size()));
  return out.take();
}

ssize_t send_parts(int socket, LineEnd from, std::span<iovec> parts) {
  if (from == LineEnd::player) return writev(socket, parts.data(), static_cast<int>(parts.size()));
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

OutgoingFrame::OutgoingFrame(FrameKind kind, int strand, std::uint32_t sequence, Payload data,
                             Bytes tail, Bytes prefix)
    : data_(std::move(data)), tail_(std::move(tail)) {
  const std::size_t length = prefix.size() + data_.bytes.size() + tail_.size();
  if (length > 0xffffffffU) throw Error(text("a message of ", length, " bytes is too long"));
  const FrameHeader header{static_cast<std::uint32_t>(length), kind,
                           static_cast<std::uint16_t>(strand), sequence};
  head_.resize(sizeof header);
  std::memcpy(head_.data(), &header, sizeof header);
  head_.insert(head_.end(), prefix.begin(), prefix.end());
}

OutgoingFrame::OutgoingFrame(FrameKind kind, int strand, std::uint32_t sequence, Payload body)
    : OutgoingFrame(kind, strand, sequence, std::move(body), {}, {}) {}

OutgoingFrame::OutgoingFrame(int strand, std::uint32_t sequence, const Request& request)
    : OutgoingFrame(FrameKind::request, strand, sequence, request.data, fields_of(request),
                    length_of(request.data)) {}

OutgoingFrame::OutgoingFrame(int strand, std::uint32_t sequence, const Reply& reply)
    : OutgoingFrame(FrameKind::reply, strand, sequence, reply.data, fields_of(reply),
                    length_of(reply.data)) {}

bool OutgoingFrame::send(int socket, LineEnd from) {
  const std::array<std::span<const std::byte>, 3> parts = {head_, data_.bytes, tail_};
  const std::size_t total = head_.size() + data_.bytes.size() + tail_.size();
  while (sent_ < total) {
    std::array<iovec, 3> vectors;
    std::size_t used = 0;
    std::size_t skip = sent_;
    for (const auto& part : parts) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      if (skipped == part.size()) continue;
      // Sending reads only; iovec has no const.
      vectors[used++] = {const_cast<std::byte*>(part.data()) + skipped, part.size() - skipped};
    }
    const ssize_t count = send_parts(socket, from, std::span(vectors).first(used));
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      throw Error(text("the other side of the socket is gone (", std::strerror(errno), ")"));
    }
  }
  return true;
}

Heard heard_in(const IncomingFrame& frame) {
  Heard heard;
  ByteReader in(frame.bytes());
  switch (frame.header.kind) {
    case FrameKind::request:
      heard.request = read_request(in, frame.body);
      if (!in.done()) throw Error("bytes are left over");
      return heard;
    case FrameKind::strand_started:
      heard.other = in.get<int>();
      heard.text = in.get_text(names_max);
      return heard;
    case FrameKind::strand_woken:
      heard.other = in.get<int>();
      return heard;
    case FrameKind::strand_ended:
      return heard;
    case FrameKind::threw:
      heard.text = in.get_text(text_max);
      return heard;
    case FrameKind::result:
      heard.result = frame.bytes();
      return heard;
    case FrameKind::gave_up:
      heard.text = in.get_text(text_max);
      heard.result = in.get_bytes();
      return heard;
    case FrameKind::failed:
      heard.failure = in.get<Failure>();
      heard.text = in.get_text(text_max);
      if (heard.failure > Failure::foreign_thread) throw Error("a failure of unknown kind");
      while (!in.done() && heard.calls.size() < 64) heard.calls.push_back(in.get<std::uint64_t>());
      return heard;
    default:
      throw Error(text("kind ", static_cast<int>(frame.header.kind)));
  }
}

FrameReader::State FrameReader::read(int socket) {
  constexpr std::size_t header_size = sizeof(FrameHeader);
  while (got_ < header_size || got_ < header_size + frame_.header.length) {
    std::byte* to = got_ < header_size ? reinterpret_cast<std::byte*>(&frame_.header) + got_
                                       : frame_.body.get() + (got_ - header_size);
    const std::size_t wanted =
        got_ < header_size ? header_size - got_ : header_size + frame_.header.length - got_;
    if (!holds_more()) {
      const bool large = wanted >= buffer_.size();  // then it goes where it belongs at once
      const std::size_t asked = large ? wanted : buffer_.size();
      const ssize_t count = ::read(socket, large ? to : buffer_.data(), asked);
      if (count == 0) return State::closed;
      if (count < 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? State::would_block : State::closed;
      }
      drained_ = static_cast<std::size_t>(count) < asked;
      if (large) {
        got_ += static_cast<std::size_t>(count);
        continue;
      }
      begin_ = 0;
      end_ = static_cast<std::size_t>(count);
    }
    const std::size_t count = std::min(wanted, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, count);
    begin_ += count;
    got_ += count;
    if (got_ != header_size || frame_.body) continue;
    if (static_cast<std::int64_t>(frame_.header.length) > length_max_) {
      std::string why = text("length ", frame_.header.length, ", at most ", length_max_);
      if (frame_.header.kind == FrameKind::result) {
        why += "; a result grows so if a list is kept from call to call, such as a static variable";
      }
      throw Error(why);
    }
    if (frame_.header.sequence != sequence_) {
      throw Error(text("number ", frame_.header.sequence, ", expected ", sequence_));
    }
    ++sequence_;
    frame_.body = std::make_shared_for_overwrite<std::byte[]>(frame_.header.length);
  }
  return State::complete;
}

IncomingFrame FrameReader::take() {
  got_ = 0;
  return std::exchange(frame_, {});
}

}  // namespace lockstep::sim
