// Goal: whatever ranks, dumps and disks do, the books of all ranks agree, no byte has two owners,
// and no byte of a committed dump is ever handed out again. Every page of the file has an entry
// here, and the tests claim and check each by itself.
#include "ledger/book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "store/region_writer.hpp"

namespace caesura::ledger {
namespace {

constexpr unsigned k_book_seed = 20261122;
constexpr std::uint64_t k_page = store::k_region_alignment;

/// Who owns a page of the file.
struct Owner {
    enum class Kind { nobody, free, kept, used, metadata, lost } kind = Kind::nobody;
    int rank = 0;
    std::uint64_t dump = 0;
    friend bool operator==(const Owner&, const Owner&) = default;
};
using Kind = Owner::Kind;

std::string text_of(const Owner& owner) {
    return "kind " + std::to_string(static_cast<int>(owner.kind)) + " rank " +
           std::to_string(owner.rank) + " dump " + std::to_string(owner.dump);
}

class Pages {
  public:
    /// Pages go from one owner to another; who they came from must be one of `from`.
    void move(const Extent& extent, const Owner& to, std::initializer_list<Owner> from) {
        for (std::uint64_t page = extent.address / k_page; page < extent.end() / k_page; ++page) {
            if (pages_.size() <= page) pages_.resize(page + 1);
            const bool allowed = std::find(from.begin(), from.end(), pages_[page]) != from.end();
            ASSERT_TRUE(allowed) << "page " << page << " belongs to " << text_of(pages_[page])
                                 << " and goes to " << text_of(to);
            pages_[page] = to;
        }
    }
    /// A killed run: what is not committed is nobody's for ever.
    void forget(std::uint64_t committed) {
        for (Owner& owner : pages_)
            if (owner.kind != Kind::nobody && owner.kind != Kind::metadata &&
                !(owner.kind == Kind::used && owner.dump < committed))
                owner = {Kind::lost, 0, 0};
    }
    std::uint64_t count(Kind kind, int rank) const {
        return static_cast<std::uint64_t>(std::count_if(
            pages_.begin(), pages_.end(),
            [&](const Owner& owner) { return owner.kind == kind && owner.rank == rank; }));
    }
    /// Behind the last page that anybody owns.
    std::uint64_t end() const { return pages_.size() * k_page; }
    std::uint64_t end_of(Kind kind) const {
        std::uint64_t end = 0;
        for (std::size_t page = 0; page < pages_.size(); ++page)
            if (pages_[page].kind == kind) end = (page + 1) * k_page;
        return end;
    }
    std::uint64_t metadata_end() const { return end_of(Kind::metadata); }
    std::uint64_t used_end() const { return std::max(end_of(Kind::used), metadata_end()); }
    /// At a trim: what lies behind the end is gone, and may be had again.
    void cut(std::uint64_t end) {
        for (std::size_t page = end / k_page; page < pages_.size(); ++page)
            ASSERT_TRUE(pages_[page].kind != Kind::used && pages_[page].kind != Kind::metadata)
                << "page " << page << " is cut off: " << text_of(pages_[page]);
        pages_.resize(std::min<std::size_t>(pages_.size(), end / k_page));
    }

  private:
    std::vector<Owner> pages_;
};

/// All ranks of one run, driven as the Writer drives them.
class Run {
  public:
    Run(std::mt19937& random, int n_ranks, bool live_tree, std::uint64_t stripe)
        : random_(random), live_tree_(live_tree), stripe_(stripe), n_ranks_(n_ranks) {
        restart();
    }

    void restart() {
        pages_.forget(committed_);
        pending_.clear();
        books_.clear();
        tree_end_ = std::max(pages_.end(), store::first_region_address());
        for (int rank = 0; rank < n_ranks_; ++rank) {
            books_.emplace_back(Book::Opening{rank, committed_, tree_end_});
            books_.back().set_stripe(stripe_);
        }
        builds_ = settled_ = 0;
        image_is_flushing_ = just_built_ = false;
    }

    void step() {
        work();
        try_out_of_order();
        exchange();
        place_overflow();
        tree_sees();
        gather();
        if (pick(3) > 0) begin_dump();
        build(false);
        check_alike();
    }

