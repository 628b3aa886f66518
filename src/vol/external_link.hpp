// External links, followed by the connector instead of the library.
//
// The library opens a link's target with the driver of the file that has the link. Of a captured
// file that is the image's, which is one file's. So the target is opened as the application would
// open it: with its own access list, captured or natively.
//
// Invariants:
//  - Files that are not captured have their links followed with the rules that the library has.
//  - What a captured file's links led to stays open until that file is closed: the library holds
//    native files by its objects, and knows nothing of what belongs to a captured one.
#pragma once

#include <H5VLconnector.h>

namespace caesura::vol {

class CapturedFile;

/// Take the class of external links over, when the first file is captured. An application that has
/// put its own class in the library's place before loses it; one put there later stays.
void follow_external_links();

/// The library forgets its classes of links when it closes.
void forget_external_links();

/// Before the file with the links is closed. Collective, as closing files is.
herr_t close_linked(CapturedFile& file);

}  // namespace caesura::vol
