#include "device/nvcomp.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace caesura::device {
namespace {

/// Options of a compressor: 64 bytes, passed by value; what is not named is 0.
struct Options {
    alignas(8) std::array<unsigned char, 64> bytes{};
    template <class T>
    void set(std::size_t offset, T value) {
        std::memcpy(bytes.data() + offset, &value, sizeof value);
    }
};

/// Numbers of version 6: types of 4-byte unsigned integers, the default of each compressor.
Options options_of(NvcompCoder coder) {
    constexpr int k_unsigned_int = 5;
    Options options;
    switch (coder) {
        case NvcompCoder::lz4:  // bytes
        case NvcompCoder::ans:
            break;
        case NvcompCoder::gdeflate:
            options.set(0, 1);  // its default effort
            break;
        case NvcompCoder::bitcomp:
            options.set(4, k_unsigned_int);
            break;
        case NvcompCoder::cascaded:
            options.set(0, k_unsigned_int);
            options.set(4, 1);                               // asymmetric
            options.set(8, std::uint64_t{1});                // packed bits at the end
            options.set(24, std::uint64_t{7});               // delta, runs, frame of reference
            options.set(32, static_cast<unsigned char>(3));  // level
            break;
    }
    return options;
}

using Properties = int (*)(std::uint32_t* version_and_runtime);
using StatusText = const char* (*)(int);
using MostBytes = int (*)(std::size_t chunk_bytes, Options, std::size_t* most);
using ScratchBytes = int (*)(std::size_t chunks, std::size_t chunk_bytes, Options,
                             std::size_t* bytes, std::size_t all_bytes, void* stream);
using Compress = int (*)(const void* const* from, const std::size_t* bytes, std::size_t chunk_bytes,
                         std::size_t chunks, void* scratch, std::size_t scratch_bytes,
                         void* const* to, std::size_t* compressed, Options, int* statuses,
                         void* stream);

struct Functions {
    MostBytes most_bytes = nullptr;
    ScratchBytes scratch_bytes = nullptr;
    Compress compress = nullptr;
};

constexpr std::uint32_t k_major = 6;

class Loaded : public Nvcomp {
  public:
    explicit Loaded(void* library) : library_(library) {}
    ~Loaded() override { dlclose(library_); }

    Status begin() {
        Properties properties = nullptr;
        if (Status s = find("nvcompGetProperties", properties); !s.ok()) return s;
        if (Status s = find("nvcompGetStatusString", text_); !s.ok()) return s;
        std::uint32_t found[2] = {0, 0};
        if (Status s = status_of(properties(found), "nvcompGetProperties"); !s.ok()) return s;
        version_ = found[0];
        if (version_ / 1000 != k_major)
            return {StatusCode::unsupported,
                    fmt::format("nvCOMP {} was found; version {} is known", version(), k_major)};
        for (const NvcompCoder coder : k_nvcomp_coders) {
            const std::string stem = fmt::format("nvcompBatched{}Compress", to_string(coder));
            Functions& of = functions_[static_cast<std::size_t>(coder)];
            if (Status s = find(stem + "GetMaxOutputChunkSize", of.most_bytes); !s.ok()) return s;
            if (Status s = find(stem + "GetTempSize", of.scratch_bytes); !s.ok()) return s;
            if (Status s = find(stem + "Async", of.compress); !s.ok()) return s;
        }
        return {};
    }
    std::string version() const override {
        return fmt::format("{}.{}.{}", version_ / 1000, version_ % 1000 / 100, version_ % 100);
    }
    Result<std::uint64_t> most_bytes(NvcompCoder coder, std::uint64_t chunk_bytes) const override {
        std::size_t most = 0;
        const int code = of(coder).most_bytes(chunk_bytes, options_of(coder), &most);
        if (code != 0) return status_of(code, to_string(coder));
        return std::uint64_t{most};
    }
    Result<std::uint64_t> scratch_bytes(NvcompCoder coder, std::uint64_t chunks,
                                        std::uint64_t chunk_bytes, void* stream) const override {
        std::size_t bytes = 0;
        const int code = of(coder).scratch_bytes(chunks, chunk_bytes, options_of(coder), &bytes,
                                                 chunks * chunk_bytes, stream);
        if (code != 0) return status_of(code, to_string(coder));
        return std::uint64_t{bytes};
    }
    Status compress(NvcompCoder coder, const NvcompBatch& batch, void* stream) const override {
        static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
        return status_of(
            of(coder).compress(batch.from, batch.bytes, batch.chunk_bytes, batch.chunks,
                               batch.scratch, batch.scratch_bytes, batch.to, batch.compressed_bytes,
                               options_of(coder), nullptr, stream),
            to_string(coder));
    }

  private:
    template <class F>
    Status find(const std::string& name, F& function) {
        void* const symbol = dlsym(library_, name.c_str());
        if (symbol == nullptr)
            return {StatusCode::unsupported, fmt::format("nvCOMP has no {}", name)};
        std::memcpy(&function, &symbol, sizeof symbol);
        return {};
    }
    const Functions& of(NvcompCoder coder) const {
        return functions_[static_cast<std::size_t>(coder)];
    }
    Status status_of(int code, std::string_view what) const {
        if (code == 0) return {};
        return {StatusCode::io, fmt::format("nvCOMP, {}: {} ({})", what, text_(code), code)};
    }

    void* library_;
    std::uint32_t version_ = 0;
    StatusText text_ = nullptr;
    std::array<Functions, k_nvcomp_coders.size()> functions_;
};

}  // namespace