    void finish() {
        Finishing state{true, false, false, false};
        for (int round = 0; round < 1000; ++round) {
            finish_work();
            exchange();
            const Step step = books_[0].next_step(state);
            for (const Book& book : books_) ASSERT_EQ(book.next_step(state), step);
            if (step == Step::nothing) break;
            if (step == Step::place_overflow) place_overflow();
            tree_sees();
            if (step == Step::gather || step == Step::gather_and_trim) gather();
            const bool trim = step == Step::trim || step == Step::gather_and_trim;
            if (trim && books_[0].may_build(true)) state.trimmed = true;
            if (step != Step::place_overflow) build(trim);
        }
        for (const Book& book : books_) {
            ASSERT_EQ(book.committed(), book.next_dump());
            ASSERT_EQ(book.next_dump() - book.first_dump(), dumps_of_run());
        }
        ASSERT_EQ(settled_, builds_) << "each build is settled once";
        if (state.trimmed && !live_tree_) {
            ASSERT_EQ(pages_.end(), pages_.used_end());
        }
        check_free_space();
    }

    bool kill_now() { return pick(60) == 0; }
    std::uint64_t committed() const { return committed_; }

  private:
    struct Writing {
        std::size_t rank;
        std::uint64_t dump;
        std::vector<Extent> places;
        bool overflows;  ///< may have blocks that find no room
    };
    int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    std::uint64_t dumps_of_run() const { return books_[0].next_dump() - books_[0].first_dump(); }

    /// Places that a rank was given are kept for the dump.
    void note(std::size_t r, const std::vector<Book::Place>& places) {
        const int rank = static_cast<int>(r);
        std::map<std::uint64_t, Writing> by_dump;
        for (const Book::Place& place : places) {
            ASSERT_EQ(place.rank, rank);
            ASSERT_EQ(place.address % k_page, 0u);
            const Extent extent{place.address, place.bytes};
            pages_.move(extent, {Kind::kept, rank, place.dump},
                        {{Kind::nobody, 0, 0}, {Kind::free, rank, 0}});
            auto& writing = by_dump[place.dump];
            writing.places.push_back(extent);
        }
        for (auto& [dump, writing] : by_dump)
            pending_.push_back({r, dump, std::move(writing.places), pick(3) == 0});
    }

    /// A rank is done with a dump, as far as its blocks found room.
    void write(const Writing& writing) {
        const int rank = static_cast<int>(writing.rank);
        std::vector<Extent> tails;
        std::uint64_t used_end = 0;
        for (const Extent& place : writing.places) {
            const auto pages = static_cast<int>(place.bytes / k_page);
            const std::uint64_t used = static_cast<std::uint64_t>(pick(pages + 1)) * k_page;
            const Owner kept{Kind::kept, rank, writing.dump};
            pages_.move({place.address, used}, {Kind::used, rank, writing.dump}, {kept});
            const Extent tail{place.address + used, place.bytes - used};
            pages_.move(tail, {Kind::free, rank, 0}, {kept});
            if (tail.bytes > 0) tails.push_back(tail);
            if (used > 0) used_end = std::max(used_end, tail.address);
        }
        Overflow overflow;
        if (writing.overflows)
            overflow = {1 + static_cast<std::uint64_t>(pick(5)),
                        1 + static_cast<std::uint64_t>(pick(50000))};
        const Status wrote = books_[writing.rank].wrote(writing.dump, tails, used_end, overflow);
        ASSERT_TRUE(wrote.ok()) << wrote.message();
    }

    // The lanes: late ranks, several dumps on their way, a flush that takes its time.
    void work() {
        std::vector<Writing> left;
        std::set<std::size_t> late;  // a rank's dumps are written in their order
        for (const Writing& writing : std::exchange(pending_, {}))
            if (late.count(writing.rank) == 0 && pick(2) == 0)
                write(writing);
            else
                late.insert(writing.rank), left.push_back(writing);
        left.insert(left.end(), pending_.begin(), pending_.end());
        pending_ = std::move(left);
        if (image_is_flushing_ && pick(2) == 0) flush();
    }
    void finish_work() {
        for (const Writing& writing : std::exchange(pending_, {})) write(writing);
        if (image_is_flushing_) flush();
    }
    void flush() {
        ASSERT_TRUE(books_[0].flushed().ok());
        image_is_flushing_ = false;
    }

