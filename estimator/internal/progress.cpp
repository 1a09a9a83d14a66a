#include "estimator/internal/progress.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace belfry::internal {
namespace {

constexpr double kSecondsBetweenRedraws = 0.1;  // faster than one reads
constexpr double kWindowSeconds = 2;  // on a terminal; a line of the log covers the steps since the one before

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print_to_terminal(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

// Three digits or so: 0.52, 8.31, 351, 12.3k, 4.56M.
std::string short_number(double value) {
  if (value >= 1e6) return format("%.2fM", value / 1e6);
  if (value >= 1e4) return format("%.1fk", value / 1e3);
  return format(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
}

// 0:07, 12:00, 3:05:10.
std::string clock_time(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const int hours = static_cast<int>(whole / 3600);
  const int minutes = static_cast<int>(whole / 60 % 60);
  const int rest = static_cast<int>(whole % 60);
  return hours > 0 ? format("%d:%02d:%02d", hours, minutes, rest) : format("%d:%02d", minutes, rest);
}

}  // namespace

bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  require(options_.log_every >= 0, "log_step_count_steps is ", options_.log_every, " and cannot be negative");
  if (!options_.clock) options_.clock = steady_seconds;
  if (!options_.print && options_.terminal) options_.print = print_to_terminal;
  if (!options_.print) options_.print = [](std::string_view text) { log_info(text); };
  start_ = {options_.clock(), options_.first_step, 0};
  now_ = window_ = next_window_ = start_;
  shown_at_ = start_.time;
}

bool Progress::count(int64_t step, int64_t rows) {
  now_ = {options_.clock(), step, now_.rows + rows};
  return is_due();
}

bool Progress::is_due() const {
  if (options_.terminal) return now_.time - shown_at_ >= kSecondsBetweenRedraws;
  return options_.log_every > 0 && now_.step - window_.step >= options_.log_every;
}

void Progress::show(double loss) {
  loss_ = loss;
  const std::string text = line(loss);
  options_.print(options_.terminal ? "\r" + text + "\x1b[K" : text);
  shown_at_ = now_.time;
  move_window();
}

void Progress::move_window() {
  if (!options_.terminal) {
    window_ = now_;
  } else if (now_.time - next_window_.time >= kWindowSeconds) {
    window_ = std::exchange(next_window_, now_);
  }
}

std::string Progress::line(double loss) const {
  return concat(position(), format(", loss %.6g", loss), speed_since(window_), time_left());
}

std::string Progress::position() const {
  return options_.last_step ? concat("step ", now_.step, " of ", *options_.last_step) : concat("step ", now_.step);
}

std::string Progress::speed_since(const Mark& start) const {
  const double seconds = now_.time - start.time;
  if (seconds <= 0) return "";
  return concat(", ", short_number(static_cast<double>(now_.step - start.step) / seconds), " steps/s, ",
                short_number(static_cast<double>(now_.rows - start.rows) / seconds), " rows/s");
}

std::string Progress::time_left() const {
  const double seconds = now_.time - window_.time;
  const int64_t steps = now_.step - window_.step;
  if (!options_.last_step || steps <= 0 || now_.step > *options_.last_step) return "";
  return concat(", ", clock_time(static_cast<double>(*options_.last_step - now_.step) * seconds / steps), " left");
}

void Progress::done(std::string_view reason) {
  if (std::exchange(done_, true)) return;
  now_.time = options_.clock();
  const std::string text =
      concat("ended at ", position(), ": ", reason, loss_ ? format("; last loss seen %.6g", *loss_) : "", " (",
             clock_time(now_.time - start_.time), speed_since(start_), ")");
  options_.print(options_.terminal ? "\r" + text + "\x1b[K\n" : text);
}

}  // namespace belfry::internal
