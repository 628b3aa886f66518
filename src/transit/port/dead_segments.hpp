// Shared memory that UCX has left behind.
//
// UCX makes a System V segment and marks it for removal by two calls. A process that is killed
// between them leaves a segment that nobody has, and that stays until the machine is restarted.
#pragma once

#include <cstddef>

namespace caesura::transit {

/// Removes segments without a key, of this user, that nobody has attached, that nobody has ever
/// written to, and whose maker is dead: there is nothing in them that could be lost. Of a maker who
/// cannot be seen (another namespace of processes) they stay.
/// @return  how many.
std::size_t remove_dead_segments();

}  // namespace caesura::transit
