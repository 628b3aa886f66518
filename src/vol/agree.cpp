#include "vol/agree.hpp"

#include <algorithm>

#include "base/all_ranks.hpp"

namespace caesura::vol {
namespace {

struct Told {
    std::int64_t code = 0;
    std::uint64_t length = 0;  ///< of the message
};

/// `root`'s bad status, which the others know to be bad.
Status hear(Communicator& communicator, const Status& mine, int root) {
    Told told{static_cast<std::int64_t>(mine.code()), mine.message().size()};
    const auto bytes = std::as_writable_bytes(std::span(&told, 1));
    if (Status status = communicator.broadcast(bytes, root); !status.ok()) return status;
    std::string text = communicator.rank() == root ? mine.message() : std::string(told.length, ' ');
    if (Status status = communicator.broadcast(std::as_writable_bytes(std::span(text)), root);
        !status.ok())
        return status;
    return {static_cast<StatusCode>(told.code), std::move(text)};
}

}  // namespace

Status agree(Communicator& communicator, const Status& mine) {
    if (communicator.size() == 1) return mine;
    const std::int32_t code = static_cast<std::int32_t>(mine.code());
    const auto codes = base::from_all(communicator, code);
    if (!codes.ok()) return codes.status();
    const auto bad = std::find_if(codes->begin(), codes->end(), [](auto c) { return c != 0; });
    if (bad == codes->end()) return {};
    return hear(communicator, mine, static_cast<int>(bad - codes->begin()));
}

Status tell(Communicator& communicator, std::span<std::byte> value, const Status& of_root) {
    if (communicator.size() == 1) return of_root;
    std::vector<std::byte> all(value.size() + 1);
    all[0] = std::byte(of_root.ok() ? 0 : 1);
    std::copy(value.begin(), value.end(), all.begin() + 1);
    if (Status status = communicator.broadcast(all, 0); !status.ok()) return status;
    std::copy(all.begin() + 1, all.end(), value.begin());
    if (all[0] == std::byte(0)) return {};
    return hear(communicator, of_root, 0);
}

}  // namespace caesura::vol
