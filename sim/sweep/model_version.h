// SPDX-License-Identifier: Apache-2.0
// Which model computed a result.
#pragma once

namespace uvmsim::sweep {

// SHA-256 over the sources that results follow from (the rooms of the model and the built-in policies), taken when the
// library was built: equal for all builds of the same sources, another one as soon as one of them changes.
const char* model_version();

}  // namespace uvmsim::sweep
