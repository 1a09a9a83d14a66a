#include "data/internal/generator_source.h"

#include "core/error.h"
#include "data/dataset.h"
#include "data/internal/adopt.h"

namespace belfry::data_internal {
namespace {

constexpr int64_t kProgressEvery = 1024;

class GeneratorStream : public Stream {
 public:
  GeneratorStream(Generator generator, const GeneratorOptions& options)
      : generator_(std::move(generator)), options_(options) {}

  std::optional<Batch> next() override {
    if (ended_) return std::nullopt;
    std::optional<Batch> element = generator_.next();
    if (!element) {
      ended_ = true;
      return std::nullopt;
    }
    check(*element);
    ++made_;
    return adopt_from_maker(*std::move(element));
  }

  void save(PositionWriter& to) const override {
    to.number(made_);
    to.number(generator_.can_restore());
    if (generator_.can_restore()) to.text(generator_.save());
  }

  void restore(PositionReader& from) override {
    const int64_t made = from.number();
    if (!from.flag()) return replay(made, from.progress());
    if (!generator_.can_restore()) {
      fail(ErrorKind::kFailedPrecondition, "the position was saved by '", options_.name,
           "' itself, which now has no restore function");
    }
    generator_.restore(std::string(from.text()));
    made_ = made;
  }

 private:
  void check(const Batch& element) const {
    require(!element.features.empty(), options_.name, ": element ", made_, " has no features");
    require_defined(concat(options_.name, ": element ", made_), element);
    if (!options_.batched) return;
    const auto& [name, value] = *element.features.begin();
    require(value.dim() > 0, options_.name, ": feature '", name, "' of element ", made_,
            " is a scalar; dimension 0 of a batch has to be the rows");
  }

  void replay(int64_t total, const ReplayProgress& progress) {
    while (made_ < total) {
      if (progress && made_ % kProgressEvery == 0) progress(made_, total);
      if (next()) continue;
      fail(ErrorKind::kFailedPrecondition, options_.name, ": ended after ", made_, " elements of the ", total,
           " that lie before the position");
    }
    if (progress && total > 0) progress(total, total);
  }

  Generator generator_;
  const GeneratorOptions& options_;
  int64_t made_ = 0;
  bool ended_ = false;
};

}  // namespace

GeneratorSource::GeneratorSource(std::function<Generator()> factory, GeneratorOptions options)
    : factory_(std::move(factory)), options_(std::move(options)) {
  require(factory_ != nullptr, "Dataset::from_generator: the factory is an empty function");
}

std::string GeneratorSource::describe() const {
  return concat("generator('", options_.name, "', batched=", options_.batched, ")");
}

int64_t GeneratorSource::cardinality() const { return kUnknownCardinality; }

std::unique_ptr<Stream> GeneratorSource::open(int64_t) const {
  return std::make_unique<GeneratorStream>(factory_(), options_);
}

}  // namespace belfry::data_internal
