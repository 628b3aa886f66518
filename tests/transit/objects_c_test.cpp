// The C face of objects with a service as a process of its own: a program in C, and every error:
// its code, its sentence, and that nothing is left of it. Linked as an application is.
#include <cstring>
#include <thread>
#include <vector>

#include "caesura/service.h"
#include "stock_reader.hpp"
#include "transit/serve_process.hpp"

extern "C" int objects_example(const char* service, const char* path);

namespace caesura {
namespace {

class ObjectsC : public testing::Serve {
  protected:
    void SetUp() override {
        Serve::SetUp();
        start("unix:" + place_ + "/socket", "objects_bytes = 65536\n");
    }
    void TearDown() override {
        caesura_objects_disconnect(objects_);
        Serve::TearDown();
    }
    void connect() {
        ASSERT_EQ(caesura_objects_connect(address_.c_str(), nullptr, &objects_), CAESURA_OK)
            << caesura_last_error();
    }
    std::uint64_t create(const char* name = "rho") {
        std::uint64_t id = 0;
        EXPECT_EQ(
            caesura_object_create(objects_, "run", name, CAESURA_FLOAT64, 1, &k_n, nullptr, &id),
            CAESURA_OK)
            << caesura_last_error();
        return id;
    }
    caesura_code put_all(std::uint64_t id) {
        return caesura_object_put(objects_, id, 1, &k_zero, &k_n, values_.data(), CAESURA_FLOAT64,
                                  nullptr);
    }
    /// The code, and a sentence with this word.
    static void expect(caesura_code code, caesura_code wanted, const char* word) {
        EXPECT_EQ(code, wanted) << caesura_last_error();
        EXPECT_NE(std::strstr(caesura_last_error(), word), nullptr) << caesura_last_error();
    }

