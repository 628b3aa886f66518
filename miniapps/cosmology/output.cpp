// The output of the mode that has none.

#include "output.hpp"

namespace cosmology {

namespace {

class NoOutput : public Output {
  public:
    void dump(const Fields&, const Particles&, std::uint64_t, double) override {}
};

}  // namespace

std::unique_ptr<Output> make_no_output() { return std::make_unique<NoOutput>(); }

}  // namespace cosmology
