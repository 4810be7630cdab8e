#include "train/lab/order/order_files.h"

#include "train/lab/load_file.h"

namespace skyline {

GraphFile load_graph(const std::filesystem::path& path) { return load_file(path, read_graph); }

OrderFile load_order(const std::filesystem::path& path) { return load_file(path, read_order); }

}  // namespace skyline