std::string_view to_string(NvcompCoder coder) {
    constexpr std::array<std::string_view, 5> k_names = {"LZ4", "Gdeflate", "Bitcomp", "ANS",
                                                         "Cascaded"};
    return k_names[static_cast<std::size_t>(coder)];
}

Result<std::unique_ptr<Nvcomp>> Nvcomp::load(const std::string& library) {
    const char* const named = std::getenv("CAESURA_NVCOMP");
    const std::string path = !library.empty()   ? library
                             : named != nullptr ? std::string(named)
                                                : fmt::format("libnvcomp.so.{}", k_major);
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return Status{StatusCode::unsupported,
                      fmt::format("no nvCOMP: {}; name the library in CAESURA_NVCOMP",
                                  std::string_view(dlerror()))};
    auto loaded = std::make_unique<Loaded>(handle);
    if (Status status = loaded->begin(); !status.ok()) return status.with_context(path);
    return std::unique_ptr<Nvcomp>(std::move(loaded));
}

// ----------------------------------------------------------------------------------- what it takes

namespace {

/// All memory of one measurement: data, room for each chunk, the arrays, scratch.
class Workplace {
  public:
    explicit Workplace(Device& device) : device_(device) {}
    ~Workplace() {
        for (std::byte* memory : taken_) (void)device_.release(memory);
    }
    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;

    Result<std::byte*> take(std::uint64_t bytes) {
        const Result<std::byte*> memory = device_.allocate(bytes);
        if (memory.ok()) taken_.push_back(*memory);
        return memory;
    }
    Result<std::byte*> take_filled(std::span<const std::byte> bytes) {
        const Result<std::byte*> memory = take(bytes.size());
        if (!memory.ok()) return memory;
        const Result<Transfer> transfer = device_.to_device(*memory, bytes);
        if (!transfer.ok()) return transfer.status();
        if (Status status = device_.wait(*transfer); !status.ok()) return status;
        return memory;
    }

  private:
    Device& device_;
    std::vector<std::byte*> taken_;
};

Result<NvcompBatch> lay_out(Workplace& place, const Nvcomp& nvcomp, NvcompCoder coder,
                            std::span<const std::byte> data, void* stream) {
    NvcompBatch batch;
    batch.chunk_bytes = 1 << 16;  // what nvCOMP recommends
    batch.chunks = (data.size() + batch.chunk_bytes - 1) / batch.chunk_bytes;
    const auto most = nvcomp.most_bytes(coder, batch.chunk_bytes);
    if (!most.ok()) return most.status();
    const auto scratch = nvcomp.scratch_bytes(coder, batch.chunks, batch.chunk_bytes, stream);
    if (!scratch.ok()) return scratch.status();
    const std::uint64_t room = (*most + 255) / 256 * 256;
    const auto from = place.take_filled(data), to = place.take(batch.chunks * room);
    const auto work = place.take(*scratch), sizes = place.take(8 * batch.chunks);
    for (const auto* memory : {&from, &to, &work, &sizes})
        if (!memory->ok()) return memory->status();
    std::vector<std::uint64_t> froms, tos, bytes;
    for (std::uint64_t c = 0; c < batch.chunks; ++c) {
        const std::uint64_t begin = c * batch.chunk_bytes;
        froms.push_back(reinterpret_cast<std::uint64_t>(*from + begin));
        tos.push_back(reinterpret_cast<std::uint64_t>(*to + c * room));
        bytes.push_back(std::min<std::uint64_t>(batch.chunk_bytes, data.size() - begin));
    }
    std::array<std::byte*, 3> arrays{};
    const std::array<const std::vector<std::uint64_t>*, 3> filled = {&froms, &tos, &bytes};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const auto array = place.take_filled(std::as_bytes(std::span(*filled[i])));
        if (!array.ok()) return array.status();
        arrays[i] = *array;
    }
    batch.from = reinterpret_cast<const void* const*>(arrays[0]);
    batch.to = reinterpret_cast<void* const*>(arrays[1]);
    batch.bytes = reinterpret_cast<const std::uint64_t*>(arrays[2]);
    batch.compressed_bytes = reinterpret_cast<std::uint64_t*>(*sizes);
    batch.scratch = *work;
    batch.scratch_bytes = *scratch;
    return batch;
}

}  // namespace

Result<NvcompPoint> measure_nvcomp(Device& device, const Nvcomp& nvcomp, NvcompCoder coder,
                                   std::span<const std::byte> data, int repeats, void* stream) {
    if (data.empty() || repeats < 1)
        return Status{StatusCode::invalid_argument,
                      fmt::format("{} bytes, {} times", data.size(), repeats)};
    Workplace place(device);
    const Result<NvcompBatch> batch = lay_out(place, nvcomp, coder, data, stream);
    if (!batch.ok()) return batch.status();
    std::vector<double> seconds;
    for (int i = 0; i <= repeats; ++i) {  // the first may warm up
        const double begin_s = device.now_s();
        if (Status status = nvcomp.compress(coder, *batch, stream); !status.ok()) return status;
        if (i > 0) seconds.push_back(device.now_s() - begin_s);
    }
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    std::vector<std::uint64_t> sizes(batch->chunks);
    const auto transfer = device.to_host(std::as_writable_bytes(std::span(sizes)),
                                         reinterpret_cast<std::byte*>(batch->compressed_bytes));
    if (!transfer.ok()) return transfer.status();
    if (Status status = device.wait(*transfer); !status.ok()) return status;
    return NvcompPoint{
        static_cast<double>(data.size()), seconds[static_cast<std::size_t>(repeats / 2)],
        static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}))};
}

}  // namespace caesura::device
