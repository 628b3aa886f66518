// For tests: run something on every instruction set that was compiled in and that this machine has.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace caesura::codec {

/// call(name) once per target, with kernels dispatched to it; afterwards to the best again.
template <class Call>
void for_each_target(Call call) {
    hwy::SetSupportedTargetsForTest(0);
    const auto supported = hwy::SupportedTargets();
    for (auto targets = supported; targets != 0; targets &= targets - 1) {
        const auto target = targets & (~targets + 1);
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        call(hwy::TargetName(target));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace caesura::codec
