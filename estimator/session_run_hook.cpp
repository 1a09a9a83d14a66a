#include "estimator/session_run_hook.h"

#include <utility>

#include "core/error.h"

namespace belfry {

void RunContext::request_stop(std::string reason) {
  if (std::exchange(stop_requested_, true)) return;
  stop_reason_ = std::move(reason);
}

const EstimatorSpec& RunContext::spec() const {
  if (!spec_) fail(ErrorKind::kFailedPrecondition, "RunContext::spec: the model_fn has not run yet in this step");
  return *spec_;
}

void RunContext::set_spec(const EstimatorSpec* spec, double loss) {
  spec_ = spec;
  loss_ = loss;
}

}  // namespace belfry
