// Mistakes of ranks that send and receive.
#include "tests/sim/broken_programs.hpp"

namespace lockstep::test {

namespace {

using comm::Work;
using sim::FindingKind;

void all_send_first(Self& self) {
  self.at('a'), self.group.send(self.ones(), self.right());
  self.group.recv(self.ones(), self.left());
}

void all_receive_first(Self& self) {
  self.at('a'), self.group.recv(self.ones(), self.left());
  self.group.send(self.ones(), self.right());
}

void wrong_way_round(Self& self) {
  Work sending = self.group.isend(self.ones(), self.left(), 0, self.at('a'));
  self.at('b'), self.group.recv(self.ones(), self.left());
  sending.wait();
}

void wrong_peer(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.send(self.ones(), 2);
  if (self.rank() == 1) self.at('b'), self.group.recv(self.ones(), 0);
}

void wrong_tag(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.send(self.ones(), 1, 7);
  if (self.rank() == 1) self.at('b'), self.group.recv(self.ones(), 0, 8);
}

void wrong_tag_of_posted(Self& self) {
  const int other = 1 - self.rank();
  const Tensor theirs = self.ones(), mine = self.ones();
  Work receiving = self.group.irecv(theirs, other, other == 0 ? 7 : 8, self.at('b'));
  self.group.isend(mine, other, 9, self.at('a')).wait();
  receiving.wait();
}

void wrong_tag_waits_for_receive(Self& self) {
  const int other = 1 - self.rank();
  const Tensor theirs = self.ones(), mine = self.ones();
  Work sending = self.group.isend(mine, other, 9, self.at('a'));
  self.group.irecv(theirs, other, 7, self.at('b')).wait();
  sending.wait();
}

// The next message, which rank 1 needs first, would be posted after the wait.
void waits_for_isend_too_soon(Self& self) {
  const Tensor one = self.ones(), two = self.ones();
  if (self.rank() == 0) self.group.isend(one, 1, 7, self.at('a')).wait();
  if (self.rank() == 0) self.group.send(two, 1, 8);
  if (self.rank() == 1) self.at('b'), self.group.recv(two, 0, 8);
  if (self.rank() == 1) self.group.recv(one, 0, 7);
}

void wrong_count(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.send(self.ones(8), 1);
  if (self.rank() == 1) self.at('b'), self.group.recv(self.ones(7), 0);
}

void nobody_receives(Self& self) {
  if (self.rank() == 0) self.at('a'), self.group.isend(self.ones(), 1).wait();
}

void nobody_sends(Self& self) {
  if (self.rank() == 1) self.at('a'), self.group.recv(self.ones(), 0);
}

void sent_and_forgotten(Self& self) {
  if (self.rank() != 0) return;
  self.at('a'), static_cast<void>(self.group.isend(self.ones(), 1, 9));
}

void wait_forgotten(Self& self) {
  if (self.rank() == 1) return self.group.send(self.ones(), 0);
  self.at('a'), static_cast<void>(self.group.irecv(self.ones(), 1));
}

void written_while_sent(Self& self) {
  const Tensor data = self.ones();
  if (self.rank() == 1) return self.group.recv(data, 0);
  Work sending = self.group.isend(data, 1, 0, self.at('a'));
  data.fill_(2);
  sending.wait();
}

void written_while_received(Self& self) {
  const Tensor data = self.ones();
  if (self.rank() == 1) return self.group.send(data, 0);
  Work receiving = self.group.irecv(data, 1, 0, self.at('a'));
  data.fill_(2);
  receiving.wait();
}

}  // namespace

std::vector<BrokenProgram> broken_messages() {
  return {
      {"all ranks send before they receive",
       "buffering hazard",
       3,
       all_send_first,
       FindingKind::deadlock,
       {0, 1, 2},
       "deadlock: rank 0 waits in send to rank 1 (12 bytes, {a}), rank 1 waits in send to "
       "rank 2 (12 bytes, {a}), rank 2 waits in send to rank 0 (12 bytes, {a}): none can "
       "go first; all of them send, and a send returns only when its receive is posted: one "
       "must receive first, or use isend"},
      {"all ranks receive before they send",
       "call ordering",
       2,
       all_receive_first,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits in recv from rank 1 (12 bytes, {a}), rank 1 waits in recv "
       "from rank 0 (12 bytes, {a}): none can go first; all of them receive, but no rank "
       "has sent"},
      {"messages go round the wrong way",
       "parameter matching",
       3,
       wrong_way_round,
       FindingKind::deadlock,
       {0, 2, 1},
       "deadlock: rank 0 waits in recv from rank 2 (12 bytes, {b}), rank 2 waits in recv "
       "from rank 1 (12 bytes, {b}), rank 1 waits in recv from rank 0 (12 bytes, {b}): "
       "none can go first; meanwhile no rank receives rank 0's isend to rank 2 (12 bytes, "
       "{a})"},
      {"a message goes to the wrong rank",
       "parameter matching",
       3,
       wrong_peer,
       FindingKind::deadlock,
       {0, 2},
       "deadlock: rank 0 waits in send to rank 2 (12 bytes, {a}), which has already "
       "returned without receiving it; meanwhile rank 1 waits in recv from rank 0 (12 "
       "bytes, {b}): was it meant for that rank?"},
      {"the tags of two sides differ",
       "parameter matching",
       2,
       wrong_tag,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits in send to rank 1 (12 bytes, tag 7, {a}), rank 1 waits in "
       "recv from rank 0 (12 bytes, tag 8, {b}): none can go first; send and recv of "
       "ranks 0 and 1 do not match: their tags differ"},
      {"the tags of two sides differ, and all wait for their sends first",
       "parameter matching",
       2,
       wrong_tag_of_posted,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits for its isend to rank 1 (12 bytes, tag 9, {a}), rank 1 waits "
       "for its isend to rank 0 (12 bytes, tag 9, {a}): none can go first; rank 1's irecv "
       "from rank 0 (12 bytes, tag 7, {b}) has another tag: were these meant to be one "
       "message?"},
      {"the tags of two sides differ, and all wait for their receives first",
       "parameter matching",
       2,
       wrong_tag_waits_for_receive,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits for its irecv from rank 1 (12 bytes, tag 7, {b}), rank 1 waits "
       "for its irecv from rank 0 (12 bytes, tag 7, {b}): none can go first; rank 1's isend "
       "to rank 0 (12 bytes, tag 9, {a}) has another tag: were these meant to be one "
       "message?"},
      {"a rank waits for its isend too soon",
       "call ordering",
       2,
       waits_for_isend_too_soon,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits for its isend to rank 1 (12 bytes, tag 7, {a}), rank 1 waits in "
       "recv from rank 0 (12 bytes, tag 8, {b}): none can go first; the tags differ: were these "
       "meant to be one message, or does rank 0 wait for its isend too soon?"},
      {"the counts of two sides differ",
       "parameter matching",
       2,
       wrong_count,
       FindingKind::mismatch,
       {0, 1},
       "mismatch: rank 0 sends 8 float32 ({a}) to rank 1, which expects 7 float32 ({b})"},
      {"a message is never received",
       "call ordering",
       2,
       nobody_receives,
       FindingKind::deadlock,
       {0, 1},
       "deadlock: rank 0 waits for its isend to rank 1 (12 bytes, {a}), which has already "
       "returned without receiving it"},
      {"a message is never sent",
       "call ordering",
       2,
       nobody_sends,
       FindingKind::deadlock,
       {1, 0},
       "deadlock: rank 1 waits in recv from rank 0 (12 bytes, {a}), which has already "
       "returned without sending it"},
      {"a message is sent, not waited for and never received",
       "call ordering",
       2,
       sent_and_forgotten,
       FindingKind::undelivered,
       {0, 1},
       "undelivered: rank 0 sent 12 bytes to rank 1 with tag 9 ({a}), but rank 1 returned "
       "without receiving them"},
      {"a receive is never waited for",
       "request lifecycle: missing wait",
       2,
       wait_forgotten,
       FindingKind::in_flight,
       {0},
       "in flight: rank 0 never waited for its irecv ({a}); until wait() returns, the buffer "
       "belongs to the operation, and nothing has arrived in it"},
      {"a buffer is written while it is being sent",
       "local concurrency",
       2,
       written_while_sent,
       FindingKind::in_flight,
       {0},
       "in flight: rank 0 changed the buffer of its isend ({a}) before wait() returned; "
       "until then, the buffer belongs to the operation"},
      {"a buffer is written while it is being received",
       "local concurrency",
       2,
       written_while_received,
       FindingKind::in_flight,
       {0},
       "in flight: rank 0 changed the buffer of its irecv ({a}) before wait() returned; "
       "until then, the buffer belongs to the operation"},
  };
}

}  // namespace lockstep::test
