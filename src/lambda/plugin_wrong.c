/* For tests: a plugin whose first function is good and whose second is of no kind. */
#include "caesura/lambda.h"

static int direct(const caesura_lambda_args* args, const caesura_lambda_region* region,
                  const caesura_lambda_results* results, char* message) {
    (void)args;
    (void)region;
    (void)results;
    (void)message;
    return CAESURA_LAMBDA_OK;
}

static const caesura_lambda_function functions[] = {
    {.struct_bytes = sizeof(caesura_lambda_function),
     .name = "wrong.first",
     .help = "Does nothing.",
     .direct = direct},
    {.struct_bytes = sizeof(caesura_lambda_function), .name = "wrong.second", .help = "Nor this."}};

CAESURA_LAMBDA_PLUGIN(functions, 2)
