#pragma once

#include <string>
#include <string_view>

#include "data/images/idx/idx_dataset.h"
#include "train/images/image_data.h"
#include "train/options/data_options.h"

namespace skyline {

// Returns the name of the collection with a label file, not compressed, of this SHA-256; empty for
// an unknown one.
std::string_view known_collection_name(std::string_view labels_sha256);

// Names IDX files: by options.class_names; or as MNIST or Fashion-MNIST, recognised by the SHA-256
// of either label file; or by the folder and the numbers of its classes, as many as options.classes
// or the largest label says. Throws DataError if the file of names cannot be read.
IdxNaming idx_naming(const DataOptions& options);

// Opens a folder of IDX files. Both splits are normalised by the training images' mean and
// deviation; without training images, the caller gives a normalisation. Throws DataError.
ImageData open_idx(const DataOptions& options, bool needs_train);

// Normalises both splits of IDX files.
void set_normalisation(ImageData& data, const Normalisation& normalisation);
// "levels are normalised by the training images' mean 0.2860 and deviation 0.3530".
std::string normalisation_text(const Normalisation& normalisation);

}  // namespace skyline
