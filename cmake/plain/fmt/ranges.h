// fmt::join() is in format.h here.
#pragma once

#include <fmt/format.h>
