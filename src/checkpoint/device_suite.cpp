#include "checkpoint/device_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "checkpoint/small_machine.hpp"
#include "checkpoint/word_runner.hpp"
#include "device/parcel.hpp"

namespace caesura::checkpoint {
namespace {

using device::Coder;
using device::Content;
using device::Device;
using device::Transfer;
using Bytes = std::vector<std::byte>;

constexpr unsigned k_seed = 5;

/// Says what is wrong by leaving; the checks read like tests then.
struct Wrong {
    std::string what;
};
void expect(bool right, const std::string& what) {
    if (!right) throw Wrong{what};
}
void expect_ok(const Status& status, std::string_view what) {
    expect(status.ok(), fmt::format("{}: {}", what, status.message()));
}
template <class T>
T value(Result<T> result, std::string_view what) {
    expect_ok(result.status(), what);
    return *std::move(result);
}

/// Memory of the device with bytes of the host in it; given back at the end.
class InDevice {
  public:
    InDevice(Device& device, std::uint64_t bytes)
        : device_(device), memory_(value(device.allocate(bytes), "allocate")) {}
    InDevice(Device& device, std::span<const std::byte> bytes) : InDevice(device, bytes.size()) {
        expect_ok(device.wait(value(device.to_device(memory_, bytes), "to_device")), "wait");
    }
    ~InDevice() { (void)device_.release(memory_); }
    InDevice(const InDevice&) = delete;
    InDevice& operator=(const InDevice&) = delete;
    std::byte* get() const { return memory_; }
    Bytes back(std::uint64_t bytes) const {
        Bytes host(bytes);
        expect_ok(device_.wait(value(device_.to_host(host, memory_), "to_host")), "wait");
        return host;
    }

