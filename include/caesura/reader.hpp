// Reader: what a file holds, and the values of any box of any field of any dump, decoded by all
// cores into the caller's array.
//
//     auto reader = caesura::Reader::open("run.h5");
//     if (!reader.ok()) return fail(reader.status());
//     const auto rho = (*reader)->find("density", 3);                 // field, iteration
//     std::vector<float> values(64 * 64);
//     auto status = (*reader)->read(*rho, {{5, 0, 0}, {1, 64, 64}}, std::as_writable_bytes(
//                                   std::span(values)));
//
// Files: any HDF5 file, or a series: "run_%06T.h5" is run_000000.h5, run_000100.h5, ... as one list
// of dumps. Files that have no commit yet are left out; an iteration that two files have is an
// error (invalid_argument). Each file takes a descriptor. One without openPMD's iterations has one
// dump, of the file's number. By path a dataset is that of the first file. Names follow openPMD: a
// mesh is "density" or "E/x", a particle record "electrons/position/x" or "electrons/weighting". A
// dataset elsewhere has its path as its name.
//
// Invariants:
//  - What is listed is one committed state of the file, also beside a Writer that goes on, and
//  after
//    one that was killed. refresh() goes on to the last committed state. Committed values never
//    change.
//  - A chunk that a box touches is read once, its stored bytes are compared with their checksum
//    where the file has one (ours has), and it is decoded once, by this thread or a helper of it.
//    Helpers end before the call returns.
//  - Decoded side by side: floats and integers of 8 to 64 bits, bool and compounds of one kind of
//    float, chunked or contiguous, with our filter, deflate, shuffle, fletcher32, or plugins that
//    HDF5 would find. Through HDF5, one call at a time: other enumerations, floats of other
//    widths, and datasets with nbit, scale-offset or szip. openPMD's constant components need no
//    reading.
//  - Memory of a call: for each thread a chunk as stored and one as decoded, and what its decoder
//    takes; through HDF5 the box once more, if its array has strides. read_all(): see there.
//
// Calls: open() and refresh() call HDF5, and so does read() of what is read through HDF5. Readers
// wait for each other there; where the program's HDF5 is not thread-safe, no other thread of its
// own may be inside it then. All others may come from any threads at once; refresh() while no other
// call runs. Nothing is collective but the open() that takes a Communicator, and read_all() and
// refresh() of such a Reader.
#pragma once

#include "caesura/codec.hpp"
#include "caesura/store.hpp"

#pragma GCC visibility push(default)

namespace caesura {

struct ReaderOptions {
    int threads = 0;     ///< that decode side by side, the caller's included; 0: one for each core
    bool verify = true;  ///< compare checksums; without, damage may crash a plugin (SZ3, ZFP)
    /// What a rank sends to others in one round of read_all(); the smallest of all ranks' counts.
    std::uint64_t round_bytes = std::uint64_t{64} << 20;
};

/// What one value is, as read() gives it: this machine's byte order.
struct ValueType {
    enum class Kind : std::uint8_t {
        floating,  ///< IEEE 754, of 2, 4 or 8 bytes
        signed_integer,
        unsigned_integer,
        logical,         ///< bool
        brain_floating,  ///< bfloat16
    };
    Kind kind = Kind::floating;
    std::size_t bytes = 4;                  ///< of a number
    std::vector<std::string> members = {};  ///< of a compound: so many numbers, one after the other

    std::size_t value_bytes() const { return bytes * (members.empty() ? 1 : members.size()); }
    friend bool operator==(const ValueType&, const ValueType&) = default;
};
/// "float32", "uint64", "bool", "bfloat16", "2 float32" (a compound).
std::string to_string(const ValueType& type);

/// One field (component, dataset) in one dump.
struct FieldInfo {
    enum class Kind : std::uint8_t {
        mesh,
        particles,
        other,  ///< not where openPMD, or the file's own layout, has meshes and particles
    };
    Kind kind = Kind::other;
    std::string name;  ///< see above; the same in all dumps
    std::string path;  ///< in the file
    std::uint64_t iteration = 0;
    ValueType type;
    Shape shape;
    Shape chunk;        ///< what is decoded together; the shape, where it has no chunks
    std::string codec;  ///< as its Writer had it, else of its filters; "none", "constant"
    /// What was asked for; none: not known (another's codec, a bound for each component).
    std::optional<ErrorBound> bound;
    std::vector<FilterSpec> pipeline;
    std::uint64_t raw_bytes = 0, stored_bytes = 0;
    std::vector<store::Attribute> attributes;         ///< its own
    std::vector<store::Attribute> record_attributes;  ///< of its record, where that is a group

