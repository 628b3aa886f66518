#include "planted.hpp"
namespace stand_in {
const std::vector<Fault>& faults() { static const std::vector<Fault> all; return all; }
hid_t register_with_fault(const std::string&) { return -1; }
}