    void exchange() {
        std::vector<Statement> all;
        for (const Book& book : books_) all.push_back(book.statement(tree_end(), false, true));
        std::size_t settled = 0;
        for (Book& book : books_) settled += book.hear(all);
        just_built_ = false;
        ASSERT_TRUE(settled == 0 || settled == books_.size()) << "some are settled, others not";
        settled_ += settled > 0;
        ASSERT_GE(books_[0].committed(), committed_);
        committed_ = books_[0].committed();
    }
    std::uint64_t tree_end() const { return live_tree_ ? tree_end_ : 0; }
    /// A live tree allocates by itself, alike on all ranks, beyond what is reserved.
    void tree_sees() {
        tree_end_ = std::max(tree_end_, books_[0].file_end());
        if (!live_tree_ || pick(2) == 0) return;
        const std::uint64_t bytes = k_page * static_cast<std::uint64_t>(pick(3));
        pages_.move({tree_end_, bytes}, {Kind::metadata, 0, 0}, {{Kind::nobody, 0, 0}});
        tree_end_ += bytes;
    }

    /// What is skipped to begin at a stripe is rank 0's, and free.
    void skip(std::uint64_t from) {
        const std::uint64_t begin = store::align_up(from, stripe_);
        pages_.move({from, begin - from}, {Kind::free, 0, 0}, {{Kind::nobody, 0, 0}});
    }
    void place_overflow() {
        if (books_[0].heard().overflow_bytes > 0) skip(books_[0].file_end());
        for (std::size_t r = 0; r < books_.size(); ++r) note(r, books_[r].place_overflow());
    }

    void gather() {
        const std::uint64_t until = books_[0].heard().durable_dumps;
        for (Book& book : books_) ASSERT_TRUE(book.gather(until).ok());
    }

    void begin_dump() {
        // What the tree has allocated since the exchange is known to all: here they tell again.
        exchange();
        tree_sees();
        exchange();
        std::vector<std::uint64_t> fresh;
        std::vector<std::vector<Extent>> taken(books_.size());
        for (std::size_t r = 0; r < books_.size(); ++r) {
            std::vector<Extent> rest;
            for (const Extent& extent : books_[r].take_free())
                (pick(2) == 0 ? taken[r] : rest).push_back(extent);
            books_[r].give_back(rest);
            fresh.push_back(stripe_ * static_cast<std::uint64_t>(pick(4)));
        }
        for (std::size_t r = 0; r < books_.size(); ++r) {
            if (r == 0) skip(books_[0].file_end());
            const auto reserved = books_[r].reserve(fresh);
            ASSERT_TRUE(reserved.ok()) << reserved.status().message();
            taken[r].push_back(*reserved);
            const std::uint64_t dump = books_[r].next_dump();
            const auto places = books_[r].begin(taken[r]);
            note(r, places);
            if (places.empty()) pending_.push_back({r, dump, {}, false});
        }
        tree_end_ = std::max(tree_end_, books_[0].file_end());
    }

    void build(bool trim) {
        const bool may = books_[0].may_build(trim);
        for (const Book& book : books_) ASSERT_EQ(book.may_build(trim), may);
        if (!may) return;
        std::uint64_t end = 0;
        for (Book& book : books_) {
            const auto built = book.build(trim);
            ASSERT_TRUE(built.ok()) << built.status().message();
            ASSERT_TRUE(end == 0 || *built == end) << "images begin at different places";
            end = *built;
        }
        // A live tree keeps what it has allocated, whatever the floor that it is given.
        const std::uint64_t tree_end = live_tree_ ? pages_.metadata_end() : 0;
        if (trim) pages_.cut(std::max(end, tree_end));
        const std::uint64_t begin = live_tree_ ? std::max(end, tree_end_) : end;
        const std::uint64_t image_end = begin + k_page * static_cast<std::uint64_t>(1 + pick(2));
        pages_.move({begin, image_end - begin}, {Kind::metadata, 0, 0}, {{Kind::nobody, 0, 0}});
        books_[0].made_image(image_end);
        just_built_ = true;
        tree_end_ = std::max(tree_end_, image_end);
        image_is_flushing_ = true;
        ++builds_;
    }

