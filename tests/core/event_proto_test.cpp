#include "belfry/core/event.pb.h"
#include "tests/testing.h"

namespace proto = belfry::proto;

TEST_CASE("an event has TensorFlow's wire format", "[core]") {
  proto::Event event;
  event.set_step(3);
  proto::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag("a");
  value->set_simple_value(1);
  const std::string expected(
      "\x10\x03\x2a\x0a\x0a\x08\x0a\x01"
      "a\x15\x00\x00\x80\x3f",
      14);
  CHECK(event.SerializeAsString() == expected);
  CHECK(proto::Event::descriptor()->file()->name() == "belfry/core/event.proto");
}
