// How ranks come to one answer. Both calls are collective, and every rank gets the same Status.
#pragma once

#include "caesura/base.hpp"

namespace caesura::vol {

/// The Status of the lowest rank that has a bad one, else ok.
Status agree(Communicator& communicator, const Status& mine);

/// What rank 0 has to say: its value and its Status.
Status tell(Communicator& communicator, std::span<std::byte> value, const Status& of_root);

}  // namespace caesura::vol
