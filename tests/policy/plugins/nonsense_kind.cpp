#include "tests/policy/plugins/nonsense.h"

const Nonsense kNonsense = NONSENSE;
