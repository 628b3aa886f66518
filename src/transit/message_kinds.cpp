#include "transit/message_kinds.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace caesura::transit {
namespace {

constexpr auto k_names = std::to_array<std::pair<Kind, std::string_view>>({
    {Kind::hello, "hello"},
    {Kind::share, "share"},
    {Kind::heartbeat, "heartbeat"},
    {Kind::bye, "bye"},
    {Kind::open, "open"},
    {Kind::close_file, "close_file"},
    {Kind::write, "write"},
    {Kind::read, "read"},
    {Kind::sync, "sync"},
    {Kind::truncate, "truncate"},
    {Kind::size, "size"},
    {Kind::lock, "lock"},
    {Kind::unlock, "unlock"},
    {Kind::sync_directory, "sync_directory"},
    {Kind::begin_dump, "begin_dump"},
    {Kind::block, "block"},
    {Kind::stored_block, "stored_block"},
    {Kind::finish_dump, "finish_dump"},
    {Kind::end_spill, "end_spill"},
    {Kind::drop_dump, "drop_dump"},
    {Kind::press, "press"},
    {Kind::describe_dump, "describe_dump"},
    {Kind::create_object, "create_object"},
    {Kind::put_region, "put_region"},
    {Kind::get_region, "get_region"},
    {Kind::delete_object, "delete_object"},
    {Kind::find_objects, "find_objects"},
    {Kind::run_function, "run_function"},
    {Kind::list_functions, "list_functions"},
    {Kind::run_pass, "run_pass"},
    {Kind::analyse_region, "analyse_region"},
    {Kind::list_versions, "list_versions"},
    {Kind::persist_objects, "persist_objects"},
    {Kind::found_objects, "found_objects"},
    {Kind::found_in_dump, "found_in_dump"},
    {Kind::analysed_region, "analysed_region"},
    {Kind::welcome, "welcome"},
    {Kind::refusal, "refusal"},
    {Kind::service_heartbeat, "service_heartbeat"},
    {Kind::draining, "draining"},
    {Kind::answer, "answer"},
    {Kind::taken, "taken"},
    {Kind::credit, "credit"},
    {Kind::result, "result"},
    {Kind::finished, "finished"},
    {Kind::pressed, "pressed"},
});

}  // namespace

std::string_view to_string(Kind kind) {
    const auto found = std::find_if(k_names.begin(), k_names.end(),
                                    [&](const auto& one) { return one.first == kind; });
    return found == k_names.end() ? "unknown" : found->second;
}

}  // namespace caesura::transit