    // What openPMD says of it.
    double unit_si = 1.0;
    /// In the order of the shape's axes, also where the file's dataOrder is "F"; empty: not said.
    /// So are the next two.
    std::vector<std::string> axis_labels;
    std::vector<double> grid_spacing;
    std::vector<double> grid_offset;
    double grid_unit_si = 1.0;
};

/// An attribute of the field, else of its record; null if neither has it.
const store::Attribute* find_attribute(const FieldInfo& field, std::string_view name);

struct DumpInfo {
    std::uint64_t iteration = 0;
    double time = 0.0, dt = 0.0, time_unit_si = 1.0;
    std::vector<store::Attribute> attributes;  ///< of its group; without one, its times
    std::vector<std::size_t> fields;           ///< their numbers
};

class Reader {
  public:
    /// Errors: io, corrupt (not HDF5, or damaged), no_space (memory), invalid_argument (options).
    static Result<std::unique_ptr<Reader>> open(const std::string& path,
                                                const ReaderOptions& options = {});
    /// Collective: each rank opens the file; what is listed is what all ranks see. Errors: those of
    /// above on all ranks, naming the rank; io (the communicator). In all collective calls no_space
    /// is an error of all ranks too, but where the communicator itself finds no memory.
    static Result<std::unique_ptr<Reader>> open(const std::string& path,
                                                std::unique_ptr<Communicator> communicator,
                                                const ReaderOptions& options = {});
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    const std::string& path() const;
    const std::vector<store::Attribute>& attributes() const;  ///< of the first file
    /// By iteration. A file without iterations has one dump, 0.
    const std::vector<DumpInfo>& dumps() const;
    /// By iteration, then path. Numbers of fields are places in here, until refresh().
    const std::vector<FieldInfo>& fields() const;
    /// Paths of datasets that cannot be read: strings, references, more than four axes, no axis.
    const std::vector<std::string>& unreadable() const;

    /// The number of a field. Errors: invalid_argument (no such name in this dump, or no such dump:
    /// names those that there are; a mesh and a species of the same name: use the path).
    Result<std::size_t> find(const std::string& name, std::uint64_t iteration) const;
    /// By its path in the file. Errors: invalid_argument (no such dataset), unsupported (one of
    /// unreadable()).
    Result<std::size_t> find(const std::string& path) const;

    /// The values of a box.
    ///
    /// @param box           inside the field; an extent may be 0. Particles: one axis.
    /// @param values        the caller's memory. Dense, C order: exactly the bytes of the box.
    /// @param stride_bytes  from one value to the next along each axis, in any order; then the
    /// first
    ///                      value goes to the begin of `values`, the others lie inside of it, and
    ///                      what lies between is left alone.
    /// Errors: invalid_argument (field, box, size, strides that overlap), corrupt (dataset, chunk,
    /// what is wrong), unsupported (a filter that is not there, and which), no_space (memory), io.
    /// Of several errors that of the lowest chunk. After an error `values` holds nothing of use.
    Status read(std::size_t field, const Box& box, std::span<std::byte> values,
                const std::optional<Shape>& stride_bytes = {}) const;

    /// The same on all ranks at once, each with a field and box of its own (which may be empty):
    /// each chunk is decoded by one rank, one that wants it unless it has much to do, or by several
    /// where ranks want more of it than ReaderOptions::round_bytes; the parts go to whom they
    /// concern. What is read through HDF5 each rank reads by itself.
    /// Collective. Of a Reader without a Communicator: read().
    ///
    /// Memory besides that of read(): what a rank sends in a round, at most
    /// ReaderOptions::round_bytes or one part of a chunk; what it receives, at most that from each
    /// rank and never more than the box; a list of the chunks.
    /// Errors: those of read() of any rank, on all, naming the lowest that has one; io.
    Status read_all(std::size_t field, const Box& box, std::span<std::byte> values,
                    const std::optional<Shape>& stride_bytes = {});

    /// Go on to the last committed state. Numbers of fields, and references to what is listed, are
    /// void then; names and paths are not. Collective, if there is a Communicator.
    /// true: there are other dumps or fields than before. Errors: those of open(); then all is as
    /// it was.
    Result<bool> refresh();

    struct __attribute__((visibility("hidden"))) Impl;  ///< the library's

  private:
    explicit Reader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace caesura

#pragma GCC visibility pop
