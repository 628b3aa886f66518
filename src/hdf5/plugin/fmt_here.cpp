// The parts of fmt that the codec's messages need, compiled into the plugin, so that the plugin
// needs no libfmt. Compiled without optimisation: then every inline function that is used has a
// body that other files can link to.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace caesura::hdf5 {

/// Never called; uses what fmt::format() in other files leaves to the library.
[[gnu::used, gnu::visibility("hidden")]] std::string use_fmt(fmt::string_view format,
                                                             fmt::format_args arguments) {
    return fmt::vformat(format, arguments) + fmt::format("{:L} {} {:x} {}", 1, 1.5, 2U, 2.5F);
}

}  // namespace caesura::hdf5
