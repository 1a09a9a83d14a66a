// What every benchmark's main does.
#pragma once

#include <boost/program_options.hpp>
#include <functional>

namespace benchmark {

// Reads the command line by `described` (and "help", which it adds), silences the log, gives every operation one thread
// and runs `body`. Errors are printed and give 1.
int run_main(int argc, char** argv, boost::program_options::options_description& described,
             const std::function<void()>& body);

}  // namespace benchmark
