// Goal: what packages call coordinates is known by its path, and fields are not.
#include "vol/coordinates.hpp"

#include <gtest/gtest.h>

namespace caesura::vol {
namespace {

bool is_one(const std::string& path, int rank = 1) {
    return !coordinate_by_path(path, rank).empty();
}

TEST(Coordinates, are_known_by_their_paths) {
    for (const char* path : {"/lon",
                             "/lat",
                             "/LAT",
                             "/longitude",
                             "/grid_latitude",
                             "/nav_lon",
                             "/XLONG",
                             "/TLAT",
                             "/lon_rho",
                             "/geolat_t",
                             "/ocean/rlon",
                             "/time",
                             "/time_bnds",
                             "/lev_bounds",
                             "/lon-bnds",
                             "/Mesh/mesh/geometry",
                             "/Mesh/0/mesh/coordinates",
                             "/Mesh/mesh/topology",
                             "/VTKHDF/Points",
                             "/PartType0/Coordinates",
                             "/data/0/particles/e/position/x",
                             "/data/0/particles/e/positionOffset/y",
                             "/Base/Zone/GridCoordinates/CoordinateX/ data",
                             "/coordx",
                             "/Mesh2_node_x",
                             "/Grid00000001/particle_position_x"})
        for (const int rank : {1, 2}) EXPECT_TRUE(is_one(path, rank) || rank == 2) << path;
    EXPECT_TRUE(is_one("/nav_lon", 2));
    EXPECT_TRUE(is_one("/Mesh/mesh/geometry", 2));
}

TEST(Coordinates, are_no_fields) {
    for (const char* path :
         {"/rho", "/level_0/data:datatype=0", "/latent_heat", "/laterite", "/lone_pairs", "/temp",
          "/data/0/fields/E/x_momentum", "/timestep_error", "/Function/u/0", "/positions_of/rho_x",
          "/data/0/particles/e/momentum/px", "/pointwise", "/coordination_number", "/along",
          "/flat", "/translation", "/plate", "/platinum", "/oscillation_x"})
        EXPECT_FALSE(is_one(path)) << path << ": " << coordinate_by_path(path, 1);
}

// Fields on grids may be called like axes.
TEST(Coordinates, of_one_axis_are_no_fields_of_three) {
    EXPECT_TRUE(is_one("/x"));
    EXPECT_TRUE(is_one("/Step#0/z"));
    EXPECT_FALSE(is_one("/x", 3));
    EXPECT_FALSE(is_one("/data/0/fields/E/x"));  // of one axis too
    EXPECT_FALSE(is_one("/data/0/particles/e/momentum/x"));
    EXPECT_FALSE(is_one("/depth", 2));
}

TEST(Coordinates, are_named_by_attributes_of_others) {
    NamedCoordinates named;
    named.add("lon_of_station  /grid/cell_area");
    EXPECT_TRUE(named.has("/ocean/lon_of_station"));
    EXPECT_TRUE(named.has("/cell_area"));
    EXPECT_FALSE(named.has("/ocean/station"));
    EXPECT_TRUE(NamedCoordinates::is_list("coordinates"));
    EXPECT_FALSE(NamedCoordinates::is_list("units"));
}

TEST(Coordinates, say_why) {
    EXPECT_EQ(coordinate_by_path("/Lon", 1), "its name is 'Lon'");
    EXPECT_EQ(coordinate_by_path("/particles/e/position/q", 1), "it is in a group 'position'");
}

}  // namespace
}  // namespace caesura::vol
