#include "driver/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

// The most names that an error lists.
constexpr size_t kMostNames = 8;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(Code::kEnvironment, where + ": " + what);
}

JsonValue read_json(const std::string& path) {
  const MappedFile file(path);
  try {
    return parse_json({file.data(), file.size()});
  } catch (const JsonError& error) {
    fail(path, format("no JSON: %s at byte %zu", error.problem().c_str(), error.at()));
  }
}

std::string beside(const std::string& path, const std::string& other) {
  return (std::filesystem::path(path).parent_path() / other).string();
}

std::string text_of(const JsonValue* value, const std::string& where, const char* what) {
  if (value != nullptr && value->kind == JsonValue::Kind::kString) return value->text;
  fail(where, std::string(what) + " must be a text");
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNames) text += format(" and %zu more", names.size() - kMostNames);
  return text.empty() ? "none" : text;
}

// Splits "FILE:TENSOR", both of which may have colons: at the first colon that follows the name of
// an existing file. The tensor is "" if `text` itself is such a name, or if there is no such colon.
std::pair<std::string, std::string> split_place(const std::string& text) {
  for (size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    std::error_code ignored;
    const std::string file = text.substr(0, at);
    if (!std::filesystem::exists(text, ignored) && std::filesystem::exists(file, ignored)) {
      return {file, text.substr(at + 1)};
    }
  }
  return {text, ""};
}

StoredView transposed(StoredView view, const std::string& where) {
  if (view.extents.size() != 2 || view.bases.size() > 1) {
    fail(where, "transpose takes a matrix, and " + view.name + " is " + shape_text(view.extents));
  }
  std::swap(view.extents[0], view.extents[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

StoredView rows_of(StoredView view, const JsonValue& rows, const std::string& where) {
  const auto is_in = [&](size_t i, double least) {
    return rows.items[i].kind == JsonValue::Kind::kNumber && rows.items[i].number >= least &&
           rows.items[i].number <= static_cast<double>(view.extents[0]);
  };
  if (rows.items.size() != 2 || view.extents.empty() || view.bases.size() > 1 || !is_in(0, 0) ||
      !is_in(1, rows.items[0].number)) {
    fail(where, "rows must be [begin, end] within " + view.name + " " + shape_text(view.extents));
  }
  const auto begin = static_cast<int64_t>(rows.items[0].number);
  const auto element = static_cast<int64_t>(element_bytes(view.dtype));
  view.extents[0] = static_cast<int64_t>(rows.items[1].number) - begin;
  view.bases[0] += begin * view.strides[0] * element;
  return view;
}

StoredView stacked(const std::vector<StoredView>& views, const std::string& where) {
  StoredView all = views.front();
  all.bases.clear();
  for (const StoredView& view : views) {
    if (view.extents != all.extents || view.strides != all.strides || view.dtype != all.dtype ||
        view.bases.size() > 1) {
      fail(where,
           "stack takes tensors of one shape, and " + view.name + " is not like " + all.name);
    }
    all.bases.push_back(view.bases.front());
  }
  all.extents.insert(all.extents.begin(), static_cast<int64_t>(views.size()));
  all.strides.insert(all.strides.begin(), 0);
  return all;
}

}  // namespace

Checkpoint::Checkpoint(const std::string& path) : path_(path) {
  if (!path.ends_with(".json")) {
    open(path);
    return;
  }
  const JsonValue index = read_json(path);
  const JsonValue* map = index.find("weight_map");
  if (map == nullptr || map->kind != JsonValue::Kind::kObject) fail(path, "it has no weight_map");
  for (const auto& [name, shard] : map->members) {
    shards_[name] = beside(path, text_of(&shard, path, "the file of a tensor"));
  }
}

const SafetensorsFile& Checkpoint::open(const std::string& path) {
  std::unique_ptr<SafetensorsFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<SafetensorsFile>(path);
  return *file;
}

StoredView Checkpoint::find(const std::string& name) {
  std::vector<std::string> names;
  if (const auto shard = shards_.find(name); shard != shards_.end() || shards_.empty()) {
    const SafetensorsFile& file = open(shards_.empty() ? path_ : shard->second);
    for (const StoredTensor& tensor : file.tensors()) {
      if (tensor.name == name) return whole_view(tensor);
      names.push_back(tensor.name);
    }
  }
  for (const auto& [other, shard] : shards_) names.push_back(other);
  throw Error(Code::kEnvironment, path_ + " has no tensor " + name + "; it has " + some_of(names));
}

LoadPlan::LoadPlan(const Options& options) {
  for (const auto& [name, text] : options.load) {
    Source source;
    source.where = "--load " + name;
    source.tensor.kind = JsonValue::Kind::kString;
    std::tie(source.path, source.tensor.text) = split_place(text);
    if (source.tensor.text.empty()) source.tensor.text = name;
    sources_.emplace_back(name, source);
  }
  if (!options.load_map.empty()) read_map(options.load_map);
}

void LoadPlan::read_map(const std::string& path) {
  const JsonValue map = read_json(path);
  const JsonValue* tensors = map.find("tensors");
  if (tensors == nullptr || tensors->kind != JsonValue::Kind::kObject) {
    fail(path, "it must be an object with checkpoint, tensors and, if you like, prefix");
  }
  Source source;
  source.path = beside(path, text_of(map.find("checkpoint"), path, "checkpoint"));
  const JsonValue* prefix = map.find("prefix");
  if (prefix != nullptr) source.prefix = text_of(prefix, path, "prefix");
  for (const auto& [name, tensor] : tensors->members) {
    for (const auto& [other, given] : sources_) {
      if (other == name) throw Error(Code::kUsage, given.where + " and " + path + " both load it");
    }
    source.where = format("%s: %s", path.c_str(), name.c_str());
    source.tensor = tensor;
    sources_.emplace_back(name, source);
  }
}

std::vector<std::string> LoadPlan::names() const {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources_) names.push_back(name);
  return names;
}

Checkpoint& LoadPlan::checkpoint(const std::string& path) {
  std::unique_ptr<Checkpoint>& known = checkpoints_[path];
  if (known == nullptr) known = std::make_unique<Checkpoint>(path);
  return *known;
}

std::vector<StoredView> LoadPlan::views(const std::string& name) {
  for (const auto& [other, source] : sources_) {
    if (other != name) continue;
    const JsonValue* pack = source.tensor.find("pack");
    if (pack == nullptr) return {view(source, source.tensor)};
    std::vector<StoredView> views;
    for (const JsonValue& part : pack->items) views.push_back(view(source, part));
    if (views.empty()) fail(source.where, "pack must be a list of tensors");
    return views;
  }
  return {};
}

StoredView LoadPlan::view(const Source& source, const JsonValue& tensor) {
  if (tensor.kind == JsonValue::Kind::kString) {
    return checkpoint(source.path).find(source.prefix + tensor.text);
  }
  if (const JsonValue* matrix = tensor.find("transpose")) {
    return transposed(view(source, *matrix), source.where);
  }
  const JsonValue* rows = tensor.find("rows");
  const JsonValue* of = tensor.find("of");
  if (rows != nullptr && of != nullptr) return rows_of(view(source, *of), *rows, source.where);
  const JsonValue* stack = tensor.find("stack");
  if (stack == nullptr || stack->items.empty()) {
    fail(source.where,
         "write a tensor's name, or an object with pack, stack, transpose, or rows and of");
  }
  std::vector<StoredView> views;
  for (const JsonValue& part : stack->items) views.push_back(view(source, part));
  return stacked(views, source.where);
}

}  // namespace hirgen
