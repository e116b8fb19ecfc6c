// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/copy_shapes.h"

#include "tracer/log/streams.h"
#include "tracer/timing/live_allocations.h"

namespace uvmtrace {

namespace {

// One side of a 2-D or 3-D copy before its first layer is placed.
struct Volume {
  CopySide side;  // address of the first byte of the first layer
  std::uint64_t layer_bytes = 0;
};

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

Volume volume(CUmemorytype type, std::uint64_t host, std::uint64_t device, std::uint64_t pitch, std::uint64_t height,
              std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  Volume volume;
  volume.side.pitch = pitch;
  volume.layer_bytes = pitch * height;
  const std::uint64_t offset = x + y * pitch + z * volume.layer_bytes;
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      volume.side.address = host + offset;
      volume.side.place = Place::kHost;
      break;
    case CU_MEMORYTYPE_DEVICE:
      volume.side.address = device + offset;
      volume.side.place = Place::kDevice;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      volume.side.address = device + offset;
      break;
    default:  // an array: no address, and no pitch of its own
      volume = {};
      volume.side.place = Place::kDevice;
      break;
  }
  return volume;
}

template <typename Copy>
std::vector<CopyShape> layers(const Copy& copy, std::uint64_t source_height, std::uint64_t destination_height,
                              std::uint64_t depth, std::uint64_t source_z, std::uint64_t destination_z) {
  const Volume source = volume(copy.srcMemoryType, address_of(copy.srcHost), copy.srcDevice, copy.srcPitch,
                               source_height, copy.srcXInBytes, copy.srcY, source_z);
  const Volume destination = volume(copy.dstMemoryType, address_of(copy.dstHost), copy.dstDevice, copy.dstPitch,
                                    destination_height, copy.dstXInBytes, copy.dstY, destination_z);
  CopyShape shape{destination.side, source.side, copy.WidthInBytes, copy.Height == 0 ? 1 : copy.Height};
  if (depth <= 1) return {shape};
  const auto follows = [&](const Volume& v) {
    return v.side.address == 0 || v.layer_bytes == v.side.pitch * shape.rows;
  };
  if (follows(source) && follows(destination)) {
    shape.rows *= depth;
    return {shape};
  }
  std::vector<CopyShape> all;
  for (std::uint64_t layer = 0; layer < depth; ++layer) {
    all.push_back(shape);
    if (shape.source.address != 0) shape.source.address += source.layer_bytes;
    if (shape.destination.address != 0) shape.destination.address += destination.layer_bytes;
  }
  return all;
}

Place place_of(const CopySide& side) {
  if (side.place != Place::kUnknown) return side.place;
  const auto found = LiveAllocations::instance().find(side.address);
  // Memory that CUDA did not allocate is the program's own, on the host.
  return !found || found->kind == MemoryKind::kPinned ? Place::kHost : Place::kDevice;
}

std::string_view direction(const CopyShape& shape) {
  const bool to_host = place_of(shape.destination) == Place::kHost;
  if (place_of(shape.source) == Place::kHost) return to_host ? "htoh" : "htod";
  return to_host ? "dtoh" : "dtod";
}

std::uint32_t stream_number(CUstream stream) { return StreamNumbers::instance().number(address_of(stream)); }

}  // namespace

std::vector<CopyShape> shapes(const CUDA_MEMCPY2D& copy) { return layers(copy, 0, 0, 1, 0, 0); }
std::vector<CopyShape> shapes(const CUDA_MEMCPY3D& copy) {
  return layers(copy, copy.srcHeight, copy.dstHeight, copy.Depth, copy.srcZ, copy.dstZ);
}
std::vector<CopyShape> shapes(const CUDA_MEMCPY3D_PEER& copy) {
  return layers(copy, copy.srcHeight, copy.dstHeight, copy.Depth, copy.srcZ, copy.dstZ);
}

void write_copy(const Call& call, const CopyShape& shape, CUstream stream, bool async, bool first, std::uint64_t node) {
  JsonLine line = call_event("memcpy", call, first);
  line.number("corr", call.correlation);
  if (node != 0) line.number("node", node);
  line.number("dst", shape.destination.address).number("src", shape.source.address);
  line.number("bytes", shape.row_bytes * shape.rows).text("kind", direction(shape));
  line.boolean("async", async).number("stream", stream_number(stream));
  if (shape.rows > 1) {
    line.number("rows", shape.rows).number("row_bytes", shape.row_bytes);
    line.number("dst_pitch", shape.destination.pitch).number("src_pitch", shape.source.pitch);
  }
  finish_event(std::move(line), call);
}

void write_set(const Call& call, const SetShape& shape, CUstream stream, bool async, bool first, std::uint64_t node) {
  JsonLine line = call_event("memset", call, first);
  line.number("corr", call.correlation);
  if (node != 0) line.number("node", node);
  line.number("va", shape.va).number("bytes", shape.row_bytes * shape.rows);
  line.number("stream", stream_number(stream)).boolean("async", async);
  if (shape.rows > 1) line.number("rows", shape.rows).number("row_bytes", shape.row_bytes).number("pitch", shape.pitch);
  finish_event(std::move(line), call);
}

}  // namespace uvmtrace
