#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

namespace skyline {

// Implements main(): parses the options that `add` declares and calls `run`. Returns the exit code:
// 1, with one line on standard error, if `run` throws.
template <typename Options>
int run_benchmark(int count, char** arguments, const char* description,
                  void (*add)(CLI::App& app, Options& options),
                  void (*run)(const Options& options)) {
  Options options;
  CLI::App app(description);
  add(app, options);
  try {
    app.parse(count, arguments);
    run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace skyline
