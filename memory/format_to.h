#pragma once

#include <fmt/format.h>

// Include this to call fmt::format_to. fmt 9 does not declare vformat_to extern, so each file would
// compile it again, for 2 seconds. Not for clang, which mangles its name differently.
#if !defined(FMT_HEADER_ONLY) && FMT_VERSION < 100000 && !defined(__clang__)
FMT_BEGIN_NAMESPACE
namespace detail {
extern template void vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                      basic_format_args<buffer_context<char>>, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
#endif
