// What makes a message consistent in itself, beyond the form of its fields: asked of what is to be
// sent as of what has come.
//
// Errors of all: corrupt, naming field and value. O(fields), besides sorting places.
#pragma once

#include "transit/messages.hpp"

namespace caesura::transit {

/// Kinds whose fields may have any value.
template <class M>
Status check(const M&) {
    return {};
}

Status check(const Hello& message);
Status check(const Share& message);
Status check(const OpenFile& message);
Status check(const WriteFile& message);
Status check(const ReadFile& message);
Status check(const TruncateFile& message);
Status check(const SyncDirectory& message);
Status check(const Welcome& message);
Status check(const Refusal& message);
Status check(const Answer& message);
Status check(const Taken& message);
Status check(const Credit& message);
Status check(const BlockResult& message);

// object_checks.cpp
Status check(const DescribeDump& message);
Status check(const CreateObject& message);
Status check(const PutRegion& message);
Status check(const GetRegion& message);
Status check(const FindObjects& message);
Status check(const RunFunction& message);
Status check(const RunPass& message);
Status check(const PersistObjects& message);
Status check(const FoundObjects& message);
Status check(const FoundInDump& message);
Status check(const AnalyseRegion& message);
Status check(const AnalysedRegion& message);

// block_checks.cpp
Status check(const BeginDump& message);
Status check(const Block& message);
Status check(const StoredBlock& message);
Status check(const Finished& message);
Status check(const PressBlock& message);
Status check(const PressedBlock& message);

}  // namespace caesura::transit