    static constexpr std::uint64_t k_n = 1000, k_zero = 0;
    const std::vector<double> values_ = std::vector<double>(k_n, 2.5);
    caesura_objects* objects_ = nullptr;
};

// Goal: a program in C puts, finds, analyses, gets and keeps; the file is one that stock HDF5
// reads.
TEST_F(ObjectsC, serve_a_program_in_c) {
    ASSERT_EQ(objects_example(address_.c_str(), path().c_str()), 0) << caesura_last_error();
    const auto read = testing::read_dataset(path(), "/data/0/meshes/rho");
    ASSERT_EQ(read.values.size(), 1024u);
    for (std::size_t i = 0; i < read.values.size(); ++i)
        ASSERT_EQ(static_cast<std::size_t>(read.values[i]), i);
}

TEST_F(ObjectsC, say_why_they_cannot_connect) {
    caesura_objects* none = nullptr;
    expect(caesura_objects_connect("unix:/somewhere", nullptr, &none), CAESURA_INVALID_ARGUMENT,
           "service:ADDRESS");
    expect(caesura_objects_connect("service:unix:/nowhere/at/all.sock", nullptr, &none), CAESURA_IO,
           "/nowhere/at/all.sock");
    EXPECT_EQ(none, nullptr);
    expect(caesura_objects_connect(nullptr, nullptr, &none), CAESURA_INVALID_ARGUMENT, "NULL");
    expect(caesura_objects_connect(address_.c_str(), nullptr, nullptr), CAESURA_INVALID_ARGUMENT,
           "NULL");
    caesura_objects_disconnect(nullptr);
}

// Goal: what a program gives wrongly is said, and gives nothing back.
TEST_F(ObjectsC, refuse_arguments_that_are_none) {
    connect();
    constexpr caesura_code k_bad = CAESURA_INVALID_ARGUMENT;
    std::uint64_t id = 7;
    const auto make = [&](const char* name, int dtype, int rank, const std::uint64_t* shape,
                          const caesura_object_options* options = nullptr) {
        id = 7;
        const caesura_code code =
            caesura_object_create(objects_, nullptr, name, dtype, rank, shape, options, &id);
        EXPECT_TRUE(code == CAESURA_OK || id == 0);
        return code;
    };
    expect(make(nullptr, CAESURA_FLOAT32, 1, &k_n), k_bad, "name is NULL");
    expect(make("", CAESURA_FLOAT32, 1, &k_n), k_bad, "name is empty");
    expect(make("a", 99, 1, &k_n), k_bad, "dtype is 99");
    expect(make("a", CAESURA_FLOAT32, 0, &k_n), k_bad, "rank is 0");
    expect(make("a", CAESURA_FLOAT32, 5, &k_n), k_bad, "rank is 5");
    expect(make("a", CAESURA_FLOAT32, 1, nullptr), k_bad, "NULL");
    expect(make("a", CAESURA_FLOAT32, 1, &k_zero), k_bad, "shape");
    caesura_object_options options = CAESURA_OBJECT_OPTIONS_DEFAULT;
    options.bound_kind = CAESURA_RELATIVE;
    expect(make("a", CAESURA_FLOAT32, 1, &k_n, &options), k_bad, "bound_kind is 2");
    options.bound_kind = CAESURA_ABSOLUTE;
    options.bound = -1.0;
    expect(make("a", CAESURA_FLOAT32, 1, &k_n, &options), k_bad, "-1");
    options = CAESURA_OBJECT_OPTIONS_DEFAULT;
    options.tag_count = 1;
    expect(make("a", CAESURA_FLOAT32, 1, &k_n, &options), k_bad, "tags is NULL");
    const caesura_tag tag = {"name", nullptr};
    options.tags = &tag;
    expect(make("a", CAESURA_FLOAT32, 1, &k_n, &options), k_bad, "tag 0");
    expect(caesura_object_create(objects_, "c", "a", CAESURA_FLOAT32, 1, &k_n, nullptr, nullptr),
           k_bad, "id is NULL");
    expect(caesura_object_create(nullptr, "c", "a", CAESURA_FLOAT32, 1, &k_n, nullptr, &id), k_bad,
           "objects or name");
    const std::uint64_t rho = create();
    expect(caesura_object_create(objects_, "run", "rho", CAESURA_FLOAT32, 1, &k_n, nullptr, &id),
           k_bad, "is there");
    expect(caesura_object_delete(objects_, rho + 9), k_bad, "no object");
    expect(caesura_object_delete(nullptr, rho), k_bad, "NULL");
    char* text = nullptr;
    expect(caesura_objects_functions(nullptr, &text), k_bad, "NULL");
    expect(caesura_objects_functions(objects_, nullptr), k_bad, "NULL");
    ASSERT_EQ(caesura_objects_functions(objects_, &text), CAESURA_OK);
    EXPECT_NE(std::strstr(text, "histogram"), nullptr);
    caesura_text_free(text);
    caesura_text_free(nullptr);
}

// Goal: boxes, types and values that do not fit; with and without a ticket.
TEST_F(ObjectsC, refuse_values_that_do_not_fit) {
    connect();
    constexpr caesura_code k_bad = CAESURA_INVALID_ARGUMENT;
    const std::uint64_t id = create(), half = k_n / 2;
    std::vector<double> got(k_n);
    const auto put = [&](std::uint64_t object, int rank, const std::uint64_t* extent,
                         const void* values, int dtype) {
        return caesura_object_put(objects_, object, rank, &k_zero, extent, values, dtype, nullptr);
    };
    const auto get = [&](const std::uint64_t* extent, void* values, int dtype) {
        return caesura_object_get(objects_, id, 1, &k_zero, extent, values, dtype, nullptr);
    };
    expect(put(id, 1, &k_n, nullptr, CAESURA_FLOAT64), k_bad, "NULL");
    expect(put(id, 1, nullptr, values_.data(), CAESURA_FLOAT64), k_bad, "NULL");
    expect(put(id, 0, &k_n, values_.data(), CAESURA_FLOAT64), k_bad, "rank is 0");
    expect(put(id, 1, &k_n, values_.data(), 0), k_bad, "dtype is 0");
    expect(put(id, 1, &k_n, values_.data(), CAESURA_FLOAT32), k_bad, "float32");
    expect(put(id + 1, 1, &k_n, values_.data(), CAESURA_FLOAT64), k_bad, "no object");
    expect(get(&k_n, got.data(), CAESURA_FLOAT64), CAESURA_INSUFFICIENT_DATA, "1000 of 1000");
    ASSERT_EQ(put(id, 1, &half, values_.data(), CAESURA_FLOAT64), CAESURA_OK);
    expect(put(id, 1, &half, values_.data(), CAESURA_FLOAT64), k_bad, "lies on");
    caesura_ticket* ticket = nullptr;
    ASSERT_EQ(
        caesura_object_get(objects_, id, 1, &k_zero, &k_n, got.data(), CAESURA_FLOAT64, &ticket),
        CAESURA_OK);  // the outcome is the ticket's
    for (int i = 0; i < 2; ++i)
        expect(caesura_ticket_wait(ticket), CAESURA_INSUFFICIENT_DATA, "500 of 1000");
    EXPECT_EQ(caesura_ticket_is_done(ticket), 1);
    caesura_ticket_free(ticket);
    expect(get(&half, got.data(), CAESURA_FLOAT32), k_bad, "type");
    expect(get(&half, nullptr, CAESURA_FLOAT64), k_bad, "NULL");
    const std::uint64_t beyond = k_n + 1;
    expect(get(&beyond, std::vector<double>(beyond).data(), CAESURA_FLOAT64), k_bad, "not inside");
    ASSERT_EQ(get(&half, got.data(), CAESURA_FLOAT64), CAESURA_OK);
    EXPECT_EQ(got[half - 1], 2.5);
    const std::uint64_t large = 20000;  // of a service that has room for 65536 bytes, and no sink
    const std::vector<double> many(large);
    std::uint64_t other = 0;
    ASSERT_EQ(caesura_object_create(objects_, "run", "large", CAESURA_FLOAT64, 1, &large, nullptr,
                                    &other),
              CAESURA_OK);
    expect(put(other, 1, &large, many.data(), CAESURA_FLOAT64), CAESURA_NO_SPACE, "160000");
}

TEST_F(ObjectsC, say_what_is_wrong_with_an_analysis) {
    connect();
    constexpr caesura_code k_bad = CAESURA_INVALID_ARGUMENT;
    const std::uint64_t id = create();
    caesura_ticket *run = nullptr, *put = nullptr;
    ASSERT_EQ(
        caesura_object_put(objects_, id, 1, &k_zero, &k_n, values_.data(), CAESURA_FLOAT64, &put),
        CAESURA_OK);
    ASSERT_EQ(caesura_ticket_wait(put), CAESURA_OK);
    double number = 7.0;
    const double* list = nullptr;
    const char* json = nullptr;
    size_t count = 7;
    expect(caesura_ticket_number(put, "max", &number), k_bad, "caesura_object_run");
    EXPECT_EQ(number, 0.0);
    expect(caesura_object_run(objects_, id, nullptr, 0, nullptr, nullptr, &run), k_bad, "NULL");
    EXPECT_EQ(run, nullptr);
    expect(caesura_object_run(objects_, id, "stats", 1, &k_zero, nullptr, &run), k_bad, "NULL");
    ASSERT_EQ(caesura_object_run(objects_, id, "guess", 0, nullptr, nullptr, &run), CAESURA_OK);
    expect(caesura_ticket_number(run, "max", &number), k_bad, "guess");
    expect(caesura_ticket_list(run, "counts", &list, &count), k_bad, "guess");
    expect(caesura_ticket_json(run, &json), k_bad, "guess");
    EXPECT_TRUE(list == nullptr && count == 0 && json == nullptr);
    caesura_ticket_free(run);
    const std::uint64_t ten = 10;
    ASSERT_EQ(caesura_object_run(objects_, id, "stats", 1, &k_zero, &ten, &run), CAESURA_OK);
    ASSERT_EQ(caesura_ticket_number(run, "count", &number), CAESURA_OK) << caesura_last_error();
    EXPECT_EQ(number, 10.0);
    expect(caesura_ticket_number(run, "highest", &number), k_bad, "max");
    expect(caesura_ticket_number(run, nullptr, &number), k_bad, "NULL");
    expect(caesura_ticket_number(run, "max", nullptr), k_bad, "NULL");
    expect(caesura_ticket_number(nullptr, "max", &number), k_bad, "NULL");
    expect(caesura_ticket_list(run, "max", &list, &count), k_bad, "no list");
    expect(caesura_ticket_list(run, "max", nullptr, &count), k_bad, "NULL");
    ASSERT_EQ(caesura_ticket_json(run, &json), CAESURA_OK);
    EXPECT_NE(std::strstr(json, "\"max\":2.5"), nullptr) << json;
    expect(caesura_ticket_wait(nullptr), k_bad, "NULL");
    EXPECT_EQ(caesura_ticket_is_done(nullptr), 1);
    caesura_ticket_free(run);
    caesura_ticket_free(put);
    caesura_ticket_free(nullptr);
}

TEST_F(ObjectsC, say_what_is_wrong_with_a_query) {
    connect();
    constexpr caesura_code k_bad = CAESURA_INVALID_ARGUMENT;
    const std::uint64_t id = create();
    ASSERT_EQ(put_all(id), CAESURA_OK);
    ASSERT_EQ(caesura_object_run(objects_, id, "stats", 0, nullptr, nullptr, nullptr), CAESURA_OK);
    caesura_found* found = nullptr;
    caesura_query query = CAESURA_QUERY_DEFAULT;
    expect(caesura_objects_find(objects_, &query, nullptr), k_bad, "NULL");
    expect(caesura_objects_find(nullptr, &query, &found), k_bad, "NULL");
    query.tag_count = 1;
    expect(caesura_objects_find(objects_, &query, &found), k_bad, "tags is NULL");
    query = CAESURA_QUERY_DEFAULT;
    query.has_values = 1;
    query.lowest = 2.0;
    query.highest = 1.0;
    expect(caesura_objects_find(objects_, &query, &found), k_bad, "range");
    query = CAESURA_QUERY_DEFAULT;
    query.container = "/etc/not/mine.h5";
    expect(caesura_objects_find(objects_, &query, &found), k_bad, "mine.h5");
    EXPECT_EQ(found, nullptr);
    ASSERT_EQ(caesura_objects_find(objects_, nullptr, &found), CAESURA_OK);
    ASSERT_EQ(caesura_found_count(found), 1u);
    caesura_object_info info = {};
    caesura_region_info region = {};
    const char *call = nullptr, *json = nullptr;
    expect(caesura_found_object(found, 0, &info), k_bad, "struct_bytes");
    expect(caesura_found_object(found, 0, nullptr), k_bad, "NULL");
    info.struct_bytes = sizeof info;
    region.struct_bytes = sizeof region;
    expect(caesura_found_object(found, 1, &info), k_bad, "object 1 of 1");
    expect(caesura_found_object(nullptr, 0, &info), k_bad, "NULL");
    expect(caesura_found_region(found, 0, 0, &region), k_bad, "region 0 of 0");  // not asked for
    expect(caesura_found_result(found, 0, 1, &call, &json), k_bad, "result 1 of 1");
    ASSERT_EQ(caesura_found_object(found, 0, &info), CAESURA_OK);
    EXPECT_EQ(info.struct_bytes, sizeof info);
    EXPECT_EQ(info.rank, 1);
    EXPECT_EQ(info.shape[0], k_n);
    EXPECT_EQ(info.values, k_n);
    EXPECT_TRUE(info.has_range == 1 && info.lowest == 2.5 && info.highest == 2.5);
    EXPECT_STREQ(info.name, "rho");
    ASSERT_EQ(info.result_count, 1u);
    ASSERT_EQ(caesura_found_result(found, 0, 0, &call, &json), CAESURA_OK);
    EXPECT_NE(std::strstr(json, "\"max\":2.5"), nullptr) << json;
    EXPECT_EQ(caesura_found_count(nullptr), 0u);
    EXPECT_EQ(caesura_found_regions_kept(nullptr) + caesura_found_regions_skipped(nullptr), 0u);
    caesura_found_free(found);
    caesura_found_free(nullptr);
}

TEST_F(ObjectsC, say_why_objects_cannot_be_kept) {
    connect();
    constexpr caesura_code k_bad = CAESURA_INVALID_ARGUMENT;
    const std::uint64_t id = create();
    caesura_persist what = CAESURA_PERSIST_DEFAULT;
    caesura_ticket* ticket = nullptr;
    const auto persist = [&] { return caesura_objects_persist(objects_, &what, nullptr); };
    expect(persist(), k_bad, "path is NULL");
    const std::string file = path();
    what.path = file.c_str();
    expect(persist(), k_bad, "neither");
    what.object_count = 1;
    expect(persist(), k_bad, "objects is NULL");
    what.objects = &id;
    expect(persist(), CAESURA_INSUFFICIENT_DATA, "1000 of 1000");
    ASSERT_EQ(put_all(id), CAESURA_OK);
    what.has_bound = 1;
    what.bound_kind = 9;
    expect(persist(), k_bad, "bound_kind is 9");
    what.has_bound = 0;
    what.codec = "guess";
    expect(persist(), k_bad, "guess");
    what.codec = nullptr;
    what.path = "/etc/not/mine.h5";
    expect(persist(), k_bad, "mine.h5");
    what.path = file.c_str();
    expect(caesura_objects_persist(nullptr, &what, &ticket), k_bad, "NULL");
    expect(caesura_objects_persist(objects_, nullptr, &ticket), k_bad, "NULL");
    EXPECT_EQ(ticket, nullptr);
    EXPECT_FALSE(std::filesystem::exists(file));
    what.has_bound = 1;
    what.bound_kind = CAESURA_POINTWISE_RELATIVE;
    what.bound = 1e-3;
    ASSERT_EQ(persist(), CAESURA_OK) << caesura_last_error();
    expect(persist(), k_bad, "not empty");
}

// Goal: calls from several threads over one connection.
TEST_F(ObjectsC, are_for_any_thread) {
    connect();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([this, t] {
            const std::uint64_t id = create(("n" + std::to_string(t)).c_str());
            std::vector<double> got(k_n);
            EXPECT_EQ(put_all(id), CAESURA_OK) << caesura_last_error();
            EXPECT_EQ(caesura_object_get(objects_, id, 1, &k_zero, &k_n, got.data(),
                                         CAESURA_FLOAT64, nullptr),
                      CAESURA_OK);
            EXPECT_EQ(got, values_);
            EXPECT_EQ(caesura_object_delete(objects_, id), CAESURA_OK);
        });
    for (std::thread& thread : threads) thread.join();
}

// Goal: a service that is gone is every call's error.
TEST_F(ObjectsC, say_that_the_service_is_gone) {
    connect();
    const std::uint64_t id = create();
    ASSERT_EQ(put_all(id), CAESURA_OK);
    stop(SIGKILL);
    std::vector<double> got(k_n);
    expect(caesura_object_get(objects_, id, 1, &k_zero, &k_n, got.data(), CAESURA_FLOAT64, nullptr),
           CAESURA_IO, "gone");
    expect(put_all(id), CAESURA_IO, "gone");
    std::uint64_t other = 0;
    expect(caesura_object_create(objects_, "run", "b", CAESURA_FLOAT32, 1, &k_n, nullptr, &other),
           CAESURA_IO, "gone");
    expect(caesura_object_run(objects_, id, "stats", 0, nullptr, nullptr, nullptr), CAESURA_IO,
           "gone");
    caesura_found* found = nullptr;
    expect(caesura_objects_find(objects_, nullptr, &found), CAESURA_IO, "gone");
    expect(caesura_object_delete(objects_, id), CAESURA_IO, "gone");
    caesura_persist what = CAESURA_PERSIST_DEFAULT;
    what.path = "/x";
    what.container = "run";
    expect(caesura_objects_persist(objects_, &what, nullptr), CAESURA_IO, "gone");
    char* text = nullptr;
    expect(caesura_objects_functions(objects_, &text), CAESURA_IO, "gone");
}

}  // namespace
}  // namespace caesura
