#include "data/internal/auto_shard.h"

#include "core/error.h"
#include "data/internal/file_source.h"
#include "data/internal/shard_node.h"
#include "data/internal/slice_node.h"

namespace belfry::data_internal {
namespace {

class ShardHintStream : public Stream {
 public:
  explicit ShardHintStream(const Node& node) : node_(node) {}

  std::optional<Batch> next() override {
    fail(ErrorKind::kFailedPrecondition,
         "Dataset::shard: kShardHint stands for what Dataset::auto_shard decides under AutoShardPolicy::kHint, and it "
         "has not: ",
         node_.describe());
  }

  void save(PositionWriter&) const override {}
  void restore(PositionReader&) override {}

 private:
  const Node& node_;
};

class ShardHintNode : public Node {
 public:
  explicit ShardHintNode(NodePtr input) : input_(std::move(input)) {}

  std::string describe() const override { return input_->describe() + ".shard(hint)"; }
  int64_t cardinality() const override { return input_->cardinality(); }
  bool batched() const override { return input_->batched(); }
  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_shard_hint(std::move(input)); }

  std::unique_ptr<Stream> open(int64_t) const override { return std::make_unique<ShardHintStream>(*this); }

 private:
  NodePtr input_;
};

NodePtr shard_by_hint(const NodePtr& node, int64_t workers, int64_t index) {
  return rebuild(node, [&](const Node& part) -> NodePtr {
    if (!dynamic_cast<const ShardHintNode*>(&part)) return nullptr;
    return make_slice(shard_by_hint(*part.input(), workers, index), shard_slice(workers, index),
                      shard_call(workers, index));
  });
}

const FileSource* files_of(const Node& node) {
  const Node* part = &node;
  while (part->input()) part = part->input()->get();
  return as_files(*part);
}

NodePtr shard_by_file(const NodePtr& node, int64_t workers, int64_t index) {
  const FileSource* source = files_of(*node);
  if (!source) {
    fail(ErrorKind::kNotFound,
         "Dataset::auto_shard: AutoShardPolicy::kFile, and the source is not files: ", node->describe());
  }
  require(source->files() >= workers, "Dataset::auto_shard: ", source->files(), " files for ", workers,
          " workers; each wants one or more. AutoShardPolicy::kData or kOff divides otherwise: ", node->describe());
  return rebuild(node, [&](const Node& part) {
    const FileSource* files = as_files(part);
    return files ? files->shard_files(workers, index) : nullptr;
  });
}

}  // namespace

NodePtr make_shard_hint(NodePtr input) { return std::make_shared<ShardHintNode>(std::move(input)); }

NodePtr auto_shard(const NodePtr& node, AutoShardPolicy policy, int64_t workers, int64_t index) {
  require(workers > 0, "Dataset::auto_shard: there are ", workers, " workers; at least 1 was wanted");
  require(index >= 0 && index < workers, "Dataset::auto_shard: the index is ", index, "; 0 to ", workers - 1,
          " was wanted");
  if (policy == AutoShardPolicy::kHint) return shard_by_hint(node, workers, index);
  if (policy == AutoShardPolicy::kOff || workers == 1) return node;
  if (policy == AutoShardPolicy::kAuto) {
    policy = files_of(*node) ? AutoShardPolicy::kFile : AutoShardPolicy::kData;
  }
  return policy == AutoShardPolicy::kFile ? shard_by_file(node, workers, index) : make_full_shard(node, workers, index);
}

}  // namespace belfry::data_internal
