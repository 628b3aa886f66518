#include "vol/missing.hpp"

#include "vol/errors.hpp"
#include "vol/native_attribute.hpp"

namespace caesura::vol {

std::vector<FillValue> missing_said_of(const NativeObject& dataset) {
    const store::QuietErrors quiet;
    const KeepErrors keep;
    std::vector<FillValue> missing;
    for (const char* name : {"_FillValue", "missing_value"}) {
        const NativeAttribute attribute(dataset, ".", name);
        if (const auto number = attribute.integer()) missing.emplace_back(*number);
        if (const auto numbers = attribute.numbers())
            missing.insert(missing.end(), numbers->begin(), numbers->end());
    }
    return missing;
}

}  // namespace caesura::vol
