// The shadow's records of accesses, and the conflicts that they prove.
#include <utility>

#include "engine/paper/memory/quick.hpp"

namespace lockstep::paper {
namespace {

const char* does(Touch touch) {
  return touch == Touch::read ? "reads" : touch == Touch::write ? "writes" : "updates";
}

}  // namespace

bool Memory::ordered(Operation earlier, Operation later) {
  Known& known = known_[earlier % known_.size()];
  if (known.earlier != earlier || known.later != later) {
    known = {earlier, later, ordering_.before(earlier, later)};
  }
  return known.ordered;
}

void Memory::check(Touch touch, std::uint64_t address, std::uint32_t bytes, const Toucher& toucher,
                   std::string_view what) {
  Cell& cell = *this->cell(address);
  Trace& write = cell.write;
  const Trace& read = cell.read;
  // Against the last writer.
  if (write.operation != 0 && (write.bytes & bytes) != 0) {
    if (write.operation != toucher.operation) {
      if (!ordered(write.operation, toucher.operation)) {
        conflict(touch, write, "writes", address, toucher, what);
      }
    } else if (toucher.witness != nullptr && !(write.atomic && touch == Touch::atomic) &&
               (write.block != toucher.block ||
                (!same_warp(write, toucher) && same_interval(write, toucher)))) {
      conflict(touch, write, write.atomic ? "updates" : "writes", address, toucher, what);
    }
  }
  // Against the last readers.
  if (touch != Touch::read && read.operation != 0 && (read.bytes & bytes) != 0) {
    if (read.operation != toucher.operation) {
      if (!ordered(read.operation, toucher.operation)) {
        conflict(touch, read, "reads", address, toucher, what);
      }
    } else if (toucher.witness != nullptr &&
               (read.block != toucher.block || read.many_blocks ||
                ((!same_warp(read, toucher) || read.many_warps) && same_interval(read, toucher)))) {
      conflict(touch, read, "reads", address, toucher, what);
    }
  }
  if (touch != Touch::write && (cell.initialised & bytes) != bytes) {
    report(Kind::uninitialised, toucher,
           (what.empty() ? std::string("a read of ") : std::string(what) + " reads ") +
               place(address) + ", which nothing has written; its content is arbitrary on a GPU");
    cell.initialised |= bytes;  // once is enough
  }
  if (touch == Touch::read) return note_read(cell.read, bytes, toucher);
  const bool again = write.operation == toucher.operation && write.block == toucher.block &&
                     write.thread == toucher.thread && same_interval(write, toucher) &&
                     write.atomic == (touch == Touch::atomic);
  const std::uint32_t all = again ? write.bytes | bytes : bytes;
  write = trace_of(all, toucher);
  write.atomic = touch == Touch::atomic;
  cell.initialised |= bytes;
}

void Memory::check_words(Touch touch, std::uint64_t begin, std::uint64_t end,
                         const Toucher& toucher, std::string_view what) {
  const Operation self = toucher.operation;
  Operation writer = 0, reader = 0;  // the last ones that are known to come before
  const auto comes_before = [&](const Trace& trace, Operation& known) {
    const Operation other = trace.operation;
    if (other == known || other == self || other == 0) return true;
    if (!ordered(other, self)) return false;
    known = other;
    return true;
  };
  const Trace mine = trace_of(0xF, toucher);
  Cell* cell = this->cell(begin);
  for (std::uint64_t word = begin; word < end; word += 4, ++cell) {
    const bool fine = touch == Touch::read
                          ? cell->initialised == 0xF && comes_before(cell->write, writer)
                          : touch == Touch::write && comes_before(cell->write, writer) &&
                                comes_before(cell->read, reader);
    if (!fine) {
      check(touch, word, 0xF, toucher, what);
    } else if (touch == Touch::read) {
      cell->read = mine;
    } else {
      cell->write = mine;
      cell->initialised = 0xF;
    }
  }
}

void Memory::report(Kind kind, const Toucher& toucher, std::string sentence) {
  if (toucher.witness != nullptr) {
    findings_.add(kind, toucher.witness->where(toucher.thread), std::move(sentence));
  } else if (!told_) {
    told_ = true;
    findings_.add(kind, {}, std::move(sentence));
  }
}

void Memory::conflict(Touch touch, const Trace& other, std::string_view other_did,
                      std::uint64_t address, const Toucher& toucher, std::string_view what) {
  if (other.operation != toucher.operation) {
    std::string who = ordering_.describe(toucher.operation);
    if (who.empty()) who = std::string(what);
    report(Kind::stream_race, toucher,
           who + " " + does(touch) + " " + place(address) + ", which " +
               ordering_.describe(other.operation) + " " + std::string(other_did) +
               "; nothing orders the two: a wait for an event or a stream is missing");
    return;
  }
  const bool blocks = other.block != toucher.block || other.many_blocks;
  std::string whom = blocks ? (other.block != toucher.block ? "block " + std::to_string(other.block)
                                                            : std::string("another block"))
                            : "thread " + std::to_string(other.thread) +
                                  (other.many_warps ? " (and another warp)" : "");
  report(blocks ? Kind::block_race : Kind::device_race, toucher,
         std::string(does(touch)) + " " + place(address) + ", which " + whom + " " +
             std::string(other_did) +
             (blocks ? "; blocks of a launch are not ordered: use an atomic, or a second launch"
                     : "; no barrier is between the two: __syncthreads() or an atomic is missing"));
}

}  // namespace lockstep::paper
