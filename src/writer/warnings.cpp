#include "writer/warnings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/wire.hpp"

namespace caesura::writer {
namespace {

constexpr std::size_t k_most_unsaid = 16;

// Of all Writers of the process: an application that makes one for each dump hears it once.
bool is_first_of_process(Warning what) {
    static std::atomic<std::uint32_t> said{0};
    if (what == Warning::of_file) return true;
    const std::uint32_t bit = 1U << static_cast<unsigned>(what);
    return (said.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

bool is_switched_off() {
    const char* const messages = std::getenv("CAESURA_MESSAGES");
    return messages != nullptr && std::string_view(messages) == "none";
}

void print(Warning what, const std::string& text) {
    if (is_switched_off() || !is_first_of_process(what)) return;
    const std::string line = "caesura: " + text + "\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void Warnings::warn(Warning what, const std::string& text) {
    if (on_message_) return on_message_(text);
    if (rank_ == 0) return print(what, text);
    const auto is_same = [&](const Unsaid& one) { return one.what == what; };
    const bool is_known = what != Warning::of_file && std::ranges::any_of(unsaid_, is_same);
    if (!is_known && unsaid_.size() < k_most_unsaid) unsaid_.push_back({what, text});
}

Status Warnings::hand_over(Communicator& ranks) {
    base::Packer packer;
    try {
        packer.put(unsaid());
        for (const Unsaid& one : unsaid_) {
            packer.put(static_cast<std::uint8_t>(one.what));
            packer.put(one.text);
        }
    } catch (const std::bad_alloc&) {
        packer = {};  // nothing to say; the others wait
    }
    unsaid_.clear();
    auto all = ranks.gatherv(packer.bytes(), 0);
    if (!all.ok()) return all.status();
    std::vector<Unsaid> heard;
    for (const Communicator::Bytes& bytes : *all) {
        base::Unpacker unpacker(bytes);
        for (auto left = unpacker.get<std::uint32_t>(); left > 0; --left) {
            const auto what = static_cast<Warning>(unpacker.get<std::uint8_t>());
            heard.push_back({what, unpacker.get_string()});
        }
    }
    for (auto one = heard.begin(); one != heard.end(); ++one) {
        const auto is_same = [&](const Unsaid& other) { return other.what == one->what; };
        if (one->what != Warning::of_file && std::any_of(heard.begin(), one, is_same)) continue;
        const auto others = std::count_if(one + 1, heard.end(), is_same);
        const bool many = one->what != Warning::of_file && others > 0;
        print(one->what,
              many ? fmt::format("{} (and {} ranks more)", one->text, others) : one->text);
    }
    return {};
}

}  // namespace caesura::writer
