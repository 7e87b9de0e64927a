#include "probes/c/capture.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

#include "probes/c/record_text.h"

namespace reprise::probe {
namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 13> kElementSizes = {{{"BOOL", 1},
                                                                                     {"U8", 1},
                                                                                     {"I8", 1},
                                                                                     {"I16", 2},
                                                                                     {"U16", 2},
                                                                                     {"F16", 2},
                                                                                     {"BF16", 2},
                                                                                     {"I32", 4},
                                                                                     {"U32", 4},
                                                                                     {"F32", 4},
                                                                                     {"I64", 8},
                                                                                     {"U64", 8},
                                                                                     {"F64", 8}}};

std::string KeyOf(const reprise_tensor& tensor) {
  return std::string(tensor.kind) + "/" + tensor.path;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

bool ParseSteps(std::string_view text, std::set<std::int64_t>* steps) {
  for (const std::string_view part : Split(text, ',')) {
    std::int64_t step = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, step);
    if (error != std::errc() || stop != end || step < 0) {
      return false;
    }
    steps->insert(step);
  }
  return true;
}

bool ParseNames(std::string_view text, std::vector<std::string>* names) {
  for (const std::string_view part : Split(text, ',')) {
    if (part.empty()) {
      return false;
    }
    names->emplace_back(part);
  }
  return true;
}

// Text of the safetensors header, padded to a multiple of 8 bytes.
std::string HeaderText(const CapturePlace& place,
                       const std::vector<const reprise_tensor*>& chosen) {
  std::string metadata = "{\"format\":\"reprise.capture/1\",\"rank\":\"" +
                         std::to_string(place.rank) + "\",\"step\":\"" +
                         std::to_string(place.step) + "\",\"reading\":\"" + place.reading + "\"";
  std::string entries;
  std::set<std::string> used;
  std::uint64_t begin = 0;
  for (const reprise_tensor* tensor : chosen) {
    std::string name = KeyOf(*tensor);
    while (!used.insert(name).second) {
      name += "#";  // a further slice of the same tensor
    }
    std::string slice = "global_shape=";
    AppendJsonIntegers(tensor->global_shape, tensor->dimension_count, &slice);
    slice += ";offsets=";
    AppendJsonIntegers(tensor->offsets, tensor->dimension_count, &slice);
    metadata += ",";
    AppendJsonString(name, &metadata);
    metadata += ":";
    AppendJsonString(slice, &metadata);
    const std::uint64_t end = begin + HeldBytes(*tensor);
    entries += ",";
    AppendJsonString(name, &entries);
    entries += ":{\"dtype\":";
    AppendJsonString(tensor->dtype, &entries);
    entries += ",\"shape\":";
    AppendJsonIntegers(tensor->extents, tensor->dimension_count, &entries);
    entries += ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  std::string header = "{\"__metadata__\":" + metadata + "}" + entries + "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

bool WriteAll(int fd, const void* data, std::uint64_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    at += n;
    size -= static_cast<std::uint64_t>(n);
  }
  return true;
}

bool WriteContent(int fd, const std::string& header,
                  const std::vector<const reprise_tensor*>& chosen) {
  std::array<unsigned char, 8> length = {};  // little-endian
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(header.size()) >> (8 * i));
  }
  if (!WriteAll(fd, length.data(), length.size()) || !WriteAll(fd, header.data(), header.size())) {
    return false;
  }
  for (const reprise_tensor* tensor : chosen) {
    if (!WriteAll(fd, tensor->data, HeldBytes(*tensor))) {
      return false;
    }
  }
  return true;
}

std::string Trouble(const std::string& what, const std::string& path, int error) {
  return what + " " + path + ": " + std::generic_category().message(error);
}

}  // namespace

std::size_t ElementSize(std::string_view dtype) {
  for (const auto& [name, size] : kElementSizes) {
    if (name == dtype) {
      return size;
    }
  }
  return 0;
}

std::uint64_t HeldBytes(const reprise_tensor& tensor) {
  std::uint64_t bytes = ElementSize(tensor.dtype);
  for (std::size_t d = 0; d < tensor.dimension_count; ++d) {
    bytes *= static_cast<std::uint64_t>(tensor.extents[d]);
  }
  return bytes;
}

std::optional<CaptureRequest> CaptureRequest::Parse(std::string_view text, std::string* problem) {
  CaptureRequest request;
  for (const std::string_view part : Split(text, ';')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    const bool good =
        (key == "steps" && request.steps.empty() && ParseSteps(value, &request.steps)) ||
        (key == "names" && request.names.empty() && ParseNames(value, &request.names));
    if (!good) {
      *problem = "cannot read \"" + std::string(part) + "\"";
      return std::nullopt;
    }
  }
  if (request.steps.empty() || request.names.empty()) {
    *problem = request.steps.empty() ? "steps=… is missing" : "names=… is missing";
    return std::nullopt;
  }
  return request;
}

bool CaptureRequest::Wants(const reprise_tensor& tensor) const {
  const std::string key = KeyOf(tensor);
  for (const std::string& pattern : names) {
    if (fnmatch(pattern.c_str(), key.c_str(), 0) == 0) {
      return true;
    }
  }
  return false;
}

std::string WriteCapture(const CaptureRequest& request, const CapturePlace& place,
                         const reprise_tensor* tensors, std::size_t count) {
  if (!request.steps.contains(place.step)) {
    return "";
  }
  std::vector<const reprise_tensor*> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    if (request.Wants(tensors[i])) {
      chosen.push_back(&tensors[i]);
    }
  }
  if (chosen.empty()) {
    return "";
  }
  const std::string path = place.folder + "/capture-rank-" + std::to_string(place.rank) + "-step-" +
                           std::to_string(place.step) + "-" + place.reading + ".safetensors";
  const std::string temporary = path + ".tmp";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Trouble("cannot create", temporary, errno);
  }
  const bool written = WriteContent(fd, HeaderText(place, chosen), chosen);
  const int write_error = errno;
  close(fd);
  if (!written) {
    unlink(temporary.c_str());
    return Trouble("cannot write", temporary, write_error);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return Trouble("cannot rename to", path, errno);
  }
  return "";
}

}  // namespace reprise::probe
