#include "harness/campaign/stored.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "probes/c/digest.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// "exp_avg/blocks.0.weight" -> kind and path.
TensorRecord RecordOf(const LayoutRegion& region) {
  TensorRecord record;
  const auto slash = region.tensor.find('/');
  record.kind = slash == std::string::npos ? "" : region.tensor.substr(0, slash);
  record.path = slash == std::string::npos ? region.tensor : region.tensor.substr(slash + 1);
  record.dtype = region.dtype;
  record.global_shape = region.global_shape;
  record.slice = Slice::Whole(region.global_shape);
  return record;
}

// Adds one stored slice to its tensor.
Status AddRegion(CheckpointReader* reader, const LayoutRegion& region, StoredCheckpoint* stored) {
  REPRISE_ASSIGN_OR_RETURN(const std::string bytes, reader->ReadRegion(region));
  StoredTensor& tensor =
      stored->tensors.try_emplace(region.tensor, StoredTensor{RecordOf(region), {}, true})
          .first->second;
  reprise_digest_sum sum = {};
  const int failed =
      reprise_digest_box(&sum, bytes.data(), static_cast<std::size_t>(SizeOfDType(region.dtype)),
                         region.global_shape.size(), region.global_shape.data(),
                         region.slice.offsets.data(), region.slice.extents.data());
  if (failed != 0) {
    return Fail(ErrorCode::kCorrupt, "the slice of " + region.tensor + " lies outside of its shape",
                region.file);
  }
  tensor.sum += DigestSum{sum.a, sum.b};
  return {};
}

void MarkHoles(const Layout& layout, StoredCheckpoint* stored) {
  std::map<std::string, std::int64_t> counts;
  for (const LayoutRegion& region : layout.regions) {
    if (region.kind == RegionKind::kTensorData) {
      counts[region.tensor] += ElementCount(region.slice.extents).value_or(0);
    }
  }
  for (auto& [key, tensor] : stored->tensors) {
    tensor.covered = counts[key] == ElementCount(tensor.record.global_shape);
  }
}

void NoteMissingFiles(const fs::path& folder, const CheckpointFormat& format,
                      StoredCheckpoint* stored) {
  const auto files = format.DemandedFiles(folder, stored->name);
  if (!files) {
    return;  // its index cannot be read: opening it fails for the same reason
  }
  for (const std::string& file : *files) {
    std::error_code error;
    if (!fs::exists(folder / file, error)) {
      stored->missing_files.push_back(file);
    }
  }
}

Status ReadOne(const fs::path& folder, const CheckpointFormat& format, StoredCheckpoint* stored) {
  NoteMissingFiles(folder, format, stored);
  REPRISE_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                           format.Open(folder, stored->name));
  stored->scalars = reader->GetTrainingState();
  for (const LayoutRegion& region : reader->GetLayout().regions) {
    if (region.kind == RegionKind::kTensorData) {
      REPRISE_RETURN_IF_ERROR(AddRegion(reader.get(), region, stored));
    }
  }
  MarkHoles(reader->GetLayout(), stored);
  return reader->Verify();
}

}  // namespace

Result<std::vector<StoredCheckpoint>> ReadStored(const fs::path& folder,
                                                 const CheckpointFormat& format) {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<CheckpointRef> refs, format.List(folder));
  std::vector<StoredCheckpoint> all;
  for (const CheckpointRef& ref : refs) {
    StoredCheckpoint stored;
    stored.name = ref.name;
    stored.step = ref.step;
    if (const Status status = ReadOne(folder, format, &stored); !status) {
      stored.error = status.error().ToString();
    }
    all.push_back(std::move(stored));
  }
  return all;
}

}  // namespace reprise
