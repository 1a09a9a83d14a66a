#include "estimator/session_run_hook.h"

#include <utility>

namespace belfry {

void RunContext::request_stop(std::string reason) {
  if (stop_reason_.empty()) stop_reason_ = std::move(reason);
}

void RunContext::set_spec(const EstimatorSpec* spec, double loss) {
  spec_ = spec;
  loss_ = loss;
}

}  // namespace belfry
