// How far a training is: one line that renews itself on a terminal, now and then a line in the log elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belfry::internal {

struct ProgressOptions {
  std::optional<int64_t> last_step = {};  // the global step that ends the training, where one does
  int64_t first_step = 0;                 // the global step at the start
  int64_t log_every = 100;                // steps between lines of the log; 0: only the last line
  bool terminal = false;
  // Takes text as it is: on a terminal with its own returns and newlines, elsewhere a line without one. Empty: standard
  // error for a terminal, log_info elsewhere.
  std::function<void(std::string_view)> print = {};
  std::function<double()> clock = {};  // in seconds, from anywhere. Empty: the steady clock.
};

// Whether standard error is one.
bool standard_error_is_terminal();

// Used by one thread. Costs a look at the clock for a step that shows nothing.
class Progress {
 public:
  // kInvalidArgument for a negative log_every.
  explicit Progress(ProgressOptions options);

  // After each step: the global step, and the rows of its batch. `read_loss` is called only when a line is due, since
  // reading a loss waits for its device.
  template <class ReadLoss>
  void update(int64_t step, int64_t rows, const ReadLoss& read_loss) {
    if (count(step, rows)) show(read_loss());
  }
  void update(int64_t step, double loss, int64_t rows) {
    loss_ = loss;
    update(step, rows, [loss] { return loss; });
  }

  // The last line: where the training stopped and why, in the words of whoever stopped it ("the input ended"). A second
  // call does nothing.
  void done(std::string_view reason);

 private:
  struct Mark {
    double time = 0;
    int64_t step = 0;
    int64_t rows = 0;
  };

  bool count(int64_t step, int64_t rows);
  bool is_due() const;
  void show(double loss);
  void move_window();
  std::string line(double loss) const;
  std::string position() const;
  std::string speed_since(const Mark& start) const;
  std::string time_left() const;

  ProgressOptions options_;
  Mark start_;
  Mark now_;
  Mark window_;       // speeds are those since this mark
  Mark next_window_;  // and soon those since this one
  double shown_at_;
  std::optional<double> loss_;
  bool done_ = false;
};

}  // namespace belfry::internal
