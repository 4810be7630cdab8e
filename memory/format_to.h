#pragma once

#include <fmt/format.h>

// For files that call fmt::format_to. fmt 9 does not say that its library holds what that calls:
// without this, each of them compiles it anew, for 2 seconds. clang mangles the name otherwise.
#if !defined(FMT_HEADER_ONLY) && FMT_VERSION < 100000 && !defined(__clang__)
FMT_BEGIN_NAMESPACE
namespace detail {
extern template void vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                      basic_format_args<buffer_context<char>>, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
#endif
