#include "formats/checkpoint_format.h"

namespace reprise {

#define REPRISE_FORMAT(name) FormatInfo name##Info();
#include "formats/formats.inc"
#undef REPRISE_FORMAT

const std::vector<FormatInfo>& AllFormats() {
  static const std::vector<FormatInfo> formats = {
#define REPRISE_FORMAT(name) name##Info(),
#include "formats/formats.inc"
#undef REPRISE_FORMAT
  };
  return formats;
}

const FormatInfo* FindFormat(std::string_view name) {
  for (const FormatInfo& format : AllFormats()) {
    if (format.name == name) {
      return &format;
    }
  }
  return nullptr;
}

}  // namespace reprise