  private:
    Device& device_;
    std::byte* memory_;
};

Bytes random_bytes(std::mt19937_64& random, std::uint64_t bytes) {
    Bytes made(bytes);
    for (std::byte& byte : made) byte = static_cast<std::byte>(random());
    return made;
}

void transfers_bring_what_was_there(Device& device) {
    std::mt19937_64 random(k_seed);
    for (const std::uint64_t bytes : {1u, 4095u, 70'000u, 4u << 20, (4u << 20) + 1, 21'000'003u}) {
        const Bytes made = random_bytes(random, bytes);
        const InDevice first(device, made), second(device, bytes);
        expect_ok(device.copy(second.get(), first.get(), bytes), "copy");
        expect(second.back(bytes) == made, fmt::format("{} bytes came back as others", bytes));
    }
}

void many_transfers_keep_their_order(Device& device) {
    std::mt19937_64 random(k_seed + 1);
    constexpr std::uint64_t k_bytes = 300'000;
    const Bytes made = random_bytes(random, k_bytes);
    const InDevice memory(device, made);
    std::vector<Bytes> hosts(64, Bytes(k_bytes));
    std::vector<Transfer> transfers;
    for (Bytes& host : hosts)
        transfers.push_back(value(device.to_host(host, memory.get()), "to_host"));
    expect(!device.release(memory.get()).ok() || value(device.is_done(transfers.back()), "is_done"),
           "memory was given back while the link read it");
    expect_ok(device.wait(transfers[40]), "wait");
    for (std::size_t i = 0; i <= 40; ++i) {
        expect(value(device.is_done(transfers[i]), "is_done"), fmt::format("{} is not done", i));
        expect(hosts[i] == made, fmt::format("transfer {} brought other bytes", i));
    }
    expect_ok(device.wait(transfers.back()), "wait");
    expect(hosts.back() == made, "the last transfer brought other bytes");
}

void mistakes_are_errors(Device& device) {
    std::byte* const memory = value(device.allocate(1000), "allocate");
    Bytes host(1000);
    expect(!device.to_host(host, memory + 1).ok(), "a transfer from outside");
    expect(!device.to_device(memory + 1, host).ok(), "a transfer to outside");
    expect(!device.copy(host.data(), host.data(), 1).ok(), "a copy of nothing of the device's");
    expect(!device.wait(1'000'000).ok(), "a transfer that was not given");
    expect_ok(device.release(memory), "release");
    expect(!device.release(memory).ok(), "given back twice");
}

/// A wave with what a coder must not touch among its values.
template <class T>
std::vector<T> wave(std::mt19937_64& random, std::size_t n) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<T>(std::sin(1e-3 * static_cast<double>(i)) +
                                   1e-4 * static_cast<double>(random() % 10));
    for (int i = 0; i < 3; ++i)
        values[random() % n] = i == 0   ? std::numeric_limits<T>::quiet_NaN()
                               : i == 1 ? std::numeric_limits<T>::infinity()
                                        : std::numeric_limits<T>::max();
    return values;
}

template <class T>
void expect_kept(const std::vector<T>& made, const Bytes& back, double bound) {
    std::vector<T> values(made.size());
    std::memcpy(values.data(), back.data(), back.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        const bool same = std::memcmp(&made[i], &values[i], sizeof(T)) == 0;
        const double error =
            std::abs(static_cast<double>(values[i]) - static_cast<double>(made[i]));
        expect(same || (std::isfinite(made[i]) && error <= bound),
               fmt::format("value {} is {} and came back as {}, bound {}", i, made[i], values[i],
                           bound));
    }
}

/// Three pieces into a parcel; each alone, on the device and, of packed frames, on the host. With a
/// bound a coder that keeps none refuses.
template <class T>
void parcel_comes_back(Device& device, std::size_t n, const ErrorBound& bound) {
    const bool packed = device.coder() == Coder::packed;
    std::mt19937_64 random(k_seed + n);
    const Content content{sizeof(T) == 4 ? float32 : float64, Shape{n}, bound};
    const std::uint64_t bytes = n * sizeof(T);
    std::vector<std::vector<T>> made;
    std::vector<std::unique_ptr<InDevice>> held;
    std::vector<std::span<const std::byte>> pieces, at_host;
    for (int i = 0; i < 3; ++i) made.push_back(wave<T>(random, n));
    for (const auto& values : made) {
        at_host.push_back(std::as_bytes(std::span(values)));
        held.push_back(std::make_unique<InDevice>(device, at_host.back()));
        pieces.emplace_back(held.back()->get(), bytes);
    }
    const std::uint64_t room = device.parcel_bytes(3, 3 * bytes);
    const InDevice parcel(device, room);
    const auto compressed = device.compress(pieces, content, {parcel.get(), room});
    if (device::is_nvcomp(device.coder()) && bound.kind != ErrorBound::Kind::lossless)
        return expect(compressed.status().code() == StatusCode::unsupported, "a bound was taken");
    const std::uint64_t size = value(compressed, "compress");
    const std::uint64_t most = device::is_nvcomp(device.coder())
                                   ? room
                                   : device::parcel_bytes_at_most(3, 3 * bytes, device.coder());
    expect(size <= most, "a large parcel");
    const Bytes host = parcel.back(size);
    if (packed) {
        Bytes same(device::parcel_bytes_at_most(3, 3 * bytes, Coder::packed));
        same.resize(value(device::pack(at_host, content, same, Coder::packed), "pack"));
        expect(same == host, fmt::format("{} values: other bytes than the host makes", n));
    }
    const InDevice piece(device, bytes);
    for (std::size_t i = 3; i-- > 0;) {
        expect_ok(device.decompress({parcel.get(), size}, i, {piece.get(), bytes}), "decompress");
        expect_kept(made[i], piece.back(bytes), bound.value);
        if (!packed) continue;
        Bytes unpacked(bytes);
        expect_ok(device::unpack(host, i, unpacked), "unpack");
        expect_kept(made[i], unpacked, bound.value);
    }
    expect(!device.decompress({parcel.get(), size}, 3, {piece.get(), bytes}).ok(),
           "a fourth piece");
    Bytes damaged = host;
    const device::FrameExtent last = value(device::find_frame(host, size, 2), "find_frame");
    damaged[last.offset + last.bytes / 2] ^= std::byte{4};
    const InDevice wrong(device, damaged);
    expect(!device.decompress({wrong.get(), size}, 2, {piece.get(), bytes}).ok(),
           "a damaged parcel was taken for a good one");
}

/// By the host, which reads what a file may hold, or by the device.
void unpack(Device& device, std::span<const std::byte> parcel, std::uint64_t index, Bytes& piece) {
    if (!device::is_nvcomp(device.coder()))
        return expect_ok(device::unpack(parcel, index, piece), "unpack");
    expect(device::unpack(parcel, index, piece).code() == StatusCode::unsupported,
           "the host took nvCOMP's frame for one of ours");
    const InDevice held(device, parcel), made(device, piece.size());
    expect_ok(device.decompress({held.get(), parcel.size()}, index, {made.get(), piece.size()}),
              "decompress");
    piece = made.back(piece.size());
}

/// What compressing four checkpoints takes beside them and their parcel.
std::uint64_t room_for_four(const Device& device, std::uint64_t bytes) {
    return device.parcel_bytes(4, 4 * bytes) - 4 * bytes;
}

void run_once(Device& device, std::mt19937_64& random, std::uint64_t checkpoints,
              std::uint64_t cache_bytes, std::uint64_t bytes, std::string word) {
    plan::CheckpointProfile profile = small_machine(cache_bytes);
    profile.checkpoint_bytes = bytes;
    profile.header_bytes = 0;  // what the device needs
    const Bytes made = synthetic(random, bytes, 8.0);
    std::uint64_t arrived = 0;
    const auto arrival = [&](Arrived&& parcel) -> Status {
        for (std::size_t i = 0; i < parcel.ids.size(); ++i) {
            expect(parcel.ids[i] == arrived++, "checkpoints arrive out of order");
            Bytes data(bytes);
            if (!parcel.compressed)
                data.assign(parcel.bytes.data(), parcel.bytes.data() + parcel.bytes.size());
            else
                unpack(device, parcel.bytes, i, data);
            expect(data == made, "a checkpoint arrived as another");
        }
        return {};
    };
    {
        const InDevice data(device, made);
        auto runner = value(WordRunner::create(device, profile, std::move(word), arrival),
                            "WordRunner::create");
        for (std::uint64_t id = 0; id < checkpoints; ++id)
            expect_ok(runner->checkpoint(id, data.get()), "checkpoint");
        expect_ok(runner->finish(), "finish");
        expect(arrived == checkpoints, fmt::format("{} arrived", arrived));
        expect(runner->pool().peak_bytes() <= cache_bytes, "beyond the cap");
    }
    expect(device.allocations() == 0, fmt::format("{} pieces are left", device.allocations()));
}

void checkpoints_arrive_within_the_cap(Device& device) {
    std::mt19937_64 random(k_seed + 3);
    for (const char* word : {"", "UUUU", "CCCCCC", "AAXUCAAAXU"})
        for (const std::uint64_t bytes : {4'000u, 100'000u, 1'000'000u})
            run_once(device, random, 40, 12 * bytes + 50'000 + room_for_four(device, bytes), bytes,
                     word);
}

void ten_thousand_leave_nothing_behind(Device& device) {
    std::mt19937_64 random(k_seed + 4);
    run_once(device, random, 10'000, 150'000 + room_for_four(device, 4'000), 4'000, "");
}

}  // namespace

std::vector<DeviceCheck> device_suite() {
    const auto guarded = [](std::function<void(Device&)> check) {
        return [check = std::move(check)](Device& device) -> std::string {
            try {
                check(device);
            } catch (const Wrong& wrong) {
                return wrong.what;
            }
            return device.allocations() == 0 ? "" : "memory was left in the device";
        };
    };
    std::vector<DeviceCheck> checks = {
        {"transfers_bring_what_was_there", guarded(transfers_bring_what_was_there)},
        {"many_transfers_keep_their_order", guarded(many_transfers_keep_their_order)},
        {"mistakes_are_errors", guarded(mistakes_are_errors)},
        {"checkpoints_arrive_within_the_cap", guarded(checkpoints_arrive_within_the_cap)},
        {"ten_thousand_leave_nothing_behind", guarded(ten_thousand_leave_nothing_behind)}};
    for (const std::size_t n : {7u, 129u, 8'192u, 8'193u, 500'001u})
        for (const ErrorBound& bound : {lossless(), absolute(1e-3)})
            for (const bool wide : {false, true})
                checks.push_back(
                    {fmt::format("parcel_of_{}_{}_{}", n, wide ? "doubles" : "floats",
                                 bound.kind == ErrorBound::Kind::lossless ? "lossless" : "bounded"),
                     guarded([=](Device& device) {
                         if (wide)
                             parcel_comes_back<double>(device, n, bound);
                         else
                             parcel_comes_back<float>(device, n, bound);
                     })});
    return checks;
}

}  // namespace caesura::checkpoint