    /// A call that does not fit says so and changes nothing.
    void try_out_of_order() {
        Book& book = books_[static_cast<std::size_t>(pick(n_ranks_))];
        const Statement before = book.statement(0, false, true);
        const std::uint64_t free = book.free_bytes();
        const Extent tail{k_page, k_page};
        if (book.gathered() > book.first_dump()) {
            EXPECT_FALSE(book.wrote(book.gathered() - 1, {&tail, 1}, k_page).ok());
            EXPECT_FALSE(book.abandon(book.gathered() - 1).ok());
            EXPECT_FALSE(book.gather(book.gathered() - 1).ok());
        }
        EXPECT_FALSE(book.wrote(book.next_dump(), {&tail, 1}, k_page).ok());
        EXPECT_FALSE(book.gather(before.durable_dumps + 1).ok());
        if (before.durable_dumps > book.gathered()) {
            EXPECT_FALSE(book.wrote(book.gathered(), {&tail, 1}, k_page).ok());
        }
        if (!image_is_flushing_) {
            EXPECT_FALSE(book.flushed().ok());
        }
        if (settled_ == builds_) {
            EXPECT_FALSE(book.settle().ok());
        }
        if (settled_ < builds_) {
            EXPECT_FALSE(book.build(false).ok());
        }
        const std::vector<std::uint64_t> wanted(2, stripe_);
        if (just_built_) {
            EXPECT_FALSE(book.reserve(wanted).ok());
        }
        const Statement after = book.statement(0, false, true);
        EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
        EXPECT_EQ(book.free_bytes(), free);
    }

    void check_alike() {
        for (const Book& book : books_) {
            ASSERT_EQ(book.next_dump(), books_[0].next_dump());
            ASSERT_EQ(book.gathered(), books_[0].gathered());
            ASSERT_EQ(book.built(), books_[0].built());
            ASSERT_EQ(book.committed(), books_[0].committed());
            ASSERT_LE(book.committed(), book.built());
            ASSERT_LE(book.built(), book.gathered());
            ASSERT_LE(book.gathered(), book.next_dump());
        }
        check_free_space();
    }
    // Free pages are free in the books as well, of the same rank, and no others are.
    void check_free_space() {
        for (std::size_t r = 0; r < books_.size(); ++r)
            ASSERT_EQ(books_[r].free_bytes(),
                      k_page * pages_.count(Kind::free, static_cast<int>(r)))
                << "rank " << r;
    }

