// nvCOMP stood in for: a library with the functions of nvCOMP 6 that Caesura loads, made for tests
// of zstd on the host. Not nvCOMP: its bytes, speeds and ratios say nothing of nvCOMP's.
//
// What it keeps of nvCOMP, because code can be wrong about it: which alignments each coder asks
// for, how much scratch memory (Gdeflate 5.5 times the raw bytes, LZ4 half of them) and room for a
// chunk it wants, that all of it may be written to, that work is done when the stream comes to it,
// what options a version of 6 takes. What breaks a rule is a mistake, which is written down.
//
// It is loaded like nvCOMP, by its path; nvcomp_stand_in() is looked up in it by the test.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace caesura::device::on_host {

struct NvcompStandIn {
    /// How work is given to a stream; to be set first.
    std::function<int(void* stream, std::function<void()> work)> give;
    std::uint32_t version = 6000;

    // The test's wishes. 0: none.
    std::uint64_t fail_call = 0;   ///< the nth call that returns a status, from now on
    std::uint64_t fail_chunk = 0;  ///< the nth chunk compressed or decompressed, from now on
    bool lie_about_size = false;   ///< chunks are said to have come to more than they may
    bool stop_early = false;       ///< decompressed chunks are said to be shorter than they are

    // What was done. Under `mutex` while streams work.
    std::mutex mutex;
    std::uint64_t calls = 0, compressed = 0, decompressed = 0;
    std::vector<std::string> mistakes;
};

/// The name to look up, and its type. It lives as long as the library is loaded.
inline constexpr const char* k_nvcomp_stand_in = "nvcomp_stand_in";
using NvcompStandInFunction = NvcompStandIn* (*)();

}  // namespace caesura::device::on_host
