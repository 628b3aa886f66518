// The mark on a file that its application has closed while blocks of it are still being written:
// HDF5's own `status_flags`, as if a writer had the file open. Stock readers refuse such a file and
// say so, instead of showing it without its last dump.
//
// A file that has no superblock yet needs no mark: no reader opens it. The next commit takes the
// mark away with the superblock that it writes, and so does `recover`.
#pragma once

#include "store/shared_file.hpp"

namespace caesura::store {

/// One rank, while no commit is being flushed. Not synced. Errors: io.
Status mark_in_flight(SharedFile& file);
/// Errors: io.
Result<bool> is_marked_in_flight(base::File& file);
Status unmark_in_flight(base::File& file);

/// Do stock readers open the file? It has a superblock, and that is not marked. Errors: io.
Result<bool> lets_readers_in(base::File& file);
/// Without a mark, and with this end of the file, in one write of one sector. Errors: io.
Status lower_end(base::File& file, std::uint64_t end);

}  // namespace caesura::store
