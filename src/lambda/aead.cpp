// The transform aead: XChaCha20-Poly1305 by libsodium, with the operator's key.
//
// Invariants:
//  - Every region gets a nonce of 24 random bytes: with so many, none comes twice in practice.
//  - Bound as associated data: the region's identity (name, id, type, shape, box, time) and the
//    header of the stages before. So neither regions nor stages can be swapped.
//  - The key's id travels, so that a wrong key is told from broken bytes.
// Limit: ChaCha20 and Poly1305 in software, about 1 GB/s on one core at 2.6 GHz.
#include <sodium.h>

#include "base/invalid.hpp"
#include "lambda/builtin.hpp"

namespace caesura::lambda {
namespace {

using SealedBytes = std::vector<std::byte>;
constexpr std::size_t k_nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t k_tag_bytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t k_id_bytes = std::tuple_size_v<Key::Id>;

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

/// The lengths keep the two apart.
SealedBytes associated(const StageContext& context) {
    const auto region = identity(*context.region);
    ByteSink sink;
    Writer(sink).u64(region.size()).bytes(region).u64(context.header.size()).bytes(context.header);
    return std::move(sink.bytes);
}

class Seal : public Transform {
  public:
    explicit Seal(std::shared_ptr<const Key> key) : key_(std::move(key)) {}
    Result<SealedBytes> apply(std::span<const std::byte> bytes, const StageContext& context,
                              SealedBytes& settings) const override {
        settings.resize(k_nonce_bytes);
        randombytes_buf(settings.data(), k_nonce_bytes);
        const auto with = associated(context);
        SealedBytes out(bytes.size() + k_tag_bytes);
        unsigned long long n = 0;
        crypto_aead_xchacha20poly1305_ietf_encrypt(raw(out.data()), &n, raw(bytes.data()),
                                                   bytes.size(), raw(with.data()), with.size(),
                                                   nullptr, raw(settings.data()), key_->data());
        settings.insert(settings.end(), key_->id().begin(), key_->id().end());
        return out;
    }

  private:
    std::shared_ptr<const Key> key_;
};

Result<SealedBytes> open_sealed(std::span<const std::byte> bytes,
                                std::span<const std::byte> settings, std::uint64_t size,
                                const StageContext& context, const Operator& by) {
    if (settings.size() != k_nonce_bytes + k_id_bytes || bytes.size() < k_tag_bytes ||
        bytes.size() - k_tag_bytes != size)
        return corrupt("encrypted bytes of another length");
    if (!by.key) return base::invalid("encrypted, and there is no key");
    if (!std::equal(by.key->id().begin(), by.key->id().end(), settings.begin() + k_nonce_bytes))
        return base::invalid("encrypted with another key");
    const auto with = associated(context);
    SealedBytes out(size);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(
            raw(out.data()), nullptr, nullptr, raw(bytes.data()), bytes.size(), raw(with.data()),
            with.size(), raw(settings.data()), by.key->data()) != 0)
        return corrupt("changed since it was encrypted, or of another region");
    return out;
}

}  // namespace

void add_aead(std::vector<Function>& to) {
    Function function{"aead", Kind::transform,
                      "Encryption that notices every change (XChaCha20-Poly1305), with the "
                      "operator's key."};
    function.inverse = open_sealed;
    Variant variant{Device::cpu, "plain", "on the host's cores"};
    variant.make_transform = [](const Arguments&,
                                const Operator& by) -> Result<std::unique_ptr<Transform>> {
        if (!by.key) return base::invalid("there is no key; the operator names its file");
        return std::unique_ptr<Transform>(std::make_unique<Seal>(by.key));
    };
    function.variants = {std::move(variant)};
    function.is_keyed = true;
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
