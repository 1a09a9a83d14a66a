#include "data/generator.h"

#include "core/error.h"

namespace belfry {

Generator::Generator(Next next, Save save, Restore restore)
    : next_(std::move(next)), save_(std::move(save)), restore_(std::move(restore)) {
  require(next_ != nullptr, "Generator: next is an empty function");
  require((save_ != nullptr) == (restore_ != nullptr), "Generator: save was ", save_ ? "" : "not ",
          "given and restore was ", restore_ ? "" : "not ", "given; both or none are needed");
}

}  // namespace belfry
