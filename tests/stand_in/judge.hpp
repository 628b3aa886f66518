// A process outside: it reads two files with the stock library, object by object, and says where
// they differ.
#pragma once

#include <sys/types.h>

#include <string>

namespace stand_in {

class Judge {
  public:
    /// Starts it. @param program  this program; @param filters  HDF5_PLUGIN_PATH of the process.
    Judge(const std::string& program, const std::string& filters);
    Judge(const Judge&) = delete;
    ~Judge();

    /// Empty: they are alike. Neither being there is alike.
    std::string compare(const std::string& native, const std::string& ours, double bound);

  private:
    pid_t process_ = -1;
    int asks_ = -1, hears_ = -1;
};

/// The process itself: answers until its input ends.
int serve_as_judge();

/// Where the two files differ; empty: nowhere.
std::string difference_of_files(const std::string& native, const std::string& ours, double bound);

}  // namespace stand_in
