#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/usage_error.h"

namespace skyline {

// Options with the checks and sentences that all commands share. `flag` is as CLI11 takes it:
// "--model", "-m,--model", or "TRACE" for a positional argument. Defaults are the values that the
// variables hold; they are shown in the help.

// One of `names`; `kind` is the noun in the error: "model".
CLI::Option* add_choice(CLI::App& options, const std::string& flag, std::string& value,
                        std::vector<std::string> names, const std::string& kind,
                        const std::string& help);

// Several of `names`, separated by commas; none of them twice.
CLI::Option* add_choices(CLI::App& options, const std::string& flag,
                         std::vector<std::string>& values, std::vector<std::string> names,
                         const std::string& kind, const std::string& help);

// Bytes with binary units, as parse_bytes takes them.
CLI::Option* add_bytes(CLI::App& options, const std::string& flag, std::uint64_t& value,
                       const std::string& help);
CLI::Option* add_bytes(CLI::App& options, const std::string& flag,
                       std::optional<std::uint64_t>& value, const std::string& help);

// A whole number from `least` to `most`.
CLI::Option* add_integer(CLI::App& options, const std::string& flag, std::int64_t& value,
                         std::int64_t least, std::int64_t most, const std::string& help);
CLI::Option* add_integer(CLI::App& options, const std::string& flag,
                         std::optional<std::int64_t>& value, std::int64_t least, std::int64_t most,
                         const std::string& help);

// A finite number from `least` to `most`.
CLI::Option* add_number(CLI::App& options, const std::string& flag, double& value, double least,
                        double most, const std::string& help);

// A file that exists and can be read.
CLI::Option* add_input_file(CLI::App& options, const std::string& flag,
                            std::filesystem::path& value, const std::string& help);

// The whole path of a file or folder that is there, so that a run can be taken up from anywhere;
// anything else stays as it is.
void make_absolute(std::string& path);

}  // namespace skyline
