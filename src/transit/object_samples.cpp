// Messages about objects for tests.
#include "transit/message_samples.hpp"

namespace caesura::transit {

void add_object_samples(std::vector<ClientMessage>& to) {
    to.emplace_back(
        DescribeDump{19, 3, 0.5, {{"/data/1/meshes/rho", float64, {8, 6}}}, {"stats", "min"}});
    to.emplace_back(CreateObject{20,
                                 "run",
                                 "rho",
                                 float32,
                                 {8, 6},
                                 0.25,
                                 lossless(),
                                 true,
                                 false,
                                 {{"run", "a"}},
                                 {"shuffle | zstd", ChainSide::service}});
    to.emplace_back(PutRegion{21, 5, float32, {{2, 0}, {3, 6}}, 99, true});
    to.emplace_back(GetRegion{22, 5, {{1, 2}, {3, 4}}, true});
    to.emplace_back(DeleteObject{23, 5});
    to.emplace_back(FindObjects{
        24, "run", "r*", {{"run", "a"}}, Range{0.5, 1.0}, Range{-1.0, 1.0}, true, 100, 4});
    to.emplace_back(RunFunction{25, 5, Box{{1}, {3}}, "stats"});
    to.emplace_back(ListFunctions{26});
    to.emplace_back(RunPass{27, 5, {{{1}, {3}}, {{4}, {2}}}, {std::byte{7}, std::byte{8}}});
    to.emplace_back(
        PersistObjects{28, "/data/run.h5", "", {5, 6}, {"caesura:fast", {7}, true}, absolute(0.5)});
    to.emplace_back(AnalyseRegion{29,
                                  "stats",
                                  "built in 1",
                                  "rho",
                                  5,
                                  float64,
                                  {8, 6},
                                  {{1, 2}, {3, 4}},
                                  0.5,
                                  "bob",
                                  {{"run", "a"}},
                                  {std::byte{7}, std::byte{8}},
                                  96});
    to.emplace_back(ListVersions{30});
}

void add_object_samples(std::vector<ServiceMessage>& to) {
    ObjectInfo object{5,
                      Origin::dumped,
                      "run.h5",
                      "rho",
                      float64,
                      {8},
                      0.5,
                      lossless(),
                      {"zstd | aead", ChainSide::client},
                      "bob",
                      {{"run", "a"}},
                      4,
                      1,
                      20,
                      Range{-1.0, 2.0},
                      {{"min", {std::byte{7}}}},
                      {{{{4}, {4}}, RegionPlace::file, Range{-1.0, 2.0}, 20}}};
    to.emplace_back(FoundObjects{24, {}, 3, 2, true, {object}});
    to.emplace_back(FoundInDump{3, 1, 48, {std::byte{1}, std::byte{2}}});
    to.emplace_back(AnalysedRegion{29, {}, 0.5, 0.75, "gpu", 111});
}

namespace {

template <class Random>
Shape random_extents(Random& random) {
    Shape shape = Shape::filled(1 + static_cast<int>(random.below(k_max_rank)), 1);
    for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = 1 + random.below(100);
    return shape;
}

template <class Random>
Box random_box(Random& random) {
    Box box;
    box.extent = random_extents(random);
    box.offset = Shape::filled(box.extent.rank(), random.below(1u << 20));
    return box;
}

template <class Random>
Range random_range(Random& random) {
    const double low = static_cast<double>(random.below(1000)) - 500.25;
    return {low, low + 0.5 + static_cast<double>(random.below(1000))};
}

}  // namespace

std::vector<Tag> RandomMessages::tags() {
    std::vector<Tag> all;
    for (std::uint64_t n = below(4); n > 0; --n) all.emplace_back("t" + line(20), line(20));
    return all;
}

ObjectInfo RandomMessages::object() {
    ObjectInfo object;
    object.id = any();
    object.origin = static_cast<Origin>(below(3));
    object.container = line(100);
    object.name = "n" + line(100);
    object.dtype = coin() ? float32 : float64;
    object.shape = random_extents(*this);
    object.time = seconds();
    object.bound = bound(false);
    if (coin()) {
        object.bound = lossless();
        object.chain = {"c" + line(100), coin() ? ChainSide::client : ChainSide::service};
    }
    object.owner = line(20);
    object.tags = tags();
    object.values = any();
    object.regions_known = any();
    object.stored_bytes = any();
    if (coin()) object.range = random_range(*this);
    if (coin()) object.results.push_back({"stats", counted_statistics()});
    for (std::uint64_t n = below(4); n > 0; --n) {
        RegionInfo region;
        region.box = {Shape::filled(object.shape.rank(), below(9)), object.shape};
        region.place = static_cast<RegionPlace>(below(6));
        if (coin()) region.range = random_range(*this);
        region.stored_bytes = any();
        object.regions.push_back(region);
    }
    return object;
}

PersistObjects RandomMessages::persist_objects() {
    PersistObjects persist{any(), "/" + line(100), "", {}, {"c" + line(20), {}, {}}, {}};
    for (std::uint64_t n = below(4); n > 0; --n) persist.objects.push_back(any());
    if (persist.objects.empty()) persist.container = line(100);
    if (coin()) persist.codec.cd_values.push_back(any32());
    if (coin()) persist.codec.verify = coin();
    if (coin()) persist.bound = bound(false);
    return persist;
}

AnalyseRegion RandomMessages::analyse_region() {
    AnalyseRegion analyse;
    analyse.request = any();
    analyse.function = "f" + line(20);
    analyse.version = line(20);
    analyse.object = line(100);
    analyse.id = any();
    analyse.dtype = coin() ? float32 : float64;
    analyse.box.extent = random_extents(*this);
    analyse.box.offset = Shape::filled(analyse.box.extent.rank(), below(100));
    analyse.shape = analyse.box.extent;
    for (int axis = 0; axis < analyse.shape.rank(); ++axis)
        analyse.shape[axis] += analyse.box.offset[axis] + below(100);
    analyse.time = seconds();
    analyse.owner = line(20);
    analyse.tags = tags();
    analyse.state = counted_statistics();
    analyse.payload_bytes = analyse.box.extent.count() * size_of(analyse.dtype);
    return analyse;
}

ClientMessage RandomMessages::object_message(std::size_t kind) {
    switch (kind) {
        case 0: {
            DescribeDump dump{any(), any(), seconds(), {}, {}};
            for (std::uint64_t n = below(4); n > 0; --n)
                dump.objects.push_back(
                    {"/" + line(100), coin() ? float32 : float64, random_extents(*this)});
            for (std::uint64_t n = below(3); n > 0; --n) dump.calls.push_back("c" + line(20));
            return dump;
        }
        case 1: {
            const bool keep = coin();
            CreateObject create{any(),
                                line(100),
                                "n" + line(100),
                                coin() ? float32 : float64,
                                random_extents(*this),
                                seconds(),
                                bound(false),
                                keep,
                                !keep && coin(),
                                tags(),
                                {}};
            if (!create.guest && coin()) {
                create.bound = lossless();
                create.chain = {"c" + line(100), coin() ? ChainSide::client : ChainSide::service};
            }
            return create;
        }
        case 2: {
            PutRegion put{any(), any(), coin() ? float32 : float64, random_box(*this), 0, coin()};
            put.payload_bytes = put.box.extent.count() * size_of(put.dtype);
            if (put.chained) put.payload_bytes = 1 + below(chained_limit_bytes(put.payload_bytes));
            return put;
        }
        case 3:
            return GetRegion{any(), any(), random_box(*this), coin()};
        case 4:
            return DeleteObject{any(), any()};
        case 5: {
            FindObjects find{
                any(), line(100), line(100), tags(),
                {},    {},        coin(),    static_cast<std::uint32_t>(1 + below(k_found_limit)),
                any()};
            if (coin()) find.times = random_range(*this);
            if (coin()) find.values = random_range(*this);
            return find;
        }
        case 6: {
            RunFunction run{any(), any(), {}, "c" + line(100)};
            if (coin()) run.box = random_box(*this);
            return run;
        }
        case 8: {
            RunPass pass{any(), any(), {random_box(*this)}, counted_statistics()};
            while (coin()) pass.boxes.push_back(random_box(*this));
            return pass;
        }
        case 9:
            return persist_objects();
        case 10:
            return analyse_region();
        case 11:
            return ListVersions{any()};
        default:
            return ListFunctions{any()};
    }
}

ServiceMessage RandomMessages::object_answer(std::size_t kind) {
    if (kind == 1)
        return FoundInDump{any(), static_cast<std::uint32_t>(below(k_datasets_limit)), any(),
                           counted_statistics()};
    if (kind == 2) {
        AnalysedRegion analysed{any(), status(), seconds(), 0.5, line(20), 0};
        if (analysed.status.ok()) analysed.payload_bytes = 1 + below(k_state_limit_bytes);
        return analysed;
    }
    FoundObjects found{any(), status(), any(), any(), coin(), {}};
    if (found.status.ok())
        for (std::uint64_t n = below(4); n > 0; --n) found.objects.push_back(object());
    return found;
}

}  // namespace caesura::transit
