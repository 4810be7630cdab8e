#pragma once

#include <cstdint>
#include <string>

namespace skyline {

// Bytes that the operating system can still give ("MemAvailable" and "SwapFree" of /proc/meminfo);
// the largest number if it does not say.
std::uint64_t available_host_bytes();

// Throws DataError when `bytes` of host memory are more than what is available: "[source] what
// takes 29.2 GiB of memory, but 21.0 GiB are available". Otherwise the system would end the
// process, without a word, when the bytes are written.
void require_host_memory(const std::string& source, const std::string& what, std::uint64_t bytes);

}  // namespace skyline
