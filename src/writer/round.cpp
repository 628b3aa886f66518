#include "writer/round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/all_ranks.hpp"
#include "base/wire.hpp"
#include "writer/metadata.hpp"

namespace caesura::writer {

bool any_error(std::span<const Hello> all) {
    return std::any_of(all.begin(), all.end(), [](auto& h) { return h.code != 0; });
}

Result<Heard> Round::exchange(const Hello& mine, std::span<const ledger::Statement> files) {
    const std::size_t n = files.size(), length = sizeof mine + n * sizeof(ledger::Statement);
    std::vector<std::byte> bytes(length);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    if (n > 0) std::memcpy(bytes.data() + sizeof mine, files.data(), length - sizeof mine);
    const auto all = base::lists_from_all<std::byte>(*session_.comm, bytes);
    if (!all.ok()) return lost(all.status());
    Heard heard;
    const auto ranks = static_cast<std::size_t>(session_.size);
    heard.hellos.resize(ranks);
    heard.statements.assign(n, std::vector<ledger::Statement>(ranks));
    for (std::size_t r = 0; r < ranks; ++r) {
        const std::byte* at = all->data() + r * length;
        std::memcpy(&heard.hellos[r], at, sizeof(Hello));
        at += sizeof(Hello);
        for (std::size_t file = 0; file < n; ++file, at += sizeof(ledger::Statement))
            std::memcpy(&heard.statements[file][r], at, sizeof(ledger::Statement));
    }
    return heard;
}

Status Round::agree(const Status& mine) {
    base::Packer packer;
    packer.put(static_cast<std::int32_t>(mine.code()));
    packer.put(mine.message());
    auto all = session_.comm->allgatherv(packer.bytes());
    if (!all.ok()) return lost(all.status());
    for (std::size_t r = 0; r < all->size(); ++r) {
        base::Unpacker unpacker((*all)[r]);
        const auto code = static_cast<StatusCode>(unpacker.get<std::int32_t>());
        if (code == StatusCode::ok) continue;
        const std::string message = unpacker.get_string();
        return {code, session_.size > 1 ? fmt::format("rank {}: {}", r, message) : message};
    }
    return {};
}

Status Round::agree_on_metadata(std::span<const std::byte> mine) {
    auto all = session_.comm->allgatherv(mine);
    if (!all.ok()) return lost(all.status());
    return first_difference(*all);
}

Status Round::agree_on_errors(std::span<const Hello> all, const Status& mine) {
    if (any_error(all)) {
        const Status first = agree(mine);
        const bool fatal =
            std::any_of(all.begin(), all.end(), [](auto& h) { return h.fatal != 0; });
        if (fatal) failed_ = first;
        return first;
    }
    for (std::size_t r = 1; r < all.size(); ++r) {
        const Hello& theirs = all[r];
        const auto differ = [&](std::string_view what) {
            return Status{StatusCode::invalid_argument,
                          fmt::format("ranks 0 and {} {}; iterations {} and {}", r, what,
                                      all[0].iteration, theirs.iteration)};
        };
        if (theirs.definitions != all[0].definitions)
            return differ("have defined different fields, or have different plugins for them");
        if (theirs.has_dump != all[0].has_dump || theirs.iteration != all[0].iteration)
            return differ("do not dump the same iteration");
    }
    return {};
}

}  // namespace caesura::writer
