// libfmt's own source, so that a preloaded library brings no libraries into the program.
#include <fmt/format-inl.h>

#if FMT_VERSION / 10000 == 9  // later versions come as their own library
namespace fmt::detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>,
                         locale_ref);
}  // namespace fmt::detail
#endif
