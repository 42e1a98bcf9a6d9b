// The steps of an operation.
#include "engine/paper/nccl/operation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/paper/nccl/troubles.hpp"
#include "engine/paper/nccl/values.hpp"

namespace lockstep::paper {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(20);  // at who has died, or is stuck

enum class Stage { to_come, posted, done };

struct Progressing {
  CommCall part;
  Stage stage = Stage::to_come;
  std::uint64_t number = 0;  // of a message, in its pair
};

class CommOperation final : public LibrarySteps {
 public:
  CommOperation(ncclComm& comm, std::vector<CommCall> parts)
      : comm_(comm), table_(comm.shared.table()), place_(++comm.operations) {
    for (const CommCall& part : parts) parts_.push_back({part});
    ++comm_.left;
  }

  ~CommOperation() override {
    if (!over_ && !comm_.aborted) leave(comm_, SeatState::failed);
    ++comm_.finished;
    --comm_.left;
  }

  Step step(LibraryMemory& memory) override;
  bool wanted() const override;
  void spoil() override { spoilt_ = true; }

 private:
  // The outcome of a call's step; broken: the memory may not be touched, or the machine is full.
  enum class Went { on, broken };
  Went advance(Progressing& at, LibraryMemory& memory);
  Went advance_collective(Progressing& at, LibraryMemory& memory);
  Went give(const CommCall& part, LibraryMemory& memory);
  Went take(const CommCall& part, LibraryMemory& memory);
  Went advance_send(Progressing& at, LibraryMemory& memory);
  Went advance_receive(Progressing& at, LibraryMemory& memory);
  bool is_behind(const Progressing& at) const;
  Step answer();

