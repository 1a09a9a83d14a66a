// Watches the loss for NaN.
#pragma once

#include "../session_run_hook.h"

namespace belfry {

class NanTensorHook : public SessionRunHook {
 public:
  // False: a warning, the step is thrown away and training stops.
  explicit NanTensorHook(bool fail_on_nan_loss = true) : fail_on_nan_loss_(fail_on_nan_loss) {}

  // kNanLoss, with the step and, where there are several, the tower, before the variables are touched. Infinity passes.
  void before_apply(RunContext& context) override;

 private:
  bool fail_on_nan_loss_;
};

}  // namespace belfry
