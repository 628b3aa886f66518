// A function of a plugin as one of ours: arguments, regions, results and bytes in C's terms.
#pragma once

#include "caesura/lambda.h"
#include "lambda/function.hpp"

namespace caesura::lambda {

/// Errors: invalid_argument (a name or help that is missing, a parameter or a fallback that cannot
/// be, neither or several of the kinds of function).
Result<Function> plugin_function(const caesura_lambda_function& given);

}  // namespace caesura::lambda