    std::mt19937& random_;
    bool live_tree_;
    std::uint64_t stripe_;
    int n_ranks_;
    std::vector<Book> books_;
    std::vector<Writing> pending_;
    Pages pages_;
    std::uint64_t committed_ = 0, tree_end_ = 0;
    std::size_t builds_ = 0, settled_ = 0;
    bool image_is_flushing_ = false, just_built_ = false;
};

void play(bool live_tree) {
    for (unsigned seed = k_book_seed; seed < k_book_seed + 120; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const int n_ranks = 1 + static_cast<int>(random() % 5);
        const std::uint64_t stripe = k_page << (random() % 4);
        Run run(random, n_ranks, live_tree, stripe);
        for (int step = 0; step < 40; ++step) {
            run.step();
            if (run.kill_now()) run.restart();
            if (::testing::Test::HasFailure()) return;
        }
        run.finish();
        if (::testing::Test::HasFailure()) return;
        EXPECT_GT(run.committed(), 0u);
    }
}

TEST(Book, whatever_happens_no_byte_has_two_owners_and_all_ranks_agree) {
    RecordProperty("seed", static_cast<int>(k_book_seed));
    play(false);
}

TEST(Book, and_so_it_is_beside_a_tree_that_allocates_by_itself) {
    RecordProperty("seed", static_cast<int>(k_book_seed));
    play(true);
}

// Goal: one process that gives a dump up goes on with the next, and commits that.
TEST(Book, an_abandoned_dump_does_not_hold_up_the_next) {
    Book book({0, 7, 65536});
    const std::uint64_t bytes = k_page;
    const Extent first = *book.reserve({&bytes, 1}), second = *book.reserve({&bytes, 1});
    EXPECT_EQ(first.end(), second.address);
    (void)book.begin({&first, 1});
    (void)book.begin({&second, 1});
    ASSERT_TRUE(book.wrote(8, {}, second.end()).ok());
    EXPECT_FALSE(book.gather(9).ok()) << "dump 7 is not written";
    EXPECT_EQ(book.stage(7), Stage::writing);
    ASSERT_TRUE(book.abandon(7).ok());
    EXPECT_FALSE(book.wrote(7, {}, first.end()).ok());
    ASSERT_TRUE(book.gather(9).ok());
    ASSERT_TRUE(book.build(false).ok());
    book.made_image(second.end() + k_page);
    EXPECT_FALSE(book.settle().ok()) << "the image is not flushed";
    ASSERT_TRUE(book.flushed().ok());
    EXPECT_FALSE(book.flushed().ok()) << "once is enough";
    ASSERT_TRUE(book.settle().ok());
    EXPECT_EQ(book.stage(8), Stage::committed);
    EXPECT_EQ(book.free_bytes(), 0u) << "what was abandoned may have been written to";
}

// Goal: dumps of a build that failed are never said to be committed, and nothing is built on them.
// Rank 0's failure concerns all ranks, another one's its own tree only.
TEST(Book, a_build_that_failed_is_never_settled) {
    for (const std::size_t culprit : {0u, 1u}) {
        std::vector<Book> books = {Book({0, 0, 65536}), Book({1, 0, 65536})};
        const auto exchange = [&] {
            std::vector<Statement> all;
            for (const Book& book : books) all.push_back(book.statement(0, false, true));
            std::vector<bool> settled;
            for (Book& book : books) settled.push_back(book.hear(all));
            return settled;
        };
        for (Book& book : books) {
            (void)book.begin({});
            ASSERT_TRUE(book.wrote(0, {}, 0).ok());
        }
        (void)exchange();
        for (std::size_t r = 0; r < books.size(); ++r) {
            ASSERT_TRUE(books[r].gather(1).ok());
            ASSERT_TRUE(books[r].build(false).ok());
            if (r == culprit)
                books[r].build_failed();
            else if (r == 0)
                books[r].made_image(131072);
        }
        if (culprit == 1) {
            ASSERT_TRUE(books[0].flushed().ok());
        }
        EXPECT_EQ(exchange(), (std::vector<bool>{culprit != 0, false})) << "rank " << culprit;
        EXPECT_EQ(books[0].committed(), culprit == 0 ? 0u : 1u);
        EXPECT_FALSE(books[culprit].settle().ok());
        // Commits communicate: all ranks go on to the next one, or none does.
        EXPECT_EQ(books[0].may_build(true), culprit != 0);
        EXPECT_EQ(books[1].may_build(true), culprit != 0);
        EXPECT_TRUE(books[culprit].has_failed_build());
    }
    Book alone({0, 0, 65536});  // may try again
    (void)alone.begin({});
    ASSERT_TRUE(alone.wrote(0, {}, 0).ok());
    ASSERT_TRUE(alone.gather(1).ok());
    ASSERT_TRUE(alone.build(false).ok());
    alone.build_failed();
    EXPECT_FALSE(alone.may_build(false));
    alone.withdraw_build();
    EXPECT_TRUE(alone.may_build(false));
}

// Goal: after "nothing may be committed any more" nothing is built, on any rank.
TEST(Book, what_is_spoiled_on_one_rank_is_built_on_none) {
    std::vector<Book> books = {Book({0, 0, 65536}), Book({1, 0, 65536})};
    std::vector<Statement> all;
    for (Book& book : books) {
        (void)book.begin({});
        ASSERT_TRUE(book.wrote(0, {}, 0).ok());
    }
    books[1].spoil();
    for (const Book& book : books) all.push_back(book.statement(0, true, true));
    for (Book& book : books) {
        EXPECT_FALSE(book.hear(all));
        ASSERT_TRUE(book.gather(1).ok());
        EXPECT_FALSE(book.may_build(false));
        EXPECT_FALSE(book.may_build(true));
        EXPECT_EQ(book.next_step({true, true, false, false}), Step::nothing);
    }
}

}  // namespace
}  // namespace caesura::ledger
