// See sink.hpp.

#include "sink.hpp"

namespace blast {

std::vector<float> values_of(const Patch& patch, const Box& box, int quantity) {
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(box.cells()));
    for_each(box, [&](int i, int j, int k) {
        State u;
        for (int c = 0; c < k_components; ++c)
            u[static_cast<std::size_t>(c)] = patch.at(c, i, j, k);
        values.push_back(static_cast<float>(quantity == 0 ? u[0] : pressure(u)));
    });
    return values;
}

}  // namespace blast
