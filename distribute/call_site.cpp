#include "distribute/call_site.h"

namespace belfry {

std::string to_string(const CallSite& site) {
  std::string text = std::string(site.file) + ":" + std::to_string(site.line) + ":" + std::to_string(site.column);
  if (site.occurrence > 0) text += " (time " + std::to_string(site.occurrence + 1) + ")";
  return text;
}

}  // namespace belfry
