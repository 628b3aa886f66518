// Another service as a device: a block goes there, is compressed, and comes back; or a region,
// which is analysed, and the state comes back.
//
// Invariants:
//  - It is one client of the other service, and has one connection, made when it is first needed
//    and again after it was lost.
//  - A block that has no answer within patience_s is given up, and the connection with it: what
//    comes late is nobody's.
//  - What comes back is looked at before it is believed: it must be a frame of as many values, or
//  it
//    is an error. (That it keeps the bound is the other service's word, as it is the GPU's.)
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "transit/client/channel.hpp"
#include "transit/devices/device.hpp"
#include "transit/port/port.hpp"

namespace caesura::transit {

class RemoteDevice final : public BlockDevice, private ChannelListener {
  public:
    using Connect = std::function<Result<std::unique_ptr<Channel>>()>;
    struct Options {
        std::string name = "remote";
        int at_once = 1;
        double patience_s = 10.0;
    };
    RemoteDevice(Options options, Connect connect);
    /// Over UCX. @param address  as a service prints it, without "service:".
    static std::unique_ptr<RemoteDevice> over_port(const Options& options, std::string address,
                                                   PortOptions port);
    ~RemoteDevice() override;

    std::string label() const override { return options_.name; }
    int at_once() const override { return options_.at_once; }
    bool takes(const run::Job& job, const DatasetCodec& codec) const override;
    Result<EncodedBlock> encode(const DeviceBlock& block, DeviceParts& parts) override;
    /// Analyses that the other service has, in the same version. Before it was asked, with the
    /// first region, all that may go there.
    bool takes(const DeviceFunction& what, std::uint64_t bytes) const override;
    Result<DeviceState> analyse(const DeviceFunction& what, const lambda::RegionView& region,
                                DeviceParts& parts) override;
    double utilisation() const override { return utilisation_.load(); }
    bool is_remote() const override { return true; }

  private:
    struct Reply {
        ServiceMessage message;
        std::vector<std::byte> bytes;
    };
    Status connect();
    Status greet();
    std::uint64_t next_request();
    Status fits(std::uint64_t bytes) const;
    /// The answer to the request that the message has.
    Result<Reply> ask(std::uint64_t request, const ClientMessage& message,
                      std::span<const std::byte> values);
    Status ask_versions();
    /// What was not computed was on the way, there and back by the bytes.
    static DeviceParts split(double took_s, double compute_s, double to_bytes, double from_bytes);
    void give_up();
    void on_message(std::span<const std::byte> message,
                    std::span<const std::byte> payload) override;
    void on_lost(const Status& why, bool is_dead) override;
    void on_dead() override {}  // it is not waited for

    const Options options_;
    const Connect connect_;
    std::atomic<double> utilisation_{0.0};
    std::mutex connecting_;             ///< one thread connects or gives up
    std::shared_ptr<Channel> channel_;  ///< under connecting_
    mutable std::mutex mutex_;          ///< of all that follows
    std::condition_variable changed_;
    std::uint64_t last_request_ = 0;
    std::map<std::uint64_t, std::optional<Reply>> asked_;
    std::optional<Welcome> welcome_;
    std::optional<std::set<std::string>> versions_;  ///< "NAME VERSION" of its analyses
    std::set<std::string> unfit_;                    ///< calls that it cannot answer
    bool lost_ = true;
    Status why_lost_;
};

}  // namespace caesura::transit
