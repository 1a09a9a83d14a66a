// What every test that uses tensors includes. LibTorch defines a CHECK that ends the process; Catch's must win.
#pragma once

#include <torch/types.h>

#undef CHECK
#include <catch2/catch.hpp>
