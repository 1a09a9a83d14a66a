#include "estimator/hooks/summary_saver_hook.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "estimator/summaries/event_writer.h"

namespace belfry {
namespace {

double number_of(const Summary& summary) {
  if (summary.kind == SummaryKind::kScalar) return summary.value.item<double>();
  return summary.value.eq(0).to(at::kDouble).mean().item<double>();
}

}  // namespace

SummarySaverHook::SummarySaverHook(std::optional<int64_t> save_steps, std::optional<double> save_secs,
                                   std::function<const Summaries&()> summaries)
    : timer_(save_steps, save_secs), summaries_(std::move(summaries)) {}

void SummarySaverHook::begin(HookSession& session) { events_ = session.events; }

void SummarySaverHook::after_run(RunContext& context) {
  if (!events_ || context.vetoed() || !timer_.should_trigger(context.global_step())) return;
  timer_.update_last_triggered(context.global_step());
  std::vector<std::pair<std::string, double>> scalars;
  for (const Summary& summary : summaries_()) {
    if (summary.kind == SummaryKind::kHistogram) {
      events_->add_histogram(summary.tag, summary.value, context.global_step());
    } else {
      scalars.emplace_back(summary.tag, number_of(summary));
    }
  }
  const bool has_loss = std::any_of(scalars.begin(), scalars.end(), [](const auto& s) { return s.first == "loss"; });
  if (!has_loss) scalars.emplace_back("loss", context.loss());
  events_->add_scalars(scalars, context.global_step());
}

}  // namespace belfry
