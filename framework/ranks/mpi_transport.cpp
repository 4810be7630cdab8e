// The transport over MPI, as a module of its own: a program that runs on one process neither needs
// nor loads an MPI library.
#include <mpi.h>

#include <climits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "framework/ranks/rank_transport.h"

namespace skyline {
namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error("MPI: " + std::string(what) +
                           " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

class MpiTransport final : public RankTransport {
 public:
  MpiTransport() {
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "MPI_Comm_size");
    MPI_Comm here = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here),
          "MPI_Comm_split_type");
    check(MPI_Comm_size(here, &ranks_here_), "MPI_Comm_size");
    check(MPI_Comm_rank(here, &rank_here_), "MPI_Comm_rank");
    MPI_Comm_free(&here);
    check(MPI_Comm_dup(MPI_COMM_WORLD, &sums_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(sums_, MPI_ERRORS_RETURN);
  }

  // Heartbeats may still be on their way.
  ~MpiTransport() override {
    for (auto& [number, request] : open_) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    MPI_Comm_free(&sums_);
    MPI_Finalize();
  }

  std::size_t rank() const noexcept override { return static_cast<std::size_t>(rank_); }
  std::size_t ranks() const noexcept override { return static_cast<std::size_t>(ranks_); }
  std::size_t ranks_here() const noexcept override { return static_cast<std::size_t>(ranks_here_); }
  std::size_t rank_here() const noexcept override { return static_cast<std::size_t>(rank_here_); }

  Request send(std::size_t to, int tag, std::span<const std::byte> bytes) override {
    MPI_Request& request = open_[++last_];
    check(MPI_Isend(bytes.data(), count(bytes.size()), MPI_BYTE, static_cast<int>(to), tag,
                    MPI_COMM_WORLD, &request),
          "MPI_Isend");
    return last_;
  }

  Request receive(std::size_t from, int tag, std::span<std::byte> bytes) override {
    MPI_Request& request = open_[++last_];
    check(MPI_Irecv(bytes.data(), count(bytes.size()), MPI_BYTE, static_cast<int>(from), tag,
                    MPI_COMM_WORLD, &request),
          "MPI_Irecv");
    return last_;
  }

  Request sum(std::span<float> values) override {
    MPI_Request& request = open_[++last_];
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                         MPI_SUM, sums_, &request),
          "MPI_Iallreduce");
    return last_;
  }

  bool done(Request number) override {
    const auto found = open_.find(number);
    int done = 0;
    check(MPI_Test(&found->second, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) open_.erase(found);
    return done != 0;
  }

 private:
  static int count(std::size_t bytes) {
    if (bytes > INT_MAX) throw std::length_error("MPI: a message of more than 2 GiB");
    return static_cast<int>(bytes);
  }

  MPI_Comm sums_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1, ranks_here_ = 1, rank_here_ = 0;
  Request last_ = 0;
  std::map<Request, MPI_Request> open_;
};

}  // namespace
}  // namespace skyline

extern "C" skyline::RankTransport* skyline_connect_ranks() {
  return std::make_unique<skyline::MpiTransport>().release();
}
