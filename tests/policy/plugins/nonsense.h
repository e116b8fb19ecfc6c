// SPDX-License-Identifier: Apache-2.0
// The rule that the evictor of nonsense_evictor.cpp violates; each plug-in made of it defines its own kNonsense.
#pragma once

enum Nonsense {
  kOutOfRange,
  kPinned,
  kNobody,
  kAnotherEachTime,
  kByAddress,
  kThrows,
  kCrashes,
  kEndless,
  kExits,
  kTooEarly,
  kBadEdge
};
extern const Nonsense kNonsense;
