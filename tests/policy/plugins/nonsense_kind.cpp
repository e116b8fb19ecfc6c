// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/plugins/nonsense.h"

const Nonsense kNonsense = NONSENSE;
