#include "optimizers/merge_updates.h"

#include <algorithm>

#include "core/error.h"
#include "distribute/step_context.h"
#include "optimizers/optimizer.h"

namespace belfry {
namespace {

std::string call_of(const PendingUpdate& update) {
  const int64_t steps = update.optimizer().accumulation().steps;
  return concat(update.call(), " of ", update.optimizer().name(), steps > 1 ? concat(" over ", steps, " steps") : "");
}

std::string call_or_nothing(const StepContext& tower, size_t k) {
  if (k >= tower.updates().size()) return "nothing";
  const std::source_location& where = tower.updates()[k]->where();
  return concat(call_of(*tower.updates()[k]), " at ", where.file_name(), ":", where.line());
}

void check_same_calls(const std::vector<const StepContext*>& towers) {
  for (const StepContext* tower : towers) {
    const size_t calls = std::max(tower->updates().size(), towers[0]->updates().size());
    for (size_t k = 0; k < calls; ++k) {
      const bool both = k < tower->updates().size() && k < towers[0]->updates().size();
      if (both && call_of(*tower->updates()[k]) == call_of(*towers[0]->updates()[k])) continue;
      fail(ErrorKind::kFailedPrecondition, "every ", tower->noun(),
           " has to make the same optimizer calls in the same order; call ", k + 1, " of ", towers[0]->called(), " is ",
           call_or_nothing(*towers[0], k), ", of ", tower->called(), " ", call_or_nothing(*tower, k));
    }
  }
}

bool reaches_any(const std::vector<GradientsAndVariables>& towers) {
  for (const GradientsAndVariables& tower : towers) {
    for (const GradientAndVariable& entry : tower) {
      if (entry.gradient.defined()) return true;
    }
  }
  return false;
}

}  // namespace

void check_complete(const TrainOp& train_op, const StepContext& context) {
  const auto& given = train_op.updates();
  const auto& made = context.updates();
  for (const auto& update : made) {
    const auto times = std::count(given.begin(), given.end(), update);
    if (times == 1) continue;
    fail(ErrorKind::kInvalidArgument, update->description(),
         times > 1 ? " is part of the train_op more than once"
                   : " is not part of the train_op: give group({...}) of all of them to EstimatorSpec::train");
  }
  for (const auto& update : given) {
    if (std::find(made.begin(), made.end(), update) != made.end()) continue;
    fail(ErrorKind::kInvalidArgument, update->description(),
         " is part of the train_op and was made in another step: a train op is made anew in each");
  }
}

TrainOp merge_tower_updates(const std::vector<const StepContext*>& towers) {
  check_same_calls(towers);
  std::vector<std::shared_ptr<PendingUpdate>> merged;
  for (size_t k = 0; k < towers[0]->updates().size(); ++k) {
    const PendingUpdate& first = *towers[0]->updates()[k];
    auto update = std::make_shared<PendingUpdate>(first.optimizer(), first.call(), first.where());
    for (const StepContext* tower : towers) {
      for (GradientsAndVariables& gradients : tower->updates()[k]->gradients) {
        update->gradients.push_back(std::move(gradients));
      }
    }
    if (!reaches_any(update->gradients)) {
      fail(ErrorKind::kInvalidArgument, first.description(), ": no gradients are provided: in no ", towers[0]->noun(),
           " does the loss reach a trainable variable");
    }
    merged.push_back(std::move(update));
  }
  return TrainOp(std::move(merged));
}

}  // namespace belfry
