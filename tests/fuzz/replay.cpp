// Runs a fuzz target without a fuzzer: every file of the given directories, then a bounded number
// of seeded mutations of them. Usage: replay MUTATIONS SEED DIRECTORY...
//
// The inputs run in a child. If it dies, the input that killed it is in the file
// `replay_last_input`, so that it can become a file of the corpus.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

/// What the child is at, in memory that it shares with its parent.
struct Shared {
    std::size_t size;
    std::uint8_t bytes[1 << 16];
};

void run(const Input& input, Shared& shared) {
    shared.size = std::min(input.size(), sizeof shared.bytes);
    std::copy_n(input.begin(), shared.size, shared.bytes);
    // Exactly so many bytes on the heap, so that a sanitizer sees a read past them.
    const Input copy(input.begin(), input.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

std::vector<Input> read_corpus(int argc, char** argv) {
    std::vector<std::filesystem::path> paths;
    for (int i = 3; i < argc; ++i)
        for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
            if (entry.is_regular_file()) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());  // the same mutations everywhere
    std::vector<Input> corpus;
    for (const auto& path : paths) {
        std::ifstream in(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return corpus;
}

/// One change of the kinds that break parsers: bits, whole numbers at their limits, cuts, copies.
void mutate(Input& input, const std::vector<Input>& corpus, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    if (input.empty()) input.push_back(0);
    const std::size_t at = below(input.size());
    switch (below(16)) {  // most keep the length: a frame that is cut or longer goes no further
        case 0:
        case 1:
        case 2:
            input[at] ^= static_cast<std::uint8_t>(1U << below(8));
            break;
        case 3:
        case 4:
            input[at] = static_cast<std::uint8_t>(random());
            break;
        case 5:
        case 6: {  // a number of 2, 4 or 8 bytes
            constexpr std::uint64_t k_numbers[] = {0,
                                                   1,
                                                   0x7f,
                                                   0xff,
                                                   0x100,
                                                   0x7fff,
                                                   0xffff,
                                                   0x7fffffff,
                                                   0x80000000,
                                                   0xffffffff,
                                                   0x100000000,
                                                   0x7fffffffffffffff,
                                                   0x8000000000000000,
                                                   0xffffffffffffffff};
            const std::uint64_t number = k_numbers[below(std::size(k_numbers))];
            const std::size_t width = std::size_t{2} << below(3);
            for (std::size_t i = 0; i < width && at + i < input.size(); ++i)
                input[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
            break;
        }
        case 7:
        case 8:
        case 9:  // a little more or less
            input[at] = static_cast<std::uint8_t>(input[at] + below(9) - 4);
            break;
        case 10:
            input.resize(at);
            break;
        case 11:
            input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(9),
                         static_cast<std::uint8_t>(random()));
            break;
        case 12:
            input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                        input.begin() +
                            static_cast<std::ptrdiff_t>(std::min(input.size(), at + 1 + below(9))));
            break;
        default: {  // a stretch of another file
            const Input& other = corpus[below(corpus.size())];
            if (other.empty()) break;
            const std::size_t from = below(other.size());
            const std::size_t n = std::min({below(64) + 1, other.size() - from, input.size() - at});
            std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), n,
                        input.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
}

void run_all(const std::vector<Input>& corpus, long mutations, std::uint64_t seed, Shared& shared) {
    for (const Input& input : corpus) run(input, shared);
    for (long i = 0; i < mutations; ++i) {
        std::mt19937_64 random(seed + static_cast<std::uint64_t>(i));
        Input input = corpus[static_cast<std::size_t>(random() % corpus.size())];
        for (std::size_t changes = 1 + random() % 3; changes > 0; --changes)
            mutate(input, corpus, random);
        run(input, shared);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s MUTATIONS SEED DIRECTORY...\n", argv[0]);
        return 2;
    }
    const long mutations = std::atol(argv[1]);
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    const std::vector<Input> corpus = read_corpus(argc, argv);
    if (corpus.empty()) {
        std::fprintf(stderr, "no file to start from\n");
        return 2;
    }
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    Shared& shared = *static_cast<Shared*>(memory);
    const pid_t child = fork();
    if (child == 0) {
        run_all(corpus, mutations, seed, shared);
        return 0;
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (status != 0) {
        std::ofstream last("replay_last_input", std::ios::binary);
        last.write(reinterpret_cast<const char*>(shared.bytes),
                   static_cast<std::streamsize>(shared.size));
        std::fprintf(stderr, "died of an input of %zu bytes, now in replay_last_input\n",
                     shared.size);
        return 1;
    }
    std::printf("%zu files and %ld mutations (seed %llu) replayed\n", corpus.size(), mutations,
                static_cast<unsigned long long>(seed));
    return 0;
}
