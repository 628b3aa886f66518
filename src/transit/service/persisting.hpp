// Objects that were put, on their way into a new file: their values to blocks, block after block,
// as a client's dump goes (served_dump.hpp), and the commit.
//
// Invariants:
//  - Belongs to the session's lane, and holds the session and itself until it is over, which its
//    caller hears of once.
//  - Memory: as many chunks at once as there are strands, beside what the objects take anyway.
//  - The caller hears of success only after the commit is on the disk. Until then the objects are
//    as they were. After an error nothing is left of the file but its name.
//  - A file that is not empty is not touched.
#pragma once

#include "store/manifest.hpp"
#include "transit/objects/object_store.hpp"
#include "transit/service/errand.hpp"
#include "transit/service/served_dump.hpp"

namespace caesura::transit {

class Persisting final : public DumpListener, public std::enable_shared_from_this<Persisting> {
  public:
    struct Host {
        ErrandHost errands;
        Dispatch& dispatch;
        ObjectStore& store;
        std::mutex& hdf5;  ///< whoever calls HDF5 holds it
        Asker asker;
        std::size_t strands = 1;
    };
    /// How many objects the file has. On the lane, not inside begin().
    using Then = std::function<void(Result<std::uint64_t>)>;
    Persisting(Host host, Then then) : host_(std::move(host)), then_(std::move(then)) {}

    /// Lane. Errors: those of ObjectStore::to_persist() and attributes_of(); invalid_argument
    /// (path, names of objects, codec, a file that has something in it), those of the file. Then
    /// nothing else comes.
    Status begin(const PersistObjects& order);
    /// Lane: nobody wants it any more.
    void drop();

    bool is_alive() const override { return host_.errands.is_alive(); }
    void taken(ServedDump& dump, ServedBlock& block) override;
    void wrote(std::uint64_t bytes, double seconds) override {
        host_.dispatch.wrote(bytes, seconds);
    }
    void result(ServedDump& dump, BlockResult result, base::Buffer stored) override;
    void found(ServedDump&, const FoundInDump&) override {}
    void ended(ServedDump& dump, std::optional<Finished> finished) override;

  private:
    struct Chunk;
    Status plan(const PersistObjects& order);
    Status create_file();
    BeginDump make_order() const;
    void step();
    void give(const std::shared_ptr<Chunk>& chunk);
    void finish_if_done();
    void conclude_if_ended();
    Status commit();
    void take_from_file();
    void end(const Status& status);

    const Host host_;
    const Then then_;
    std::string path_;
    std::vector<ObjectInfo> objects_;  ///< a dataset each
    std::vector<std::uint64_t> first_job_;
    store::DumpManifest manifest_;
    std::vector<DatasetCodec> recipes_;
    std::vector<std::shared_ptr<const BlockCodec>> codecs_;
    std::uint64_t n_jobs_ = 0, next_job_ = 0;
    std::size_t gathering_ = 0;  ///< chunks whose values are being brought together
    std::uint64_t given_ = 0, taken_ = 0, written_ = 0;  ///< blocks
    Status error_;                                       ///< the first
    bool finishing_ = false;  ///< the dump has been told that nothing more comes
    bool ended_ = false;      ///< so it has ended
    std::optional<Finished> finished_;
    std::unique_ptr<store::SharedFile> file_;
    std::unique_ptr<ServedDump> dump_;
    std::shared_ptr<void> session_;
    std::shared_ptr<Persisting> self_;  ///< while it is under way
};

}  // namespace caesura::transit
