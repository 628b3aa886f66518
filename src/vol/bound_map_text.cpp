#include "vol/bound_map_text.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace caesura::vol {

using nlohmann::json;

std::optional<std::pair<BoundMap, double>> bound_map_in(const std::string& text) try {
    const auto whole = json::parse(text);
    const auto limit = [](const json& number, double infinity) {
        return number.is_null() ? infinity : number.get<double>();
    };
    constexpr double k_infinity = std::numeric_limits<double>::infinity();
    BoundMap map;
    for (const auto& rule : whole.at("boxes")) {
        const auto offset = rule.at("offset").get<std::vector<std::uint64_t>>();
        const auto extent = rule.at("extent").get<std::vector<std::uint64_t>>();
        if (extent.empty() || extent.size() > k_max_rank || offset.size() != extent.size())
            return std::nullopt;
        map.boxes.push_back({{Shape(offset), Shape(extent)}, rule.at("bound").get<double>()});
    }
    for (const auto& rule : whole.at("values"))
        map.values.push_back({limit(rule.at("lowest"), -k_infinity),
                              limit(rule.at("highest"), k_infinity),
                              rule.at("bound").get<double>()});
    for (const auto& rule : whole.at("steep"))
        map.steep.push_back({rule.at("change").get<double>(), rule.at("bound").get<double>()});
    return std::pair(std::move(map), whole.at("elsewhere").get<double>());
} catch (const json::exception&) {
    return std::nullopt;
}

}  // namespace caesura::vol
