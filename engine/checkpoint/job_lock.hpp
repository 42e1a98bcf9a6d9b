// One job writes to a folder of checkpoints. Whoever writes holds a lock on a file in it, which the
// kernel drops however the process ends; the file says who that is, and goes with the lock.
//
// A file system without locks (flock) refuses nobody.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::checkpoint {

class JobLock {
 public:
  // Makes the folder when it is not there.
  //   Throws  CheckpointError that names the job which has the folder: its process and its machine
  explicit JobLock(const std::filesystem::path& folder);
  ~JobLock();
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

 private:
  std::filesystem::path file_;
  int fd_ = -1;
};

// Reads the lock's file in a folder: "process 4711 on node3"; empty where there is none.
std::string job_in(const std::filesystem::path& folder);

}  // namespace lockstep::checkpoint
