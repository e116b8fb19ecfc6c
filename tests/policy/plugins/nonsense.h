// SPDX-License-Identifier: Apache-2.0
// Which rule the evictor of nonsense_evictor.cpp breaks; each plug-in made of it brings its own kNonsense.
#pragma once

enum Nonsense {
  kOutOfRange,
  kPinned,
  kNobody,
  kAnotherEachTime,
  kThrows,
  kCrashes,
  kEndless,
  kExits,
  kTooEarly,
  kBadEdge
};
extern const Nonsense kNonsense;
