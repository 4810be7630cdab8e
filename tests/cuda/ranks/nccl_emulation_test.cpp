// The library in the place of NCCL: what it exchanges between processes, and which wrong calls it
// finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "framework/cuda/cuda_error.h"
#include "framework/cuda/nccl/nccl_library.h"

namespace skyline {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;

// One process of a communicator, with device memory of its own.
class Process {
 public:
  Process(const NcclId& id, int number, int count) : rank(number), ranks(count) {
    nccl.check(nccl.comm_init_rank(&communicator, ranks, id, rank), "ncclCommInitRank");
    check_cuda(cudaMalloc(&device, kFloats * sizeof(float)), "cudaMalloc");
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  }

  void send(std::size_t at, std::size_t count, int peer) {
    nccl.check(nccl.send(device + at, count, kNcclFloat32, peer, communicator, stream), "ncclSend");
  }
  void receive(std::size_t at, std::size_t count, int peer) {
    nccl.check(nccl.recv(device + at, count, kNcclFloat32, peer, communicator, stream), "ncclRecv");
  }
  void group(const std::function<void()>& calls) {
    nccl.check(nccl.group_start(), "ncclGroupStart");
    calls();
    nccl.check(nccl.group_end(), "ncclGroupEnd");
  }
  void wait() { check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

  static constexpr std::size_t kFloats = std::size_t{1} << 20;  // more than a socket holds
  int rank, ranks;
  NcclLibrary nccl;
  NcclCommunicator* communicator = nullptr;
  float* device = nullptr;
  cudaStream_t stream = nullptr;
};

// Runs `program` in so many processes. Returns what each threw, by rank; "" for nothing.
std::vector<std::string> errors_of(int ranks, const std::function<void(Process&)>& program) {
  setenv("SKYLINE_NCCL", SKYLINE_NCCL_EMULATION, 1);
  setenv("SKYLINE_NCCL_SECONDS", "60", 1);
  NcclId id;
  NcclLibrary().get_unique_id(&id);
  std::vector<int> pipes;
  for (int rank = 0; rank < ranks; ++rank) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    if (fork() == 0) {
      std::string error;
      try {
        Process process(id, rank, ranks);
        program(process);
      } catch (const std::exception& thrown) {
        error = thrown.what();
      }
      const ssize_t written = write(ends[1], error.data(), error.size());
      _exit(written == static_cast<ssize_t>(error.size()) ? 0 : 1);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  std::vector<std::string> errors;
  for (const int end : pipes) {
    std::string& error = errors.emplace_back();
    char letter = 0;
    while (read(end, &letter, 1) == 1) error += letter;
    close(end);
  }
  while (wait(nullptr) > 0) {
  }
  return errors;
}

TEST(NcclEmulation, ExchangesAtOnceWithinAGroup) {
  const auto program = [](Process& own) {
    const std::size_t size = Process::kFloats / static_cast<std::size_t>(own.ranks);
    const auto place = [&](int rank) { return static_cast<std::size_t>(rank) * size; };
    const std::vector<float> number(size, static_cast<float>(own.rank));
    check_cuda(cudaMemcpyAsync(own.device + place(own.rank), number.data(), size * sizeof(float),
                               cudaMemcpyHostToDevice, own.stream),
               "cudaMemcpyAsync");
    own.group([&] {
      for (int other = 0; other < own.ranks; ++other) {
        if (other == own.rank) continue;
        own.send(place(own.rank), 1, other);
        own.send(place(own.rank) + 1, size - 1, other);
        own.receive(place(other), 1, other);
        own.receive(place(other) + 1, size - 1, other);
      }
    });
    std::vector<float> all(Process::kFloats);
    check_cuda(cudaMemcpyAsync(all.data(), own.device, all.size() * sizeof(float),
                               cudaMemcpyDeviceToHost, own.stream),
               "cudaMemcpyAsync");
    own.wait();
    for (int rank = 0; rank < own.ranks; ++rank) {
      for (std::size_t i = 0; i < size; ++i) {
        if (all[place(rank) + i] != static_cast<float>(rank)) throw std::runtime_error("wrong");
      }
    }
  };
  EXPECT_THAT(errors_of(3, program), Each(""));
}

TEST(NcclEmulation, AddsTheValuesOfAllRanks) {
  const auto program = [](Process& own) {
    const std::vector<float> values(1000, static_cast<float>(own.rank + 1));
    check_cuda(cudaMemcpyAsync(own.device, values.data(), values.size() * sizeof(float),
                               cudaMemcpyHostToDevice, own.stream),
               "cudaMemcpyAsync");
    own.nccl.check(own.nccl.all_reduce(own.device, own.device, values.size(), kNcclFloat32,
                                       kNcclSum, own.communicator, own.stream),
                   "ncclAllReduce");
    std::vector<float> sums(values.size());
    check_cuda(cudaMemcpyAsync(sums.data(), own.device, sums.size() * sizeof(float),
                               cudaMemcpyDeviceToHost, own.stream),
               "cudaMemcpyAsync");
    own.wait();
    if (sums != std::vector<float>(sums.size(), 1 + 2 + 3)) throw std::runtime_error("wrong");
  };
  EXPECT_THAT(errors_of(3, program), Each(""));
}

TEST(NcclEmulation, FindsSizesThatDiffer) {
  const auto program = [](Process& own) {
    own.group([&] {
      if (own.rank == 0) own.send(0, 2, 1);
      if (own.rank == 1) own.receive(0, 3, 0);
    });
    own.wait();
  };
  EXPECT_THAT(errors_of(2, program),
              testing::ElementsAre(
                  HasSubstr("rank 0 sends 8 bytes of type 7, rank 1 receives 12 of type 7"),
                  HasSubstr("rank 0 is gone")));
}

void wait_no_longer_than_a_second() { setenv("SKYLINE_NCCL_SECONDS", "1", 1); }

// Each process waits for its send before it begins to receive.
TEST(NcclEmulation, FindsCallsThatWaitForEachOther) {
  const auto waits =
      AnyOf(HasSubstr("waits for a send or receive that does not come"), HasSubstr("is gone"));
  const auto apart = [](Process& own) {
    wait_no_longer_than_a_second();
    own.group([&] { own.send(0, 1, 1 - own.rank); });
    own.group([&] { own.receive(1, 1, 1 - own.rank); });
    own.wait();
  };
  EXPECT_THAT(errors_of(2, apart), Each(waits));
  const auto without_group = [](Process& own) {
    wait_no_longer_than_a_second();
    own.send(0, 1, 1 - own.rank);
    own.receive(1, 1, 1 - own.rank);
    own.wait();
  };
  EXPECT_THAT(errors_of(2, without_group), Each(waits));
}

TEST(NcclEmulation, RefusesWrongCalls) {
  const std::vector<std::function<void(Process&)>> programs = {
      [](Process& own) { own.send(0, 1, own.rank); },
      [](Process& own) { own.send(0, 1, own.ranks); },
      [](Process& own) { own.receive(Process::kFloats - 1, 2, 1 - own.rank); },
      [](Process& own) {
        float host = 0;
        own.nccl.check(
            own.nccl.send(&host, 1, kNcclFloat32, 1 - own.rank, own.communicator, own.stream),
            "ncclSend");
      },
      [](Process& own) {
        own.nccl.check(own.nccl.send(own.device, 1, 8, 1 - own.rank, own.communicator, own.stream),
                       "ncclSend");
      },
  };
  for (const auto& program : programs) {
    EXPECT_THAT(errors_of(2, program), Each(HasSubstr("invalid argument")));
  }
  EXPECT_THAT(errors_of(2, [](Process& own) { own.nccl.check(own.nccl.group_end(), "end"); }),
              Each("[end] invalid usage"));
}

TEST(NcclEmulation, NamesARankThatIsGone) {
  const auto program = [](Process& own) {
    if (own.rank == 1) return;
    own.send(0, 1, 1);
    own.wait();
  };
  EXPECT_THAT(errors_of(2, program)[0], HasSubstr("rank 1 is gone"));
}

}  // namespace
}  // namespace skyline