  Seat& seat(int rank) const { return table_.seats[static_cast<std::size_t>(rank)]; }
  Mailbox& mail(int from, int to) const {
    return table_.mail[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  bool sends(const CommCall& part) const {
    return part.kind != CommCallKind::broadcast || part.root == comm_.rank;
  }
  bool receives(const CommCall& part) const {
    return part.kind != CommCallKind::reduce || part.root == comm_.rank;
  }
  Step end(Step how) {
    over_ = true;
    return how;
  }

  ncclComm& comm_;
  SharedTable& table_;
  const std::uint64_t place_;  // among the operations of the communicator
  std::vector<Progressing> parts_;
  bool begun_ = false, over_ = false, spoilt_ = false, told_ = false;
  Clockwork::time_point deadline_, next_look_;
};

LibrarySteps::Step CommOperation::step(LibraryMemory& memory) {
  if (comm_.aborted) return end(Step::done);
  if (comm_.finished + 1 != place_) return Step::waits;
  const auto now = Clockwork::now();
  if (!begun_) deadline_ = deadline_from_now(), next_look_ = now + between_looks;
  begun_ = true;
  const Locked lock(table_);
  if (spoilt_) {
    tell(table_, Trouble::remote,
         "rank " + std::to_string(comm_.rank) + ": " + parts_.front().part.function +
             " fails, as the setting fail_collective asks");
    return answer();
  }
  if (table_.trouble == Trouble::none || table_.trouble == Trouble::remote) {
    for (Progressing& each : parts_) {
      if (advance(each, memory) == Went::broken) return Step::failed;
    }
    const auto in = [&](Stage stage) {
      return std::ranges::count(parts_, stage, &Progressing::stage);
    };
    seat(comm_.rank).to_come = static_cast<std::uint64_t>(in(Stage::to_come));
    if (in(Stage::done) == std::ssize(parts_)) return end(Step::done);
  }
  if (table_.trouble == Trouble::none && now >= next_look_) {
    next_look_ = now + between_looks;
    look_for_the_dead(table_, comm_.ranks);
    look_for_the_stuck(table_, comm_.ranks, comm_.rank);
    if (now >= deadline_) give_up(table_, comm_.ranks, comm_.rank);
  }
  return answer();
}

// A peer that is gone leaves the operation hanging, as on a GPU, until somebody aborts it. Ranks
// that disagree never come to an end: the device fails at once, unless somebody watches for
// asynchronous errors, and so can abort.
LibrarySteps::Step CommOperation::answer() {
  const std::string sentence = table_.sentence.data();
  switch (table_.trouble) {
    case Trouble::none:
      return Step::waits;
    case Trouble::remote:
      if (Clockwork::now() < deadline_) return Step::waits;
      paperFinding(Kind::hang, (sentence + "; rank " + std::to_string(comm_.rank) + " has waited " +
                                seconds_text() + " and nobody called ncclCommAbort")
                                   .c_str());
      break;
    case Trouble::hang:
    case Trouble::disagreement:
      if (!std::exchange(told_, true)) {
        if (table_.trouble == Trouble::hang)
          paperFinding(Kind::hang, sentence.c_str());
        else
          paperBadCall(("ranks disagree: " + sentence).c_str());
      }
      if (comm_.watched && Clockwork::now() < deadline_) return Step::waits;
      break;
  }
  remember_error(sentence);
  return end(Step::failed);
}

CommOperation::Went CommOperation::advance(Progressing& at, LibraryMemory& memory) {
  if (at.stage == Stage::done || (at.stage == Stage::to_come && is_behind(at))) return Went::on;
  if (at.part.kind == CommCallKind::send) return advance_send(at, memory);
  if (at.part.kind == CommCallKind::recv) return advance_receive(at, memory);
  return advance_collective(at, memory);
}

// True if another call of this group must be done first: collectives go one after the other, and so
// do messages of a pair.
bool CommOperation::is_behind(const Progressing& at) const {
  for (const Progressing& earlier : parts_) {
    if (&earlier == &at) return false;
    if (earlier.stage == Stage::done) continue;
    const bool collectives = is_collective(earlier.part) && is_collective(at.part);
    if (collectives || (earlier.part.kind == at.part.kind && earlier.part.root == at.part.root)) {
      return true;
    }
  }
  return false;
}

CommOperation::Went CommOperation::advance_collective(Progressing& at, LibraryMemory& memory) {
  const CommCall& part = at.part;
  if (at.stage == Stage::to_come) {
    if (sends(part) && give(part, memory) == Went::broken) return Went::broken;
    seat(comm_.rank).calls[part.number % 2] = {part.number,
                                               static_cast<std::int32_t>(part.kind),
                                               static_cast<std::int32_t>(part.type),
                                               std::min<std::int32_t>(part.op, ncclNumOps),
                                               part.root,
                                               part.count};
    at.stage = Stage::posted;
  }
  compare_calls(table_, comm_.ranks, comm_.rank, part.number);
  if (table_.trouble == Trouble::disagreement) return Went::on;
  for (int rank = 0; rank < comm_.ranks; ++rank) {
    if (seat(rank).calls[part.number % 2].number != part.number) return Went::on;
  }
  if (receives(part) && take(part, memory) == Went::broken) return Went::broken;
  seat(comm_.rank).done = part.number;
  at.stage = Stage::done;
  return Went::on;
}

// Puts what this rank sends into the table's file, multiplied where the operator says so.
CommOperation::Went CommOperation::give(const CommCall& part, LibraryMemory& memory) {
  const std::size_t ranks =
      part.kind == CommCallKind::reduce_scatter ? static_cast<std::size_t>(comm_.ranks) : 1;
  const std::size_t count = part.count * ranks, bytes = count * bytes_of(part.type);
  double factor = part.factor.value;
  bool scales = part.op >= ncclNumOps;
  if (scales && part.factor.address != 0) {
    if (!memory.touch(Touch::read, part.factor.address, bytes_of(part.type))) return Went::broken;
    factor = value_at(memory.at(part.factor.address), part.type);
  }
  if (part.op == ncclAvg && !is_integer(part.type)) scales = true, factor = 1.0 / comm_.ranks;
  if (bytes == 0) return Went::on;
  if (!memory.touch(Touch::read, part.from, bytes)) return Went::broken;
  const std::byte* values = memory.at(part.from);
  std::vector<std::byte> scaled;
  if (scales) {
    scaled.assign(values, values + bytes);
    scale(scaled.data(), count, part.type, factor);
    values = scaled.data();
  }
  const bool put = comm_.shared.put_call(comm_.rank, part.number, values, bytes);
  return put ? Went::on : Went::broken;
}

// Writes the result, of what all ranks gave.
CommOperation::Went CommOperation::take(const CommCall& part, LibraryMemory& memory) {
  const std::size_t bytes = part.count * bytes_of(part.type);
  if (bytes == 0) return Went::on;
  const bool gathers = part.kind == CommCallKind::all_gather;
  const std::size_t written = gathers ? bytes * static_cast<std::size_t>(comm_.ranks) : bytes;
  if (!memory.touch(Touch::write, part.to, written)) return Went::broken;
  std::byte* const to = memory.at(part.to);
  const auto get = [&](int rank, std::byte* into) {
    const std::size_t skipped = part.kind == CommCallKind::reduce_scatter
                                    ? static_cast<std::size_t>(comm_.rank) * bytes
                                    : 0;
    return comm_.shared.get_call(rank, part.number, into, bytes, skipped);
  };
  if (part.kind == CommCallKind::broadcast) return get(part.root, to) ? Went::on : Went::broken;
  std::vector<std::byte> others(gathers ? 0 : bytes);
  for (int rank = 0; rank < comm_.ranks; ++rank) {
    std::byte* const into = gathers     ? to + static_cast<std::size_t>(rank) * bytes
                            : rank == 0 ? to
                                        : others.data();
    if (!get(rank, into)) return Went::broken;
    if (!gathers && rank > 0) combine(to, others.data(), part.count, part.type, part.op);
  }
  if (!gathers && part.op == ncclAvg) divide(to, part.count, part.type, comm_.ranks);
  return Went::on;
}

CommOperation::Went CommOperation::advance_send(Progressing& at, LibraryMemory& memory) {
  const CommCall& part = at.part;
  Mailbox& box = mail(comm_.rank, part.root);
  const std::size_t bytes = part.count * bytes_of(part.type);
  if (at.stage == Stage::to_come) {
    if (bytes > 0) {
      if (!memory.touch(Touch::read, part.from, bytes)) return Went::broken;
      if (!comm_.shared.put_mail(comm_.rank, part.root, memory.at(part.from), bytes)) {
        return Went::broken;
      }
    }
    box.offered = {part.count, part.type};
    at.number = ++box.sent;
    at.stage = Stage::posted;
  }
  compare_messages(table_, comm_.rank, part.root);
  if (box.taken >= at.number) at.stage = Stage::done;
  return Went::on;
}

CommOperation::Went CommOperation::advance_receive(Progressing& at, LibraryMemory& memory) {
  const CommCall& part = at.part;
  Mailbox& box = mail(part.root, comm_.rank);
  const std::size_t bytes = part.count * bytes_of(part.type);
  if (at.stage == Stage::to_come) {
    box.awaited = {part.count, part.type};
    at.number = ++box.wanted;
    at.stage = Stage::posted;
  }
  compare_messages(table_, part.root, comm_.rank);
  if (table_.trouble == Trouble::disagreement || box.sent < at.number) return Went::on;
  if (bytes > 0) {
    if (!memory.touch(Touch::write, part.to, bytes)) return Went::broken;
    if (!comm_.shared.take_mail(part.root, comm_.rank, memory.at(part.to), bytes)) {
      return Went::broken;
    }
  }
  box.taken = at.number;
  at.stage = Stage::done;
  return Went::on;
}

bool CommOperation::wanted() const {
  if (begun_ || comm_.hurried || comm_.aborted) return true;
  if (comm_.finished + 1 != place_) return false;
  const Locked lock(table_);
  return std::ranges::any_of(parts_, [&](const Progressing& each) {
    const CommCall& part = each.part;
    if (part.kind == CommCallKind::send) {
      const Mailbox& box = mail(comm_.rank, part.root);
      return box.wanted > box.sent;
    }
    if (part.kind == CommCallKind::recv) {
      const Mailbox& box = mail(part.root, comm_.rank);
      return box.sent > box.wanted;
    }
    return std::ranges::any_of(table_.seats, [&](const Seat& other) {
      return other.calls[part.number % 2].number == part.number;
    });
  });
}

}  // namespace

std::unique_ptr<LibrarySteps> operation_of(ncclComm& comm, std::vector<CommCall> parts) {
  return std::make_unique<CommOperation>(comm, std::move(parts));
}

}  // namespace lockstep::paper
