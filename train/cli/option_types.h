#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/cli/usage_error.h"

// Not CLI11's header: with it a command compiles three times as long.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace skyline {

// Options with the checks and sentences that all commands share. `flag` is as CLI11 takes it:
// "--model", "-m,--model", or "TRACE" for a positional argument. Defaults are the values that the
// variables hold; they are shown in the help.

// One of `names`; `kind` is the noun in the error: "model".
CLI::Option* add_choice(CLI::App& options, const std::string& flag, std::string& value,
                        std::vector<std::string> names, const std::string& kind,
                        const std::string& help);

// Several of `names`, separated by commas; none of them twice. `name_of` gives the name in what
// stands between two commas, where it is only a part of it.
CLI::Option* add_choices(CLI::App& options, const std::string& flag,
                         std::vector<std::string>& values, std::vector<std::string> names,
                         const std::string& kind, const std::string& help,
                         std::string (*name_of)(const std::string&) = nullptr);

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
CLI::Option* add_number(CLI::App& options, const std::string& flag, std::optional<double>& value,
                        double least, double most, const std::string& help);

// Text as it stands. `type` is what the help shows in its place.
CLI::Option* add_string(CLI::App& options, const std::string& flag, std::string& value,
                        const std::string& help, const std::string& type = "TEXT");

// A file or folder that need not be there. Wrong usage where its name is empty.
CLI::Option* add_path(CLI::App& options, const std::string& flag, std::filesystem::path& value,
                      const std::string& help, const std::string& type = "TEXT");
CLI::Option* add_path(CLI::App& options, const std::string& flag,
                      std::optional<std::filesystem::path>& value, const std::string& help,
                      const std::string& type = "TEXT");

// Takes no value: sets `value`, or clears it where `flag` begins with "!": "!--no-in-place".
CLI::Option* add_flag(CLI::App& options, const std::string& flag, bool& value,
                      const std::string& help);

// --recompute of commands that run training steps of images, see Context::Options.
CLI::Option* add_recompute(CLI::App& options, std::int64_t& depth);
// --fused-update of the same.
CLI::Option* add_fused_update(CLI::App& options, bool& fused);

// A file that exists and can be read.
CLI::Option* add_input_file(CLI::App& options, const std::string& flag,
                            std::filesystem::path& value, const std::string& help);

// Wrong usage without it.
void require(CLI::Option* option);

// Whether an option stood on the command line. One that the command does not have did not.
bool was_given(const CLI::Option* option);
bool was_given(const CLI::App& options, const std::string& flag);

// The whole path of a file or folder that is there, so that a run can be taken up from anywhere;
// anything else stays as it is.
void make_absolute(std::string& path);

}  // namespace skyline
