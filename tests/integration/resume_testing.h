// What tests that kill trainings share.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

#include "child_process.h"

namespace belfry::testing {

// The number in the environment variable, or `otherwise` when it is not set.
int64_t number_from(const char* variable, int64_t otherwise);

// BELFRY_RESUME_SEED, or another seed in each run.
uint64_t seed_of_kills();

// Kills it after a random part of `whole`, the time that a whole run takes. False when the run ended before; a run that
// failed by itself fails the test.
bool killed_at_random(ChildProcess& child, std::chrono::steady_clock::duration whole, std::mt19937_64& random);

// Every entry of both newest checkpoints, position of the input included, bit for bit.
void check_same_bits(const std::string& directory, const std::string& expected_directory);

}  // namespace belfry::testing
