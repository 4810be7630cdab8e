#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

// Display capabilities of a stream.
struct TerminalFacts {
  bool is_terminal = false;  // a terminal that can move its cursor
  bool colour = false;       // a terminal, NO_COLOR unset or empty, TERM is not "dumb"
  int width = 80;            // columns
};

// Reads them from the file descriptor and the environment.
TerminalFacts terminal_facts(int file_descriptor);

// Prints messages and progress to standard error. Results are returned by commands instead.
class Console {
 public:
  Console(std::ostream& messages, TerminalFacts facts) : messages_(messages), facts_(facts) {}

  const TerminalFacts& facts() const noexcept { return facts_; }
  // Prints warnings and errors only.
  void be_quiet() noexcept { quiet_ = true; }
  void say(std::string_view line);    // the line as it is, but for printable_lines(): names from
                                      // files must not command the terminal
  void warn(std::string_view line);   // "warning: " before it
  void error(std::string_view line);  // "error: " before it

  // Replaces the transient line before it. Only on terminals; say(), warn() and error() wipe it.
  void show_transient(std::string_view line);
  void wipe_transient();

 private:
  void print(std::string_view line);
  void labelled(std::string_view label, std::string_view colour, std::string_view line);

  std::ostream& messages_;
  TerminalFacts facts_;
  bool transient_ = false;
  bool quiet_ = false;
};

// The state of a run after a step.
struct ProgressFacts {
  std::int64_t step = 0;   // steps done in all epochs
  std::int64_t steps = 0;  // of the whole run; 0: unknown
  std::int64_t epoch = 0;  // the running one, from 1
  std::int64_t epochs = 0;
  std::optional<double> loss = {};
  std::optional<double> items_per_second = {};
  std::optional<double> top1 = {};  // of the training images of the epoch so far
  std::optional<double> seconds_left = {};
  std::optional<double> learning_rate = {};
  std::string item = "images";  // what a batch counts: "images", "sentences"
  std::string note = {};        // shown last: "planned", "warm-up"
};

// One line of at most `width` columns: bar, step, epoch, loss, rate, time left, note. If there is
// too little room, the bar shrinks first, then the last parts are left out.
std::string progress_bar(const ProgressFacts& facts, int width);

// The same facts as a plain line for logs.
std::string progress_line(const ProgressFacts& facts);

// "4 s", "2 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

// Shows a run's progress. On a terminal it redraws one line, at most ten times per second.
// Elsewhere it prints a plain line at the first and the last step, and between them after 1, 2, 4,
// … and then every 30 seconds. Rate and time left cover about the last ten seconds.
// If `every` is set, it prints a plain line every so many steps instead, on terminals, too.
class Progress {
 public:
  using Clock = std::function<std::chrono::duration<double>()>;  // since any fixed moment

  // `items_per_step` is the batch size. The clock is for tests.
  Progress(Console& console, std::int64_t steps, double items_per_step, std::string item,
           std::int64_t steps_done_before = 0, std::optional<std::int64_t> every = {},
           Clock clock = {});
  ~Progress();  // wipes the moving line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The rest of the facts is measured here.
  void step_done(ProgressFacts facts);
  // Shows the progress of an evaluation. One that takes less than a second prints no plain line.
  void evaluated(std::size_t samples, std::size_t total);

 private:
  bool plain() const { return every_ || !console_.facts().is_terminal; }
  bool due(std::int64_t step, double now) const;
  void measure(ProgressFacts& facts, double now);

  Console& console_;
  std::int64_t steps_;
  double items_per_step_;
  std::string item_;
  std::optional<std::int64_t> every_;
  Clock clock_;
  std::optional<double> last_shown_;        // when a line was shown last
  double interval_ = 1;                     // seconds until the next plain line
  std::optional<double> evaluation_shown_;  // its last line or its start; empty between evaluations
  double evaluation_interval_ = 1;
  // The rate is measured from `window_`; each window becomes the next one's start.
  struct Mark {
    double seconds;
    std::int64_t step;
  };
  Mark window_, next_window_;
};

}  // namespace skyline
