#include "benchmarks/benchmark_main.h"

#include <ATen/Parallel.h>

#include <iostream>

#include "core/log.h"

namespace benchmark {

int run_main(int argc, char** argv, boost::program_options::options_description& described,
             const std::function<void()>& body) {
  namespace options = boost::program_options;
  described.add_options()("help", "this text");
  try {
    options::variables_map given;
    options::store(options::parse_command_line(argc, argv, described), given);
    options::notify(given);
    if (given.count("help")) {
      std::cout << described;
      return 0;
    }
    belfry::set_log_level(belfry::LogLevel::kOff);
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    body();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace benchmark
