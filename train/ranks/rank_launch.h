#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/ranks/rank_group.h"

namespace skyline {

// Returns where a shared library of this program is: an installed program's lie in
// PREFIX/lib/skyline, others where they were built.
std::filesystem::path library_file(const std::filesystem::path& built);

// How many ranks a launcher (mpirun or a cluster's) started; 0 if this program was started alone.
std::size_t launched_ranks();

// Starts the same command line `ranks` times on this machine, by `mpirun`, and ends with rank 0's
// exit code. SIGINT and SIGTERM let the ranks save and end; a second one ends them at once. Throws
// UsageError if that cannot be.
[[noreturn]] void launch_ranks(std::int64_t ranks);

// Joins the ranks that the launcher started. Throws UsageError if this build has no MPI.
std::shared_ptr<RankGroup> join_ranks();

// Returns the code that this process exits with instead of `code`. mpirun takes any code but 0 for
// a failure and ends all ranks, so a rank that launch_ranks() started exits with 0, and rank 0
// leaves its code to the process that called launch_ranks().
int exit_code_of_rank(int code);

// All ranks call it with what went wrong on them, or "". If something did, rank 0 throws UsageError
// with it and names the rank; the others throw RankStopped.
void agree(RankGroup& group, const std::string& problem);

// All ranks call it with an object that must be the same on each. If one differs, rank 0 throws
// UsageError that names the rank, the key and both values; the others throw RankStopped.
void agree_on(RankGroup& group, const nlohmann::ordered_json& facts);

// All ranks call it: each takes a card, then they connect. If one cannot take a card, rank 0 throws
// UsageError with the reason; the others throw RankStopped. Throws std::runtime_error.
std::shared_ptr<CudaRanks> join_cards(RankGroup& group);

// Another rank says why all ranks end, so this one says nothing.
struct RankStopped : std::exception {
  const char* what() const noexcept override { return "another rank says why"; }
};

}  // namespace skyline
