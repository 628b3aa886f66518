#include "step.hpp"
namespace stand_in {
void add_chunk_operations(std::vector<Operation>&) {}
void add_attribute_operations(std::vector<Operation>&) {}
void add_object_operations(std::vector<Operation>&) {}
void add_reference_operations(std::vector<Operation>&) {}
void add_memory_operations(std::vector<Operation>&) {}
void add_sharing_operations(std::vector<Operation>&) {}
}
