// Where the datasets of a dump lie, as a user has said it: "/step_%06T/{field}".
//
// Invariant: a path that path() makes is taken apart by match() into what it was made of, so no two
// fields or iterations share one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "caesura/base.hpp"

namespace caesura::store {

class PathTemplate {
  public:
    /// @param text  an absolute path with `{field}` and `%T` in it, each once. `%06T` fills the
    /// iteration's number with zeros up to 6 digits (1 to 20).
    /// Errors: invalid_argument (what is wrong with the text, and one that is right).
    static Result<PathTemplate> parse(std::string_view text);

    const std::string& text() const { return text_; }
    std::string path(std::uint64_t iteration, std::string_view field) const;
    /// The group that a dump has for itself: the one whose name has the number. Empty: it has none.
    std::string dump_group(std::uint64_t iteration) const;

    /// Of such a group: the iteration. Nothing: it is none.
    std::optional<std::uint64_t> iteration_of(std::string_view group) const;
    /// The group in which all dumps have theirs, "/" or "/run"; of use where they have one.
    std::string parent() const;

    struct Match {
        std::uint64_t iteration = 0;
        std::string field;
    };
    /// Nothing: no path of this template.
    std::optional<Match> match(std::string_view path) const;

  private:
    std::string number(std::uint64_t iteration) const;
    /// The number, if that is how it is written here.
    std::optional<std::uint64_t> number_in(std::string_view digits) const;

    std::string text_;
    // Before the first of the two, between them, after the second.
    std::string before_, between_, after_;
    bool number_first_ = true;
    int digits_ = 1;  // at least
};

}  // namespace caesura::store
