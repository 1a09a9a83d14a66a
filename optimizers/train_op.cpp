#include "optimizers/train_op.h"

#include "core/error.h"
#include "optimizers/optimizer.h"

namespace belfry {

PendingUpdate::PendingUpdate(const Optimizer& optimizer, std::string call, std::source_location where)
    : optimizer_(std::make_unique<Optimizer>(optimizer)), call_(std::move(call)), where_(where) {}

PendingUpdate::~PendingUpdate() = default;

std::string PendingUpdate::description() const {
  return concat(call_, " of ", optimizer_->name(), " at ", where_.file_name(), ":", where_.line());
}

TrainOp group(const std::vector<TrainOp>& train_ops) {
  std::vector<std::shared_ptr<PendingUpdate>> updates;
  for (const TrainOp& op : train_ops) updates.insert(updates.end(), op.updates().begin(), op.updates().end());
  return TrainOp(std::move(updates));
}

}  // namespace belfry
