// Which quantities and arrays a dataset holds that lies in the file as blocks, and which bound each
// is to be held to when more of it is written.
//
// The bounds are those that the dataset was made with: attributes say them (writer/tree.cpp), or,
// of one quantity, the filter's parameters. Where the quantities lie, attributes say of an axis,
// the type of members, and of boxes what says it when a dataset is made: the file itself, or a
// rule.
#pragma once

#include "vol/block_dataset.hpp"
#include "vol/quantities.hpp"

namespace caesura::vol {

/// The attributes of a dataset; nothing: it has none, or no such ones as we write.
std::optional<SaidBounds> said_bounds(const NativeObject& dataset);

/// What can be told of a dataset without the others: members, and quantities along an axis.
/// @param found  with `definition`, whose bound is the pipeline's, and `said`.
/// @return  null: nothing, so far.
std::shared_ptr<const writer::Composition> composition_said_by(const BlockDataset& found);

/// What can be told of its arrays, or, of one that nobody has written to, by the configuration.
/// @param quantities  quantities_of() it.
/// @return  null: it is one array of one quantity, as far as is known.
std::shared_ptr<const writer::Composition> composition_of(const BlockDataset& found,
                                                          const Config& config,
                                                          const Quantities& quantities);

/// The map that a dataset was made with, by its attributes or, of one that nobody has written to,
/// by the configuration: into its definition. Its blocks are held to the tightest bound that the
/// filter says where neither fits the filter.
void find_map(BlockDataset& found, const Config& config, const Quantities& quantities);

/// Rules that speak of its components have met a dataset, though they change nothing.
void note_rules(const BlockDataset& found, const Config& config);

/// DatasetDefinition::loosest of a found dataset whose composition is known.
std::vector<double> loosest_so_far(const BlockDataset& found);

}  // namespace caesura::vol
