#include "transit/service/persisting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/invalid.hpp"
#include "read/chunk_layout.hpp"
#include "store/committer.hpp"
#include "transit/objects/file_attributes.hpp"
#include "transit/service/region_walk.hpp"
#include "writer/layout.hpp"
#include "writer/openpmd.hpp"

namespace caesura::transit {
namespace {

constexpr std::uint64_t k_chunk_bytes = std::uint64_t{8} << 20;  // as WriterOptions::chunk_bytes
constexpr double k_usual_bytes_per_s = 200e6;                    // costs of blocks are seconds

std::string kind_name(ErrorBound::Kind kind) {
    if (kind == ErrorBound::Kind::absolute) return "absolute";
    return kind == ErrorBound::Kind::pointwise_relative ? "pointwise_relative" : "lossless";
}

/// The shape of all regions, if they are the cells of a grid, of a size that serves as a chunk's.
std::optional<Shape> cell_of(const ObjectInfo& object) {
    constexpr std::uint64_t k_least_bytes = std::uint64_t{256} << 10,
                            k_most_bytes = 4 * k_chunk_bytes;
    Shape cell = object.regions.front().box.extent;
    for (const RegionInfo& region : object.regions)
        for (int axis = 0; axis < cell.rank(); ++axis)
            cell[axis] = std::max(cell[axis], region.box.extent[axis]);
    const std::uint64_t bytes = cell.count() * size_of(object.dtype);
    if (bytes < k_least_bytes || bytes > k_most_bytes) return std::nullopt;
    for (const RegionInfo& region : object.regions)
        for (int axis = 0; axis < cell.rank(); ++axis) {
            const std::uint64_t at = region.box.offset[axis];
            const std::uint64_t wanted = std::min(cell[axis], object.shape[axis] - at);
            if (at % cell[axis] != 0 || region.box.extent[axis] != wanted) return std::nullopt;
        }
    return cell;
}

Shape chunk_of(const ObjectInfo& object) {
    if (const auto cell = cell_of(object)) return *cell;
    std::vector<writer::RankBox> boxes;
    for (std::uint32_t i = 0; i < object.regions.size(); ++i)
        boxes.push_back({0, i, object.regions[i].box});
    return writer::choose_chunk(object.shape, boxes, size_of(object.dtype), k_chunk_bytes);
}

/// Is nothing lost when this file is made anew? One that a killed Writer has left counts as well:
/// `caesura recover` may finish it. Errors: io (somebody has it open), invalid_argument, naming it.
Status may_replace(base::FileSystem& files, const std::string& path) {
    const auto file = files.open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return {};  // creating it says what is wrong, if anything is
    if (Status status = (*file)->lock(true); !status.ok()) return status;
    const auto bytes = (*file)->size();
    if (!bytes.ok() || *bytes == 0) return bytes.status();
    return base::invalid(fmt::format("{} is there and is not empty; name a new file", path));
}

}  // namespace

// A chunk of an object, while its values are brought together.
struct Persisting::Chunk {
    std::uint64_t job = 0;
    std::uint32_t dataset = 0;
    std::uint64_t number = 0;
    Box whole, inside;
    std::shared_ptr<const Reading> reading;
    base::Buffer values;
    base::Buffer frame;  ///< instead: as it is to be stored
    bool exactly = false;

