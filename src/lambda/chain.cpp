#include "lambda/chain.hpp"

#include <fmt/format.h>

#include "base/invalid.hpp"
#include "lambda/guarded.hpp"

namespace caesura::lambda {
namespace {

constexpr std::uint32_t k_chain_magic = 0x31584c43;  // "CLX1"
constexpr std::size_t k_longest_bytes = 255;         // of a name or settings

void put_short(Writer& out, std::span<const std::byte> bytes) {
    out.u8(static_cast<std::uint8_t>(bytes.size())).bytes(bytes);
}

void put_start(Writer& out, std::size_t stages, std::uint64_t raw_bytes) {
    out.u32(k_chain_magic).u8(static_cast<std::uint8_t>(stages)).u64(raw_bytes);
}

/// One stage's lines of the header, as far as the stage itself is told: without its settings.
void put_stage(Writer& out, std::string_view name, std::uint64_t bytes) {
    put_short(out, std::as_bytes(std::span(name)));
    out.u64(bytes);
}

struct StageLine {
    std::string name;
    std::span<const std::byte> settings;
    std::uint64_t bytes = 0;  // it was given
};

struct Header {
    std::uint64_t raw_bytes = 0;
    std::vector<StageLine> stages;
    std::span<const std::byte> payload;
};

Result<Header> read_header(std::span<const std::byte> bytes) {
    Reader in(bytes);
    const std::uint32_t magic = in.u32();
    const std::size_t stages = in.u8();
    Header header;
    header.raw_bytes = in.u64();
    if (in.ended_early()) return cut_short("the output of a chain");
    if ((magic & 0xffffff) != (k_chain_magic & 0xffffff))
        return corrupt("this is no output of a chain");
    if (magic != k_chain_magic)
        return Status(StatusCode::unsupported, "the output of a chain of a later version");
    if (stages > k_most_stages) return corrupt("the output of a chain of too many stages");
    for (std::size_t i = 0; i < stages; ++i) {
        StageLine line;
        const auto name = in.bytes(in.u8());
        line.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
        line.settings = in.bytes(in.u8());
        line.bytes = in.u64();
        header.stages.push_back(std::move(line));
    }
    if (in.ended_early()) return cut_short("the output of a chain");
    header.payload = in.rest();
    return header;
}

/// What the stages before stage i, and stage i itself, put into the header.
std::vector<std::byte> header_before(const Header& header, std::size_t i) {
    ByteSink sink;
    Writer out(sink);
    put_start(out, 0, header.raw_bytes);
    for (std::size_t k = 0; k < i; ++k) {
        put_stage(out, header.stages[k].name, header.stages[k].bytes);
        put_short(out, header.stages[k].settings);
    }
    put_stage(out, header.stages[i].name, header.stages[i].bytes);
    return std::move(sink.bytes);
}

Status check_lengths_of(const Header& header, const RegionView& place) {
    const std::uint64_t raw = place.count() * size_of(place.dtype);
    if (header.raw_bytes != raw)
        return corrupt(fmt::format("{}: values of {} bytes, and the region has {}", describe(place),
                                   header.raw_bytes, raw));
    const std::uint64_t most = raw + raw / 8 + 65536;
    for (const StageLine& line : header.stages)
        if (line.bytes > most)
            return corrupt(fmt::format("{}: stage {} of {} bytes, for a region of {}",
                                       describe(place), line.name, line.bytes, raw));
    const std::uint64_t first =
        header.stages.empty() ? header.payload.size() : header.stages[0].bytes;
    if (first != raw) return corrupt(fmt::format("{}: lengths that differ", describe(place)));
    return {};
}

}  // namespace

Result<Chain> Chain::make(const Registry& registry, std::string_view text, const Operator& by) {
    const auto calls = parse_chain(text);
    if (!calls.ok()) return calls.status();
    Chain chain;
    for (const Call& call : *calls) {
        auto bound = registry.bind(call);
        if (!bound.ok()) return bound.status();
        if (bound->function->kind != Kind::transform)
            return base::invalid(fmt::format("{} is no transform", bound->text));
        auto made = bound->variant->make_transform(bound->arguments, by);
        if (!made.ok()) return made.status().with_context(bound->text);
        if ((*made)->gives_values() && !chain.stages_.empty())
            return base::invalid(
                fmt::format("'{}': {} has to come first", text, bound->function->name));
        chain.text_ += (chain.text_.empty() ? "" : " | ") + bound->text;
        chain.stages_.push_back({bound->function->name, std::move(*made)});
    }
    return chain;
}

Result<std::vector<std::byte>> Chain::apply(const RegionView& region) const {
    if (Status status = validate_place(region); !status.ok()) return status;
    return guarded(text_, [&]() -> Result<std::vector<std::byte>> {
        std::vector<std::byte> current;
        std::span<const std::byte> bytes = region.values;
        StageContext context{&region, true, {}};
        auto stage = stages_.begin();
        if (stage->transform->gives_values()) {
            std::vector<std::byte> settings;
            auto values = stage->transform->apply(bytes, context, settings);
            if (!values.ok()) return values.status().with_context(stage->name);
            bytes = current = std::move(*values);
            ++stage;
        }
        RegionView given = region;
        given.values = bytes;
        if (Status status = validate(given); !status.ok()) return status;
        Header header;
        header.raw_bytes = bytes.size();
        std::vector<std::vector<std::byte>> all_settings;
        all_settings.reserve(stages_.size());
        for (; stage != stages_.end(); ++stage) {
            header.stages.push_back({stage->name, {}, bytes.size()});
            const auto before = header_before(header, header.stages.size() - 1);
            context.header = before;
            std::vector<std::byte>& settings = all_settings.emplace_back();
            auto next = stage->transform->apply(bytes, context, settings);
            if (!next.ok())
                return next.status().with_context(describe(region) + ": " + stage->name);
            if (settings.size() > k_longest_bytes)
                return Status(StatusCode::internal, stage->name + ": settings are too long");
            header.stages.back().settings = settings;
            bytes = current = std::move(*next);
            context.holds_values = false;
        }
        ByteSink sink;
        Writer out(sink);
        put_start(out, header.stages.size(), header.raw_bytes);
        for (const StageLine& line : header.stages) {
            put_short(out, std::as_bytes(std::span(line.name)));
            put_short(out, line.settings);
            out.u64(line.bytes);
        }
        out.bytes(bytes);
        return std::move(sink.bytes);
    });
}

Result<std::vector<std::byte>> restore(const Registry& registry, std::span<const std::byte> bytes,
                                       const RegionView& place, const Operator& by) {
    if (Status status = validate_place(place); !status.ok()) return status;
    const auto header = read_header(bytes);
    if (!header.ok()) return header.status().with_context(describe(place));
    if (Status status = check_lengths_of(*header, place); !status.ok()) return status;
    return guarded(describe(place), [&]() -> Result<std::vector<std::byte>> {
        std::vector<std::byte> current;
        std::span<const std::byte> from = header->payload;
        for (std::size_t i = header->stages.size(); i-- > 0;) {
            const StageLine& line = header->stages[i];
            const Function* function = registry.find(line.name);
            if (!function || !function->inverse)
                return Status(StatusCode::unsupported,
                              fmt::format("{}: made by '{}', which is not here", describe(place),
                                          is_utf8(line.name) ? line.name : "?"));
            const auto before = header_before(*header, i);
            const StageContext context{&place, i == 0, before};
            auto next = function->inverse(from, line.settings, line.bytes, context, by);
            if (!next.ok()) return next.status().with_context(describe(place) + ": " + line.name);
            if (next->size() != line.bytes)
                return corrupt(fmt::format("{}: {} gave {} bytes instead of {}", describe(place),
                                           line.name, next->size(), line.bytes));
            from = current = std::move(*next);
        }
        if (header->stages.empty()) current.assign(from.begin(), from.end());
        return current;
    });
}

Result<ChainInfo> read_chain_info(std::span<const std::byte> bytes) {
    const auto header = read_header(bytes);
    if (!header.ok()) return header.status();
    ChainInfo info{header->raw_bytes, {}};
    for (const StageLine& line : header->stages) info.stages.push_back(line.name);
    return info;
}

}  // namespace caesura::lambda
