// A Writer's Transport: the client of a service and, when that is lost, of the one that is there
// next at the same address.
//
// | the service is lost  | OnLoss::fail               | OnLoss::write_here                     |
// |----------------------|----------------------------|----------------------------------------|
// | files that were open | every call is an error     | are this process's; a later dump of    |
// |                      |                            | theirs goes to the next service        |
// | a file that is made  | by the next service, or an | by the next service, or here           |
// |                      | error                      |                                        |
// | it is looked for     | when a file is made        | when a file is made and before dumps,  |
// |                      |                            | as often as Absence says               |
//
// Invariants:
//  - The service changes in mend() alone. What was handed over before stays with its own client.
//  - Which rank has a service is no concern of the others: all have agreed before on where blocks
//    come to lie and which dumps there are.
//  - A dump never waits for a service that is looked for: it is used once it has answered.
//  - The application's thread only, but for what Client allows.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>

#include "base/clock.hpp"
#include "transit/client/absence.hpp"
#include "transit/client/client.hpp"

namespace caesura::transit {

class ServiceTransport final : public writer::Transport {
  public:
    /// The way to the service that is there now. Local, and does not wait.
    using Connect = std::function<Result<std::unique_ptr<Channel>>()>;
    /// Waits for the welcome; not for that of a service of which is known that it is away.
    /// Errors: those of `connect` and Client::make(), where this process may not write by itself or
    /// the service was never there.
    static Result<std::shared_ptr<ServiceTransport>> make(
        Connect connect, const ClientOptions& options, std::shared_ptr<Absence> absence,
        const base::Clock& clock = base::Clock::steady());
    ~ServiceTransport() override;

    base::FileSystem& files(base::FileLocking asked) override {
        return files_[static_cast<std::size_t>(asked)];
    }
    base::PageSource* pages() override { return memory_->arena.get(); }
    Result<std::unique_ptr<writer::DumpSink>> sink(writer::SinkOrder order, run::DumpTask& task,
                                                   writer::Lanes lanes) override;
    std::string conclude(std::span<const writer::Finding> findings,
                         std::uint64_t values) const override {
        return now_->conclude(findings, values);
    }
    bool is_lost() const override { return now_->is_lost(); }
    Status loss() const override { return now_->loss(); }
    Status refusal(const std::string& path) const override { return now_->refusal(path); }
    void mend(double at_most_s) override;
    std::uint64_t returns() const override { return returns_; }

  private:
    /// Files of the client that is there when they are opened.
    class Files final : public base::FileSystem {
      public:
        Files(ServiceTransport& transport, base::FileLocking asked)
            : transport_(transport), asked_(asked) {}
        Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
            return transport_.now_->files(asked_).open(path, mode);
        }
        Status sync_directory_of(const std::string& path) override {
            return transport_.now_->files(asked_).sync_directory_of(path);
        }

      private:
        ServiceTransport& transport_;
        base::FileLocking asked_;
    };

    ServiceTransport(Connect connect, const ClientOptions& options,
                     std::shared_ptr<Absence> absence, const base::Clock& clock);
    void note_loss();
    Status look();
    void stop_looking(const Status& why);

    const Connect connect_;
    const ClientOptions options_;
    const pid_t owner_;
    const std::shared_ptr<Absence> absence_;
    const base::Clock& clock_;  ///< of the looking
    const std::shared_ptr<ClientMemory> memory_ = std::make_shared<ClientMemory>();
    std::array<Files, std::size(base::k_file_lockings)> files_{
        Files{*this, base::FileLocking::off}, Files{*this, base::FileLocking::on},
        Files{*this, base::FileLocking::best_effort}, Files{*this, base::FileLocking::yielding}};
    std::shared_ptr<Client> now_;   ///< never null once it is made
    std::shared_ptr<Client> next_;  ///< has said hello, and has no answer yet
    double next_since_s_ = 0.0;
    bool is_noted_ = false;  ///< Absence knows that `now_` is lost
    Status not_found_;       ///< why there was none at the last look
    std::uint64_t returns_ = 0;
};

}  // namespace caesura::transit
