// Checkpoints as --load and --load-map name them: safetensors files, or the index of several.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "driver/options.hpp"
#include "driver/safetensors.hpp"
#include "driver/stored_view.hpp"

namespace hirgen {

/// A safetensors file, or the files of a model.safetensors.index.json, which are opened when they
/// are needed.
class Checkpoint {
 public:
  explicit Checkpoint(const std::string& path);

  /// A view of the tensor `name`, valid as long as the checkpoint exists. Throws
  /// Error(kEnvironment) with some of the existing names if there is no such tensor.
  StoredView find(const std::string& name);

 private:
  const SafetensorsFile& open(const std::string& path);

  std::string path_;
  std::map<std::string, std::string> shards_;  ///< file of each tensor; empty for a single file
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
};

/// The tensors to load, by --load and by the file of --load-map, a JSON object:
///
///   {"checkpoint": "model.safetensors.index.json", "prefix": "model.layers.0.", "tensors": {
///      "Wo": "self_attn.o_proj.weight",
///      "Wqkv": {"pack": ["self_attn.q_proj.weight", ...]}}}
///
/// The path is relative to the map's folder, and the prefix, which may be missing, is prepended to
/// each name. In place of a name there may be {"transpose": MATRIX}, {"rows": [begin, end], "of":
/// TENSOR} and {"stack": [TENSOR, ...]}, which adds a first axis with an index for each tensor.
/// These three may be nested, but a stack may not be an operand of another form. {"pack": [TENSOR,
/// ...]} must be outermost: each rank's shard is made up of the rank's shards of these tensors.
class LoadPlan {
 public:
  /// Throws Error(kEnvironment) if the map cannot be read or is malformed, and Error(kUsage) if
  /// --load and the map both load a tensor.
  explicit LoadPlan(const Options& options);

  /// The names of the program's tensors to load.
  std::vector<std::string> names() const;

  /// The content of a tensor of names(): several views for "pack", otherwise one. Throws
  /// Error(kEnvironment) if the map describes it wrongly or a checkpoint lacks a tensor.
  std::vector<StoredView> views(const std::string& name);

 private:
  struct Source {
    std::string path;    ///< path of the checkpoint
    std::string prefix;  ///< prepended to names in the checkpoint
    JsonValue tensor;
    std::string where;  ///< start of error messages
  };
  void read_map(const std::string& path);
  StoredView view(const Source& source, const JsonValue& tensor);
  Checkpoint& checkpoint(const std::string& path);

  std::vector<std::pair<std::string, Source>> sources_;  ///< for each tensor of the program to load
  std::map<std::string, std::unique_ptr<Checkpoint>> checkpoints_;
};

}  // namespace hirgen
