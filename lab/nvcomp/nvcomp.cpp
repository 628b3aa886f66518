#include "nvcomp/nvcomp.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace caesura::device {
namespace {

/// Options of a coder: 64 bytes, passed by value; what is not named is 0.
struct Options {
    alignas(8) std::array<unsigned char, 64> bytes{};
    template <class T>
    void set(std::size_t offset, T value) {
        std::memcpy(bytes.data() + offset, &value, sizeof value);
    }
};

// Numbers of version 6.
constexpr int k_unsigned_int = 5, k_unsigned_long_long = 7, k_type_in_the_bytes = 0xff;

/// The default of each coder, but for the type of values: unsigned integers of their size where it
/// matters.
Options to_compress(Coder coder, std::uint64_t value_bytes) {
    const int type = value_bytes == 8 ? k_unsigned_long_long : k_unsigned_int;
    Options options;
    switch (coder) {
        case Coder::nvcomp_gdeflate:
            options.set(0, 1);  // its default effort
            break;
        case Coder::nvcomp_bitcomp:
            options.set(4, type);
            break;
        case Coder::nvcomp_cascaded:
            options.set(0, type);
            options.set(4, 1);                               // asymmetric
            options.set(8, std::uint64_t{1});                // packed bits at the end
            options.set(24, std::uint64_t{7});               // delta, runs, frame of reference
            options.set(32, static_cast<unsigned char>(3));  // level
            break;
        default:  // LZ4 and ANS: bytes
            break;
    }
    return options;
}

Options to_decompress(Coder coder) {
    Options options;
    // By kernels, not by the engine that some GPUs have: it wants memory of its own kind and says
    // nothing of chunks that it cannot read.
    options.set(0, 2);
    if (coder == Coder::nvcomp_ans) options.set(4, k_type_in_the_bytes);
    if (coder == Coder::nvcomp_cascaded) options.set(8, k_type_in_the_bytes);
    return options;
}

/// Of a pointer's size each.
struct Alignment {
    std::size_t from = 1, to = 1, scratch = 1;
};

using Properties = int (*)(std::uint32_t* version_and_runtime);
using StatusText = const char* (*)(int);
using Alignments = int (*)(Options, Alignment*);
using MostBytes = int (*)(std::size_t chunk_bytes, Options, std::size_t* most);
using ScratchBytes = int (*)(std::size_t chunks, std::size_t chunk_bytes, Options,
                             std::size_t* bytes, std::size_t all_bytes, void* stream);
using Compress = int (*)(const void* const* from, const std::size_t* bytes, std::size_t chunk_bytes,
                         std::size_t chunks, void* scratch, std::size_t scratch_bytes,
                         void* const* to, std::size_t* compressed, Options, int* statuses,
                         void* stream);
using Decompress = int (*)(const void* const* from, const std::size_t* bytes,
                           const std::size_t* room_bytes, std::size_t* decompressed,
                           std::size_t chunks, void* scratch, std::size_t scratch_bytes,
                           void* const* to, Options, int* statuses, void* stream);

constexpr std::uint32_t k_major = 6;
constexpr std::string_view k_install =
    "pip install nvidia-nvcomp-cu13 (or -cu12), or conda's libnvcomp, and name the library "
    "libnvcomp.so.6 in CudaOptions::nvcomp or in CAESURA_NVCOMP; coder packed needs no library";

class Loaded : public Nvcomp {
  public:
    Loaded(Coder coder, void* library) : coder_(coder), library_(library) {}
    ~Loaded() override { dlclose(library_); }

    Status begin();
    Coder coder() const override { return coder_; }
    std::string version() const override {
        return fmt::format("{}.{}.{}", version_ / 1000, version_ % 1000 / 100, version_ % 100);
    }
    std::uint32_t version_number() const override { return version_; }
    Result<std::uint64_t> most_bytes(std::uint64_t chunk_bytes) const override {
        return most_of([&](std::uint64_t value_bytes, std::size_t& most) {
            return most_bytes_(chunk_bytes, to_compress(coder_, value_bytes), &most);
        });
    }
    Result<std::uint64_t> compress_scratch_bytes(std::uint64_t chunks, std::uint64_t chunk_bytes,
                                                 void* stream) const override {
        return most_of([&](std::uint64_t value_bytes, std::size_t& most) {
            return compress_scratch_(chunks, chunk_bytes, to_compress(coder_, value_bytes), &most,
                                     chunks * chunk_bytes, stream);
        });
    }
    Result<std::uint64_t> decompress_scratch_bytes(std::uint64_t chunks, std::uint64_t chunk_bytes,
                                                   void* stream) const override {
        return most_of([&](std::uint64_t, std::size_t& most) {
            return decompress_scratch_(chunks, chunk_bytes, to_decompress(coder_), &most,
                                       chunks * chunk_bytes, stream);
        });
    }
    Result<NvcompAlignment> compress_alignment() const override {
        // The strictest: of values of 8 bytes.
        return alignment(compress_alignments_, to_compress(coder_, 8));
    }
    Result<NvcompAlignment> decompress_alignment() const override {
        return alignment(decompress_alignments_, to_decompress(coder_));
    }
    Status compress(const NvcompBatch& batch, void* stream) const override {
        return status_of(compress_(batch.from, batch.bytes, batch.chunk_bytes, batch.chunks,
                                   batch.scratch, batch.scratch_bytes, batch.to, batch.to_bytes,
                                   to_compress(coder_, batch.value_bytes), batch.statuses, stream));
    }
    Status decompress(const NvcompBatch& batch, void* stream) const override {
        return status_of(decompress_(batch.from, batch.bytes, batch.room_bytes, batch.to_bytes,
                                     batch.chunks, batch.scratch, batch.scratch_bytes, batch.to,
                                     to_decompress(coder_), batch.statuses, stream));
    }
    std::string status_text(std::int32_t status) const override {
        const char* const text = text_(status);
        return fmt::format("{} ({})", text != nullptr ? text : "unknown", status);
    }

