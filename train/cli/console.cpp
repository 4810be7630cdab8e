#include "train/cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <utility>
#include <vector>

#include "data/host.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

constexpr std::string_view kYellow = "\033[33m", kRed = "\033[31m", kPlain = "\033[0m";
constexpr std::string_view kWipeLine = "\r\033[K";

// Whether the variable is set and not empty (no-color.org).
bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

constexpr double kTerminalSeconds = 0.1;  // between two redraws
constexpr double kPlainSeconds = 30;      // at most, between two plain lines
constexpr double kWindowSeconds = 10;     // over which the rate is measured
constexpr int kWidestBar = 24, kNarrowestBar = 6;

std::string fraction_of(std::int64_t done, std::int64_t all) {
  return all > 0 ? fmt::format("{}/{}", done, all) : fmt::format("{}", done);
}

// Returns the parts of a line, the most important first.
std::vector<std::string> parts(const ProgressFacts& facts) {
  std::vector<std::string> texts = {"step " + fraction_of(facts.step, facts.steps)};
  if (facts.epoch > 0) texts.push_back("epoch " + fraction_of(facts.epoch, facts.epochs));
  if (facts.loss) texts.push_back(fmt::format("loss {:.4f}", *facts.loss));
  if (facts.top1) texts.push_back(fmt::format("top-1 {:.1f} %", 100 * *facts.top1));
  if (facts.items_per_second) {
    texts.push_back(fmt::format("{:.{}f} {}/s", *facts.items_per_second,
                                *facts.items_per_second < 10 ? 1 : 0, facts.item));
  }
  if (facts.seconds_left) texts.push_back(format_duration(*facts.seconds_left) + " left");
  if (facts.learning_rate) texts.push_back(fmt::format("lr {:.3g}", *facts.learning_rate));
  if (!facts.note.empty()) texts.push_back(facts.note);
  return texts;
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "  "));
}

std::string bar(double fraction, int width) {
  const int full = std::clamp(static_cast<int>(std::floor(fraction * width)), 0, width);
  std::string text = "[";
  for (int i = 0; i < width; ++i) text += i < full ? "█" : "·";
  return text + "] ";
}

}  // namespace

TerminalFacts terminal_facts(int file_descriptor) {
  TerminalFacts facts;
  facts.is_terminal = isatty(file_descriptor) == 1 && !dumb_terminal();
  facts.colour = facts.is_terminal && !environment_has("NO_COLOR");
  winsize size{};
  const bool known = ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (facts.is_terminal && known) facts.width = size.ws_col;
  return facts;
}

void Console::say(std::string_view line) {
  if (!quiet_) print(printable_lines(line));
}

void Console::print(std::string_view line) {
  wipe_transient();
  const auto width = static_cast<std::size_t>(facts_.width);
  messages_ << (facts_.is_terminal ? wrapped_sentences(line, width) : std::string(line)) << '\n'
            << std::flush;
}

void Console::warn(std::string_view line) { labelled("warning: ", kYellow, line); }

void Console::error(std::string_view line) { labelled("error: ", kRed, line); }

void Console::labelled(std::string_view label, std::string_view colour, std::string_view line) {
  std::string text;
  if (facts_.colour) text += colour;
  text += label;
  if (facts_.colour) text += kPlain;
  print(text.append(printable_lines(line)));
}

void Console::show_transient(std::string_view line) {
  if (!facts_.is_terminal || quiet_) return;
  messages_ << kWipeLine << printable_lines(line) << std::flush;
  transient_ = true;
}

void Console::wipe_transient() {
  if (!transient_) return;
  messages_ << kWipeLine << std::flush;
  transient_ = false;
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_bar(const ProgressFacts& facts, int width) {
  std::vector<std::string> texts = parts(facts);
  // One column stays free: some terminals wrap when the last one is written.
  const auto room = static_cast<std::size_t>(std::max(width - 1, 1));
  while (texts.size() > 1 && display_width(joined(texts)) > room) texts.pop_back();
  std::string line = joined(texts);
  if (display_width(line) > room) return line.substr(0, room);  // "step n/m" is ASCII
  constexpr int kBrackets = 3;
  const int left = static_cast<int>(room - display_width(line)) - kBrackets;
  if (facts.steps <= 0 || left < kNarrowestBar) return line;
  const double fraction = static_cast<double>(facts.step) / static_cast<double>(facts.steps);
  return bar(fraction, std::min(left, kWidestBar)) + line;
}

std::string progress_line(const ProgressFacts& facts) { return joined(parts(facts)); }

Progress::Progress(Console& console, std::int64_t steps, double items_per_step, std::string item,
                   std::int64_t steps_done_before, std::optional<std::int64_t> every,
                   Clock clock)
    : console_(console),
      steps_(steps),
      items_per_step_(items_per_step),
      item_(std::move(item)),
      every_(every),
      clock_(clock ? std::move(clock)
                   : [] { return Clock::result_type(std::chrono::steady_clock::now().time_since_epoch()); }),
      window_{clock_().count(), steps_done_before},
      next_window_(window_) {}

Progress::~Progress() { console_.wipe_transient(); }

bool Progress::due(std::int64_t step, double now) const {
  if (!last_shown_ || step == steps_) return true;
  if (every_) return step % *every_ == 0;
  return now - *last_shown_ >= (plain() ? interval_ : kTerminalSeconds);
}

void Progress::measure(ProgressFacts& facts, double now) {
  const double elapsed = now - window_.seconds;
  const auto steps = static_cast<double>(facts.step - window_.step);
  if (now - next_window_.seconds >= kWindowSeconds) {
    window_ = std::exchange(next_window_, Mark{now, facts.step});
  }
  if (!(elapsed > 0 && steps > 0)) return;
  const double seconds_per_step = elapsed / steps;
  facts.items_per_second = items_per_step_ / seconds_per_step;
  if (steps_ > 0) facts.seconds_left = seconds_per_step * static_cast<double>(steps_ - facts.step);
}

void Progress::step_done(ProgressFacts facts) {
  const double now = clock_().count();
  if (!due(facts.step, now)) return;
  facts.steps = steps_;
  facts.item = item_;
  measure(facts, now);
  if (plain()) {
    console_.say(progress_line(facts));
    if (last_shown_) interval_ = std::min(2 * interval_, kPlainSeconds);
  } else {
    console_.show_transient(progress_bar(facts, console_.facts().width));
  }
  last_shown_ = now;
}

void Progress::evaluated(std::size_t samples, std::size_t total) {
  const double now = clock_().count();
  const bool terminal = console_.facts().is_terminal;
  if (!evaluation_shown_) {
    evaluation_shown_ = now;
    evaluation_interval_ = 1;
  } else if (now - *evaluation_shown_ >= (terminal ? kTerminalSeconds : evaluation_interval_)) {
    const std::string line = fmt::format("evaluating: {} of {} {}", samples, total, item_);
    if (terminal) {
      console_.show_transient(line);
    } else {
      console_.say(line);
    }
    evaluation_shown_ = now;
    evaluation_interval_ = std::min(2 * evaluation_interval_, kPlainSeconds);
  }
  if (samples == total) evaluation_shown_.reset();
}

}  // namespace skyline
