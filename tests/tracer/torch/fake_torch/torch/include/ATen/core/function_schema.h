#pragma once

#include <ATen/record_function.h>
