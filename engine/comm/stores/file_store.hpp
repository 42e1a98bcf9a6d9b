// The store of processes that share a folder: on one machine, or on a network file system whose
// locks work. Nobody has to be started first, and nobody has to stay alive.
//
// The file is a log. Who changes a key locks the file, reads what others have added since, and adds
// one record: the key, and its new value or that it is gone. Who reads does the same with a shared
// lock; who waits looks again every few milliseconds. The file is never rewritten, so it grows by
// the whole value with every change: right for a rendezvous, wrong for millions of changes.
//
// Invariants
//   1. Only whole records count. A record that its writer did not finish (it was killed, the disk
//      was full) is passed over by readers and cut off by the next writer.
//   2. The system releases the lock of a process that ends, however it ends. One that is stopped in
//      the middle of a change costs the others their deadline, and the error names the file.
//   3. A file that is no store is refused and stays as it is.
#pragma once

#include "engine/comm/store.hpp"

namespace lockstep::comm {

// The store in the file at `path`, which is made at the first operation if it is not there. Its
// folder must exist. The file stays: take a new path for each run, for what an earlier run left
// would be believed; remove the file when the run has ended. get() waits `timeout_s`, and so does
// every operation for the lock.
//   Thread  calls may come from many threads, and before and after fork()
//   Throws  CommError, too, when the file cannot be used, was removed, or is damaged
std::unique_ptr<Store> open_file_store(const std::string& path, double timeout_s = 30.0);

}  // namespace lockstep::comm
