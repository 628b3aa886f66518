// The numbers of the messages between a client and the service.
#pragma once

#include <cstdint>
#include <string_view>

namespace caesura::transit {

/// First bit: from the service. Free: 0, 5 to 15 sessions, 26 to 31 files, 39 to 47 dumps, 54 to 79
/// objects, 85 to 89 and 91 to 95 functions on data and what stays; with the first bit likewise.
enum class Kind : std::uint8_t {
    hello = 1,
    share = 2,
    heartbeat = 3,
    bye = 4,
    open = 16,
    close_file = 17,
    write = 18,
    read = 19,
    sync = 20,
    truncate = 21,
    size = 22,
    lock = 23,
    unlock = 24,
    sync_directory = 25,
    begin_dump = 32,
    block = 33,
    stored_block = 34,
    finish_dump = 35,
    end_spill = 36,
    drop_dump = 37,
    press = 38,
    describe_dump = 48,
    create_object = 49,
    put_region = 50,
    get_region = 51,
    delete_object = 52,
    find_objects = 53,
    run_function = 80,
    list_functions = 81,
    run_pass = 82,
    analyse_region = 83,
    list_versions = 84,
    persist_objects = 90,
    welcome = 128,
    refusal = 129,
    service_heartbeat = 130,
    draining = 131,
    answer = 144,
    taken = 160,
    credit = 161,
    result = 162,
    finished = 163,
    pressed = 164,
    found_objects = 176,
    found_in_dump = 208,
    analysed_region = 211,
};
/// "begin_dump"; "unknown" for a number that is no kind.
std::string_view to_string(Kind kind);

}  // namespace caesura::transit