  private:
    template <class F>
    Status find(const std::string& name, F& function) {
        static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
        void* const symbol = dlsym(library_, name.c_str());
        if (symbol == nullptr)
            return {
                StatusCode::unsupported,
                fmt::format("nvCOMP has no {}; version {} is known: {}", name, k_major, k_install)};
        std::memcpy(&function, &symbol, sizeof symbol);
        return {};
    }
    Status status_of(int code) const {
        if (code == 0) return {};
        return {StatusCode::io,
                fmt::format("nvCOMP {}, {}: {}", version(), to_string(coder_), status_text(code))};
    }
    template <class Ask>
    Result<std::uint64_t> most_of(Ask ask) const {
        std::uint64_t most = 0;
        for (const std::uint64_t value_bytes : {4u, 8u}) {
            std::size_t bytes = 0;
            if (Status s = status_of(ask(value_bytes, bytes)); !s.ok()) return s;
            most = std::max<std::uint64_t>(most, bytes);
        }
        return most;
    }
    Result<NvcompAlignment> alignment(Alignments ask, const Options& options) const {
        Alignment found;
        if (Status s = status_of(ask(options, &found)); !s.ok()) return s;
        return NvcompAlignment{found.from, found.to, found.scratch};
    }

    Coder coder_;
    void* library_;
    std::uint32_t version_ = 0;
    StatusText text_ = nullptr;
    Alignments compress_alignments_ = nullptr, decompress_alignments_ = nullptr;
    MostBytes most_bytes_ = nullptr;
    ScratchBytes compress_scratch_ = nullptr, decompress_scratch_ = nullptr;
    Compress compress_ = nullptr;
    Decompress decompress_ = nullptr;
};

/// The library's own word for it.
std::string_view name_in_library(Coder coder) {
    constexpr std::array<std::string_view, 5> k_library_names = {"LZ4", "Gdeflate", "Bitcomp",
                                                                 "ANS", "Cascaded"};
    return k_library_names[static_cast<std::size_t>(coder) -
                           static_cast<std::size_t>(Coder::nvcomp_lz4)];
}

Status Loaded::begin() {
    Properties properties = nullptr;
    if (Status s = find("nvcompGetProperties", properties); !s.ok()) return s;
    if (Status s = find("nvcompGetStatusString", text_); !s.ok()) return s;
    std::uint32_t found[2] = {0, 0};
    if (const int code = properties(found); code != 0) return status_of(code);
    version_ = found[0];
    if (version_ / 1000 != k_major)
        return {StatusCode::unsupported,
                fmt::format("nvCOMP {} was found and version {} is known: {}", version(), k_major,
                            k_install)};
    const std::string stem = fmt::format("nvcompBatched{}", name_in_library(coder_));
    const std::string compress = stem + "Compress", decompress = stem + "Decompress";
    Status all;
    const auto want = [&](const std::string& name, auto& function) {
        if (all.ok()) all = find(name, function);
    };
    want(compress + "GetRequiredAlignments", compress_alignments_);
    want(decompress + "GetRequiredAlignments", decompress_alignments_);
    want(compress + "GetMaxOutputChunkSize", most_bytes_);
    want(compress + "GetTempSize", compress_scratch_);
    want(decompress + "GetTempSize", decompress_scratch_);
    want(compress + "Async", compress_);
    want(decompress + "Async", decompress_);
    return all;
}

}  // namespace

Result<std::unique_ptr<Nvcomp>> Nvcomp::load(Coder coder, const std::string& library) {
    if (!is_nvcomp(coder))
        return Status{StatusCode::invalid_argument,
                      fmt::format("coder {} is none of nvCOMP's", to_string(coder))};
    const char* const named = std::getenv("CAESURA_NVCOMP");
    const std::string path = !library.empty() ? library
                             : named != nullptr && *named != 0
                                 ? std::string(named)
                                 : fmt::format("libnvcomp.so.{}", k_major);
    // Never unloaded: its kernels are registered with a runtime that may be gone before we are.
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr)
        return Status{
            StatusCode::unsupported,
            fmt::format("coder {} needs nvCOMP {}, and there is none: {}: {}", to_string(coder),
                        k_major, std::string_view(dlerror()), k_install)};
    auto loaded = std::make_unique<Loaded>(coder, handle);
    if (Status status = loaded->begin(); !status.ok()) return status.with_context(path);
    return std::unique_ptr<Nvcomp>(std::move(loaded));
}

}  // namespace caesura::device