    Status gather(std::size_t bytes, bool takes_frames);
};

// On a worker. A region that lies in the sink as what the chunk is to be goes as it is: that takes
// a tenth of the room that its values would take exactly, and no bound.
Status Persisting::Chunk::gather(std::size_t bytes, bool takes_frames) {
    const Reading::Part& first = reading->parts.front();
    const Spool::Stretch* const there = first.values->frame();
    const bool as_it_is = takes_frames && there != nullptr && first.is_whole && first.box == inside;
    auto made = ObjectStore::pool().take(as_it_is ? there->bytes() : bytes);
    if (!made.ok()) return made.status();
    if (as_it_is) {
        frame = std::move(*made);
        return there->read(frame.bytes());
    }
    for (const Reading::Part& part : reading->parts)
        if (Status status = part.values->read(part.box, inside, made->data()); !status.ok())
            return status;
    values = std::move(*made);
    return {};
}

// ------------------------------------------------------------------------------- the begin

Status Persisting::begin(const PersistObjects& order) {
    path_ = order.path;
    if (Status status = plan(order); !status.ok()) return status;
    if (Status status = create_file(); !status.ok()) return status.with_context("persist");
    dump_ = std::make_unique<ServedDump>(make_order(), codecs_, *file_, *this);
    session_ = host_.errands.owner();
    self_ = shared_from_this();
    for (std::size_t strand = 0; strand < std::max<std::size_t>(1, host_.strands); ++strand) step();
    return {};
}

Status Persisting::plan(const PersistObjects& order) {
    if (Status status = validate_codec(order.codec); !status.ok()) return status;
    auto objects = host_.store.to_persist(host_.asker, order);
    if (!objects.ok()) return objects.status();
    objects_ = std::move(*objects);
    const writer::DumpMetadata said{{objects_.front().time, 1.0, 1.0}};
    writer::add_groups(manifest_, said);
    for (const ObjectInfo& object : objects_) {
        if (Status status = writer::check_field_name(object.name); !status.ok()) return status;
        for (const store::DatasetSpec& other : manifest_.datasets)
            if (other.path == fmt::format("/data/0/meshes/{}", object.name))
                return base::invalid(fmt::format("two objects have the name {}", object.name));
        auto attributes = attributes_of(object);
        if (!attributes.ok()) return attributes.status();
        const ErrorBound bound = order.bound.value_or(object.bound);
        recipes_.push_back({order.codec, object.dtype, chunk_of(object), bound, {}, false});
        std::unique_lock<std::mutex> hdf5(host_.hdf5, std::defer_lock);
        if (!caesura_mode(order.codec) && order.codec.name != "none") hdf5.lock();
        auto codec = make_block_codec(order.codec, object.dtype, recipes_.back().chunk, bound);
        if (!codec.ok()) return codec.status().with_context("object " + object.name);
        attributes->insert(attributes->end(), {{"caesura_codec", order.codec.name},
                                               {"caesura_bound", object.bound.value},
                                               {"caesura_bound_kind", kind_name(object.bound.kind)},
                                               {"caesura_bound_requested", bound.value}});
        writer::add_field(manifest_, object.name, object.dtype, object.shape, recipes_.back().chunk,
                          (*codec)->pipeline(), said, std::move(*attributes));
        codecs_.push_back(std::move(*codec));
        first_job_.push_back(n_jobs_);
        n_jobs_ += read::ChunkLayout::of(object.shape, recipes_.back().chunk).grid.count();
    }
    if (n_jobs_ <= k_blocks_limit) return {};
    return base::invalid(fmt::format("{} chunks at once; at most {}", n_jobs_, k_blocks_limit));
}

// Another one that is to be made by this service waits for the lock: so the file is still what it
// was when it is emptied.
Status Persisting::create_file() {
    const std::lock_guard hdf5(host_.hdf5);
    if (Status status = may_replace(*host_.asker.files, path_); !status.ok()) return status;
    auto made = store::SharedFile::create(*host_.asker.files, path_, store::make_run_id());
    if (!made.ok()) return made.status();
    file_ = std::make_unique<store::SharedFile>(std::move(*made));
    return {};
}

// One region, with room for every block as it is: of what is not needed nothing is ever written.
BeginDump Persisting::make_order() const {
    BeginDump order;
    order.n_jobs = static_cast<std::uint32_t>(n_jobs_);
    order.manifest = store::encode_manifest(manifest_);
    order.codecs = recipes_;
    std::uint64_t bytes = store::region_overhead_bytes(n_jobs_, order.manifest.size());
    for (std::size_t i = 0; i < objects_.size(); ++i) {
        const DatasetCodec& recipe = recipes_[i];
        const std::uint64_t chunks =
            read::ChunkLayout::of(objects_[i].shape, recipe.chunk).grid.count();
        // A codec of others may need more than the values before it is given up.
        bytes += chunks * (2 * recipe.chunk.count() * size_of(recipe.dtype) + 4096);
    }
    order.places = {{0, 0, store::first_region_address(), store::align_up(bytes), 0}};
    return order;
}

// -------------------------------------------------------------------------------- the blocks

// The next chunk, from wherever its values lie now.
void Persisting::step() {
    if (!error_.ok() || next_job_ >= n_jobs_) return finish_if_done();
    const auto chunk = std::make_shared<Chunk>();
    chunk->job = next_job_++;
    const auto object = std::upper_bound(first_job_.begin(), first_job_.end(), chunk->job) - 1;
    chunk->dataset = static_cast<std::uint32_t>(object - first_job_.begin());
    chunk->number = chunk->job - *object;
    const ObjectInfo& info = objects_[chunk->dataset];
    const auto layout = read::ChunkLayout::of(info.shape, recipes_[chunk->dataset].chunk);
    chunk->whole = layout.whole(chunk->number);
    chunk->inside = layout.inside(chunk->number);
    auto reading = host_.store.read(host_.asker, info.id, chunk->inside);
    if (!reading.ok()) {
        error_ = reading.status();
        return finish_if_done();
    }
    for (const Reading::Part& part : reading->parts) chunk->exactly |= part.is_rounded;
    chunk->reading = std::make_shared<const Reading>(std::move(*reading));
    ++gathering_;
    const auto bytes = chunk->inside.extent.count() * size_of(info.dtype);
    const bool takes_frames = caesura_mode(recipes_[chunk->dataset].spec).has_value();
    send_errand(
        host_.errands, static_cast<double>(bytes) / k_usual_bytes_per_s,
        [chunk, bytes, takes_frames] { return chunk->gather(bytes, takes_frames); },
        [self = self_, chunk](const Status& status) {
            chunk->reading.reset();
            --self->gathering_;
            if (self->error_.ok()) self->error_ = status;
            if (self->error_.ok()) return self->give(chunk);
            self->ended_ ? self->conclude_if_ended() : self->finish_if_done();
        });
}

void Persisting::give(const std::shared_ptr<Chunk>& chunk) {
    const DatasetCodec& recipe = recipes_[chunk->dataset];
    ServedBlock& block = *dump_->add(static_cast<std::uint32_t>(chunk->job), host_.errands.lane,
                                     ObjectStore::pool());
    block.recipe = &dump_->order().codecs[chunk->dataset];
    run::Job& job = block.job;
    job.label = fmt::format("{} #{}", objects_[chunk->dataset].name, chunk->number);
    job.dataset = chunk->dataset;
    job.chunk = chunk->number;
    ++given_;
    if (chunk->frame.size() > 0) {
        job.stored = std::move(chunk->frame);
        block.compressed_before = true;
        block.encoded = run::Encoded{};
        return block.take_up();
    }
    job.dtype = recipe.dtype;
    job.chunk_box = chunk->whole;
    job.valid = chunk->inside.extent;
    job.codec = dump_->codec(chunk->dataset);
    job.exactly = chunk->exactly;
    job.absolute_bound = recipe.bound.kind == ErrorBound::Kind::absolute ? recipe.bound.value : 0.0;
    block.payload = std::move(chunk->values);
    job.pieces = {{chunk->inside, chunk->inside, block.payload.data(), nullptr}};
    const double cost = static_cast<double>(job.valid_bytes()) / k_usual_bytes_per_s;
    host_.dispatch.give(host_.errands.client, host_.errands.weight(), cost, block);
}

// Of a block that could not be compressed or written there is no result, and the dump has the
// error: then no more are begun.
void Persisting::taken(ServedDump&, ServedBlock& block) {
    host_.dispatch.learn(block);
    if (taken_ != written_ && error_.ok())
        error_ = Status(StatusCode::cancelled, "a block before has failed");
    ++taken_;
    step();
}

void Persisting::result(ServedDump&, BlockResult result, base::Buffer) {
    if (result.state == BlockState::written) ++written_;
}

void Persisting::finish_if_done() {
    if (finishing_ || gathering_ > 0 || given_ != taken_) return;
    finishing_ = true;
    dump_->finish(0);
}

void Persisting::drop() {
    if (error_.ok()) error_ = Status(StatusCode::cancelled, "the client is gone");
    if (!std::exchange(finishing_, true)) dump_->drop();
}

void Persisting::ended(ServedDump&, std::optional<Finished> finished) {
    ended_ = true;
    finished_ = std::move(finished);
    conclude_if_ended();
}

// Not before the caller, a call of the dump itself, is over; nor while a worker has a chunk.
void Persisting::conclude_if_ended() {
    if (!ended_ || gathering_ > 0) return;
    host_.errands.lane.give([self = self_] {
        Status status;
        try {
            status = self->commit();
        } catch (const std::bad_alloc&) {
            status = {StatusCode::no_space, "the service is out of memory"};
        }
        self->end(status);
    });
}

// ------------------------------------------------------------------------------- the commit

Status Persisting::commit() {
    if (!finished_) return {StatusCode::cancelled, "the client is gone"};
    const Finished& finished = *finished_;
    if (!finished.status.ok()) return finished.status.with_context(path_);
    if (!error_.ok()) return error_.with_context(path_);
    if (finished.records.size() != n_jobs_)
        return {StatusCode::internal, fmt::format("{}: {} of {} blocks have a place", path_,
                                                  finished.records.size(), n_jobs_)};
    std::optional<store::CommitImage> image;
    {
        const std::lock_guard hdf5(host_.hdf5);
        store::Committer committer(*file_);
        auto built = committer.build({&manifest_, 1}, finished.records,
                                     store::align_up(finished.used_end), true);
        if (!built.ok()) return built.status().with_context(path_);
        image = std::move(*built);
    }
    return image->flush(*file_).with_context(path_);
}

void Persisting::take_from_file() {
    const std::lock_guard hdf5(host_.hdf5);
    auto opened = read::Source::open(*host_.asker.files, path_);
    if (!opened.ok()) return;  // the objects stay where they are
    const std::shared_ptr<const read::Source> source = std::move(*opened);
    for (std::size_t i = 0; i < objects_.size(); ++i)
        if (const auto dataset = source->find(manifest_.datasets[i].path); dataset.ok())
            host_.store.enter_file(objects_[i].id, source, *dataset, objects_[i].bound);
}

void Persisting::end(const Status& status) {
    // What was written of it takes room that others may need.
    if (!status.ok()) (void)file_->file().truncate(0);
    dump_.reset();
    file_.reset();
    if (status.ok()) take_from_file();
    then_(status.ok() ? Result<std::uint64_t>(objects_.size()) : Result<std::uint64_t>(status));
    session_.reset();
    self_.reset();
}

}  // namespace caesura::transit
