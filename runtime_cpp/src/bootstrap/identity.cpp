#include "bootstrap/identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace hirgen {

namespace {

constexpr size_t kDigestShown = 12;

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The words of `text` that are not in `other`.
std::string words_beyond(const std::string& text, const std::string& other) {
  const std::vector<std::string> known = split_text(other, ' ');
  std::string words;
  for (const std::string& word : split_text(text, ' ')) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

// Describes the first difference between the programs of `other` and rank 0: the name, the
// parameters or the digest; "" if there is none.
std::string program_differences(const Identity& first, const Identity& other) {
  const auto line = [&](const char* what, const std::string& mine, const std::string& theirs,
                        const char* hint) {
    return describe(other) + " has " + what + " " + theirs + " where rank 0 has " + mine + hint +
           ": give every rank the same folder\n";
  };
  if (first.program != other.program) return line("program", first.program, other.program, "");
  if (first.parameters != other.parameters) {
    return line("parameters", words_beyond(first.parameters, other.parameters),
                words_beyond(other.parameters, first.parameters), "");
  }
  if (first.digest == other.digest) return "";
  return line("program digest", first.digest.substr(0, kDigestShown),
              other.digest.substr(0, kDigestShown),
              ", from another spec, schedule or version of hirgen");
}

// Describes how `other` differs from rank 0: a line for each field that differs, but at most one
// line for the program.
std::string differences(const Identity& first, const Identity& other) {
  std::string text;
  const auto compare = [&](const char* what, const std::string& mine, const std::string& theirs) {
    if (mine == theirs) return;
    text += describe(other) + " has " + what + " " + theirs + " where rank 0 has " + mine + "\n";
  };
  compare("runtime protocol", std::to_string(first.protocol), std::to_string(other.protocol));
  compare("world size", std::to_string(first.world), std::to_string(other.world));
  compare("mesh size", std::to_string(first.mesh_size), std::to_string(other.mesh_size));
  compare("NCCL version", std::to_string(first.nccl_version), std::to_string(other.nccl_version));
  return text + program_differences(first, other);
}

std::string shared_devices(const std::vector<Identity>& ranks) {
  std::string text;
  std::map<std::pair<std::string, std::string>, const Identity*> owners;
  for (const Identity& rank : ranks) {
    if (rank.device.empty()) continue;
    const auto [owner, added] = owners.try_emplace({rank.host, rank.device}, &rank);
    if (added) continue;
    text += describe(rank) + " and " + describe(*owner->second) + " both use GPU " + rank.device +
            ": give each rank its own (LOCAL_RANK or CUDA_VISIBLE_DEVICES), or let them share it "
            "where no NCCL is used (HIRGEN_SHARE_GPU=1)\n";
  }
  return text;
}

}  // namespace

Identity identify(const ContextOptions& options, int nccl_version) {
  Identity identity;
  identity.rank = options.rank;
  identity.world = options.world;
  identity.mesh_size = options.mesh_size;
  identity.nccl_version = nccl_version;
  identity.pid = static_cast<int>(getpid());
  identity.job = options.job;
  identity.program = options.program;
  identity.digest = options.digest;
  identity.parameters = options.parameters;
  identity.host = host_name();
  return identity;
}

void write_identity(Writer& writer, const Identity& identity) {
  writer.put(identity.protocol).put(identity.rank).put(identity.world).put(identity.mesh_size);
  writer.put(identity.nccl_version).put(identity.pid).put(identity.job).put(identity.program);
  writer.put(identity.digest).put(identity.parameters).put(identity.host);
  writer.put(identity.device).put(identity.problem);
}

Identity read_identity(Reader& reader) {
  Identity identity;
  identity.protocol = reader.get<uint32_t>();
  identity.rank = reader.get<int>();
  identity.world = reader.get<int>();
  identity.mesh_size = reader.get<int>();
  identity.nccl_version = reader.get<int>();
  identity.pid = reader.get<int>();
  for (std::string* text :
       {&identity.job, &identity.program, &identity.digest, &identity.parameters, &identity.host,
        &identity.device, &identity.problem}) {
    *text = reader.get_text();
  }
  return identity;
}

std::string describe(const Identity& identity) {
  return format("rank %d (%s, pid %d)", identity.rank, identity.host.c_str(), identity.pid);
}

std::string find_misfits(const std::vector<Identity>& ranks) {
  const Identity& first = ranks.front();
  std::string text;
  for (const Identity& rank : ranks) {
    if (!rank.problem.empty()) text += describe(rank) + ": " + rank.problem + "\n";
    if (&rank != &first) text += differences(first, rank);
  }
  if (first.world != first.mesh_size) {
    text += format(
        "%s was generated for %d ranks and is launched with %d: start %d ranks, or "
        "generate it again for %d\n",
        first.program.c_str(), first.mesh_size, first.world, first.mesh_size, first.world);
  }
  text += shared_devices(ranks);
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace hirgen
