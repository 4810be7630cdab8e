#include "train/cli/option_types.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "train/cli/byte_sizes.h"
#include "train/cli/did_you_mean.h"

namespace skyline {
namespace {

// "--model" of "-m,--model"; "TRACE" of a positional argument.
std::string shown_name(const std::string& flag) {
  const auto comma = flag.rfind(',');
  return comma == std::string::npos ? flag : flag.substr(comma + 1);
}

// An option whose text `take` turns into its value. Errors begin with the option's name.
CLI::Option* add_text(CLI::App& options, const std::string& flag, const std::string& help,
                      const std::string& type, std::function<void(const std::string&)> take) {
  const auto named = [name = shown_name(flag), take](const std::string& text) {
    try {
      take(text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", name, error.what()));
    }
  };
  return options.add_option_function<std::string>(flag, named, help)->type_name(type);
}

std::string with_names(const std::string& help, const std::vector<std::string>& names) {
  return fmt::format("{}: {}", help, fmt::join(names, ", "));
}

void check_name(const std::string& name, const std::vector<std::string>& names,
                const std::string& kind) {
  if (std::ranges::find(names, name) == names.end()) {
    throw UsageError(unknown_name(kind, name, names));
  }
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The whole text as a number. from_chars knows no locale and no leading blanks.
template <typename Number>
Number parse_number(const std::string& text, Number least, Number most, std::string_view noun) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool too_long = error == std::errc::result_out_of_range;
  if (stopped != end || (error != std::errc() && !too_long)) {
    throw UsageError(fmt::format("'{}' is not {}", text, noun));
  }
  if (too_long || !(value >= least && value <= most)) {
    const bool unbounded = most == std::numeric_limits<Number>::max();
    const std::string range = unbounded ? fmt::format("must be at least {}", least)
                                        : fmt::format("must be from {} to {}", least, most);
    throw UsageError(fmt::format("{} is out of range: it {}", text, range));
  }
  return value;
}

void check_readable(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw UsageError(fmt::format("no file '{}'", path.string()));
  }
  if (std::filesystem::is_directory(status)) {
    throw UsageError(fmt::format("'{}' is a folder, not a file", path.string()));
  }
}

// An unset variable of the user's shell must not read as an option that was not given.
const std::string& path_of(const std::string& text) {
  if (text.empty()) throw UsageError("an empty name of a file or folder");
  return text;
}

constexpr std::string_view kWholeNumber = "a whole number";

}  // namespace

CLI::Option* add_choice(CLI::App& options, const std::string& flag, std::string& value,
                        std::vector<std::string> names, const std::string& kind,
                        const std::string& help) {
  const std::string shown = with_names(help, names);
  return add_text(options, flag, shown, "NAME",
                  [&value, kind, names = std::move(names)](const std::string& text) {
                    check_name(text, names, kind);
                    value = text;
                  })
      ->default_str(value);
}

CLI::Option* add_choices(CLI::App& options, const std::string& flag,
                         std::vector<std::string>& values, std::vector<std::string> names,
                         const std::string& kind, const std::string& help,
                         std::string (*name_of)(const std::string&)) {
  const std::string shown = with_names(help, names);
  return add_text(options, flag, shown, "NAME,…",
                  [&values, kind, name_of, names = std::move(names)](const std::string& text) {
                    const std::vector<std::string> parts = split_at_commas(text);
                    for (std::size_t i = 0; i < parts.size(); ++i) {
                      check_name(name_of ? name_of(parts[i]) : parts[i], names, kind);
                      const auto here = parts.begin() + static_cast<std::ptrdiff_t>(i);
                      const bool twice = std::find(parts.begin(), here, parts[i]) != here;
                      if (twice) {
                        throw UsageError(fmt::format("{} '{}' is given twice", kind, parts[i]));
                      }
                    }
                    values = parts;
                  })
      ->default_str(fmt::format("{}", fmt::join(values, ",")));
}

CLI::Option* add_bytes(CLI::App& options, const std::string& flag, std::uint64_t& value,
                       const std::string& help) {
  return add_text(options, flag, help, "SIZE",
                  [&value](const std::string& text) { value = parse_bytes(text); })
      ->default_str(format_bytes_exact(value));
}

CLI::Option* add_bytes(CLI::App& options, const std::string& flag,
                       std::optional<std::uint64_t>& value, const std::string& help) {
  return add_text(options, flag, help, "SIZE",
                  [&value](const std::string& text) { value = parse_bytes(text); });
}

CLI::Option* add_integer(CLI::App& options, const std::string& flag, std::int64_t& value,
                         std::int64_t least, std::int64_t most, const std::string& help) {
  return add_text(options, flag, help, "N",
                  [&value, least, most](const std::string& text) {
                    value = parse_number(text, least, most, kWholeNumber);
                  })
      ->default_str(std::to_string(value));
}

CLI::Option* add_integer(CLI::App& options, const std::string& flag,
                         std::optional<std::int64_t>& value, std::int64_t least, std::int64_t most,
                         const std::string& help) {
  return add_text(options, flag, help, "N", [&value, least, most](const std::string& text) {
    value = parse_number(text, least, most, kWholeNumber);
  });
}

CLI::Option* add_number(CLI::App& options, const std::string& flag, double& value, double least,
                        double most, const std::string& help) {
  return add_text(options, flag, help, "X",
                  [&value, least, most](const std::string& text) {
                    value = parse_number(text, least, most, "a number");
                  })
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_number(CLI::App& options, const std::string& flag, std::optional<double>& value,
                        double least, double most, const std::string& help) {
  return add_text(options, flag, help, "X", [&value, least, most](const std::string& text) {
    value = parse_number(text, least, most, "a number");
  });
}

CLI::Option* add_string(CLI::App& options, const std::string& flag, std::string& value,
                        const std::string& help, const std::string& type) {
  return options.add_option(flag, value, help)->type_name(type)->capture_default_str();
}

CLI::Option* add_path(CLI::App& options, const std::string& flag, std::filesystem::path& value,
                      const std::string& help, const std::string& type) {
  return add_text(options, flag, help, type,
                  [&value](const std::string& text) { value = path_of(text); });
}

CLI::Option* add_path(CLI::App& options, const std::string& flag,
                      std::optional<std::filesystem::path>& value, const std::string& help,
                      const std::string& type) {
  return add_text(options, flag, help, type,
                  [&value](const std::string& text) { value = path_of(text); });
}

CLI::Option* add_flag(CLI::App& options, const std::string& flag, bool& value,
                      const std::string& help) {
  return options.add_flag(flag, value, help);
}

void require(CLI::Option* option) { option->required(); }

bool was_given(const CLI::Option* option) { return option->count() > 0; }

bool was_given(const CLI::App& options, const std::string& flag) {
  const CLI::Option* option = options.get_option_no_throw(flag);
  return option != nullptr && was_given(option);
}

CLI::Option* add_recompute(CLI::App& options, std::int64_t& depth) {
  return add_integer(options, "--recompute", depth, 0, 1000,
                     "Cheap ops at most so many behind each other are run again in the backward "
                     "pass, so that their results need not be kept");
}

CLI::Option* add_fused_update(CLI::App& options, bool& fused) {
  return add_flag(
      options, "--fused-update", fused,
      "Update each parameter as soon as backward has its gradient, which is freed then");
}

CLI::Option* add_input_file(CLI::App& options, const std::string& flag,
                            std::filesystem::path& value, const std::string& help) {
  return add_text(options, flag, help, "FILE", [&value](const std::string& text) {
    check_readable(text);
    value = text;
  });
}

void make_absolute(std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  if (!error) path = whole.string();
}

}  // namespace skyline
