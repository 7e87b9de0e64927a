#include "reference_models/saver.h"

#include <fmt/format.h>

#include <cstdio>

namespace reprise::models {

std::vector<StateEntry> EntriesOf(const StateView& part) {
  std::vector<StateEntry> entries;
  entries.reserve(part.tensors.size());
  for (const StateTensor& tensor : part.tensors) {
    entries.push_back({.key = tensor.record.Key(),
                       .dtype = tensor.record.dtype,
                       .global_shape = tensor.record.global_shape,
                       .slice = tensor.record.slice,
                       .data = tensor.bytes});
  }
  return entries;
}

Status ShardedSaver::Save(const SaveRequest& request, const StateView& part,
                          Collective& collective) {
  const ShardAddress address = {
      .step = request.step, .rank = collective.Rank(), .world = collective.World()};
  const auto entries = EntriesOf(part);
  const auto summary = format_->WriteShard(request.folder, address, entries);
  // A rank that could not write must not leave the others waiting: the outcome is gathered first.
  Status wrote;
  if (!summary) wrote = tl::make_unexpected(summary.error());
  REPRISE_RETURN_IF_ERROR(AgreeOn(collective, wrote));
  REPRISE_ASSIGN_OR_RETURN(const auto summaries, AllGatherTexts(collective, *summary));
  Status published;
  if (collective.Rank() == 0) {
    published = format_->Publish(request.folder, address, summaries, part.scalars);
    if (published) published = format_->Collect(request.folder, request.keep);
  }
  return AgreeOn(collective, published);
}

Result<std::vector<CheckpointRef>> NewestFirstRestorer::Candidates(
    const std::string& folder) const {
  return format_->List(folder);
}

Status NewestFirstRestorer::Load(const std::string& folder, const CheckpointRef& candidate,
                                 const std::vector<Component*>& components) const {
  REPRISE_ASSIGN_OR_RETURN(const auto reader, format_->Open(folder, candidate.name));
  StateSource source(*reader);
  REPRISE_ASSIGN_OR_RETURN(const std::int64_t step, source.Integer("step"));
  if (step != candidate.step) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("its name says step {}, its training state {}", candidate.step, step));
  }
  for (Component* component : components) {
    REPRISE_RETURN_IF_ERROR(component->Load(source));
  }
  return {};
}

Result<Restored> NewestFirstRestorer::Restore(const std::string& folder,
                                              const std::vector<Component*>& components,
                                              Collective& collective) {
  const auto candidates = Candidates(folder);
  Status listed;
  if (!candidates) listed = tl::make_unexpected(candidates.error());
  REPRISE_RETURN_IF_ERROR(AgreeOn(collective, listed));
  Restored restored;
  for (const CheckpointRef& candidate : *candidates) {
    const Status loaded = AgreeOn(collective, Load(folder, candidate, components));
    if (loaded) {
      restored.name = candidate.name;
      restored.step = candidate.step;
      return restored;
    }
    // The ranks can no longer talk: that says nothing about the checkpoint.
    if (collective.World() > 1 && loaded.error().code == ErrorCode::kSystem) {
      return tl::make_unexpected(loaded.error());
    }
    restored.refused.push_back(candidate.name + ": " + loaded.error().ToString());
    if (collective.Rank() == 0) {
      fmt::print(stderr, "checkpoint {} refused: {}; trying the next\n", candidate.name,
                 loaded.error().ToString());
    }
  }
  if (restored.refused.empty()) return restored;
  return Fail(ErrorCode::kCorrupt,
              fmt::format("none of the {} checkpoints can be used; the newest: {}. Nothing was "
                          "trained; to start afresh, use an empty folder",
                          restored.refused.size(), restored.refused.front()),
              folder);
}

}  // namespace reprise::models
