// The one place where the replicas of a step wait for each other.
//
// Design note: why sums are lenient and exchanges are strict. A loss may be conditional: a tower without a masked row
// skips it, and its share of the denominator is zero. So sum() goes by call site, and a tower that has returned, or
// that waits further down, counts as zero. What a user asks for by name (exchange) has no neutral value to put in:
// towers that call different things end in an error that names both. A fixed order of calls for everything was tried
// and refuses good programs; an order by arrival alone pairs the wrong calls without a word.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_site.h"

namespace belfry {

// For a fixed number of replicas, each on a thread of its own. Waiting threads spin for a bounded time and then sleep;
// with more replicas than cores they sleep at once. Every wait ends when a replica fails.
class Rendezvous {
 public:
  // `noun` is what messages call a replica.
  explicit Rendezvous(int replicas, std::string noun = "tower");
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // A new step of replicas 0..active-1; nobody may be waiting.
  void reset(int active);

  // The sum of `value` over the replicas that pass `site` in this step, in replica order. Blocks until every other
  // replica has passed the site too, has returned, or waits elsewhere. kFailedPrecondition, with the place, in a
  // replica that comes to a site after the others went on without it.
  double sum(int replica, const CallSite& site, double value);

  // Every replica's value, in replica order. All active replicas have to call it with the same `what`:
  // kFailedPrecondition in each of them, naming two that differ, when they do not or when one has left, and naming who
  // is missing when one has waited for `timeout_seconds`.
  std::vector<at::Tensor> exchange(int replica, const std::string& what, const at::Tensor& value);
  // The same for whatever `what` says the values are.
  using Payload = std::shared_ptr<const void>;
  std::vector<Payload> exchange(int replica, const std::string& what, Payload value,
                                std::optional<double> timeout_seconds);

  // The replica's model_fn has returned: it counts as zero in sums from now on. It may still exchange. With the last
  // one's return the log is warned, once, of a place that some have passed less often than others.
  void leave_sums(int replica);
  // The replica has ended its step.
  void leave(int replica);

  // Ends every wait, now and later in this step, with kAborted: replica `failed` has thrown.
  void poison(int failed);
  // Whether a call of this replica ended so in this step: what it throws then is not its own doing.
  bool was_stopped(int replica) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace belfry
