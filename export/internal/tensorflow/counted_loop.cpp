#include "export/internal/tensorflow/counted_loop.h"

#include "core/error.h"

namespace belfry::internal {

CountedLoop::CountedLoop(GraphDefBuilder& out, const TfTensor& steps) : out_(out) {
  steps_ = enter(steps);
  one_ = enter(out_.int32(1));
  add_state(out_.int32(0));
}

TfNode CountedLoop::entering(const TfTensor& outside) {
  TfNode node = out_.node("Enter");
  if (frame_.empty()) frame_ = node.output(outside.dtype).name;
  return node.input(outside).text("frame_name", frame_);
}

TfTensor CountedLoop::enter(const TfTensor& outside) {
  return entering(outside).type("T", outside.dtype).flag("is_constant", true).output(outside.dtype);
}

TfTensor CountedLoop::enter_resource(const TfTensor& handle) {
  return entering(handle).resource("T").flag("is_constant", true).output(handle.dtype);
}

void CountedLoop::add_state(const TfTensor& first) {
  const TfTensor entered = entering(first).type("T", first.dtype).output(first.dtype);
  merges_.push_back(out_.node("Merge").input(entered).type("T", first.dtype).integer("N", 2));
  merged_.push_back(merges_.back().output(first.dtype));
}

void CountedLoop::begin() {
  const TfTensor is_step =
      out_.node("Less").input(merged_.front()).input(steps_).type("T", c10::kInt).output(c10::kBool);
  const TfTensor goes_on = out_.node("LoopCond").input(is_step).output(c10::kBool);
  for (const TfTensor& merged : merged_) {
    const TfNode branches = out_.node("Switch").input(merged).input(goes_on).type("T", merged.dtype);
    last_.push_back(branches.output(merged.dtype, 0));
    values_.push_back(branches.output(merged.dtype, 1));
  }
}

std::vector<TfTensor> CountedLoop::end(const std::vector<TfTensor>& next) {
  std::vector<TfTensor> all{out_.binary("AddV2", step(), one_)};
  all.insert(all.end(), next.begin(), next.end());
  std::vector<TfTensor> results;
  for (size_t i = 0; i < all.size(); ++i) {
    merges_.at(i).input(out_.unary("NextIteration", all[i]));
    if (i > 0) results.push_back(out_.unary("Exit", last_[i]));
  }
  return results;
}

}  // namespace belfry::internal
