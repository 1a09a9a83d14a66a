// Runs exported TorchScript as a program without Belfry would, beside the function that it came from.
#pragma once

#include <torch/script.h>

#include <string>
#include <vector>

#include "export/torchscript_writer.h"

namespace belfry::testing {

// One signature, serving_default, with every output of the trace.
std::vector<TracedSignature> default_signature(const Trace& trace);

torch::jit::Module load(const std::string& bytes);

std::vector<at::Tensor> call(torch::jit::Module& module, const std::string& method, const Features& features);

// Traces, writes, loads, and compares with the function at several row counts: none of those that the tracer used.
void check_round_trip(const TraceRequest& request);

}  // namespace belfry::testing
