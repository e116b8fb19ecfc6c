#include "sim/driver/thrashing.h"

namespace uvmsim::driver {

struct Thrashing::State {};

Thrashing::Thrashing(const config::DriverConfig&, Counters&, EventSink*) {}
Thrashing::~Thrashing() = default;
bool Thrashing::interested() const { return false; }
bool Thrashing::tracks(BlockIndex) const { return false; }
PageMask Thrashing::pages(BlockIndex) const { return {}; }
void Thrashing::on_migration(BlockIndex, const PageMask&, ProcessorId, Nanoseconds) {}
void Thrashing::reset(BlockIndex) {}
Thrashing::Verdict Thrashing::ask(BlockIndex, const PageMask&, ProcessorId, Nanoseconds) { return {}; }

}  // namespace uvmsim::driver
