package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hirgen/hirgen/"

// mayImport says what each folder sees of the others; "internal/*" is the helper
// packages that know nothing of the flow. A folder that is not listed fails the test:
// it needs a place in the flow first.
var mayImport = map[string][]string{
	"internal/diag":           {},
	"internal/expr":           {},
	"internal/spell":          {},
	"internal/textdiff":       {},
	"internal/filelock":       {},
	"internal/cache":          {},
	"internal/launch":         {"internal/cache", "internal/filelock"},
	"internal/doctor":         {"internal/launch"},
	"internal/bench":          {"model", "model/domain", "model/schedule", "lowering", "lowering/schedules", "lowering/calls", "lowering/cost", "lowering/hostir", "lowering/prove", "emit", "internal/chart", "internal/diag", "internal/expr", "internal/launch"},
	"internal/chart":          {"internal/style"},
	"internal/simulate":       {"model", "lowering", "lowering/cost", "lowering/hostir", "internal/chart", "internal/diag"},
	"internal/archtest":       {},
	"internal/e2e":            {},
	"internal/release":        {},
	"internal/scaling":        {},
	"internal/soak":           {"model", "model/eval", "model/domain", "model/schedule", "lowering", "lowering/calls", "lowering/calls/*", "lowering/hostir", "lowering/hostir/*", "lowering/prove", "emit", "internal/diag", "internal/launch"},
	"internal/soak/cmd":       {"internal/soak"},
	"internal/recall":         {"internal/recall/faults", "model", "lowering", "lowering/calls", "lowering/calls/*", "lowering/lowertest", "lowering/prove", "lowering/prove/*", "lowering/hostir", "emit", "internal/diag", "internal/launch"},
	"internal/recall/faults":  {"model", "lowering", "lowering/hostir", "lowering/hostir/text", "lowering/calls", "lowering/calls/*", "internal/diag", "internal/expr"},
	"internal/recall/cmd":     {"internal/recall"},
	"internal/timeline":       {"lowering/collective", "internal/style"},
	"internal/style":          {},
	"internal/browser":        {},
	"internal/explain":        {"model", "model/domain", "model/schedule", "lowering", "lowering/calls", "lowering/calls/passes", "lowering/calls/text", "lowering/cost", "lowering/hostir", "lowering/hostir/text", "lowering/pipeline", "lowering/schedules", "emit", "internal/bench", "internal/diag", "internal/textdiff"},
	"model/domain":            {"internal/expr", "internal/diag"},
	"model/schedule":          {"internal/diag", "internal/expr"},
	"templates":               {},
	"runtime_cpp":             {},
	"model/names":             {},
	"model":                   {"model/names", "model/domain", "model/schedule", "internal/expr", "internal/diag", "internal/spell"},
	"model/schema":            {"model", "model/domain", "model/schedule", "model/names"},
	"model/eval":              {"model", "model/domain"},
	"model/grad":              {"model", "model/domain", "model/schedule", "model/names", "internal/expr", "internal/diag"},
	"lowering/hostir":         {"lowering/collective", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/scan":           {"internal/expr", "internal/diag"},
	"lowering/hostir/text":    {"lowering/collective", "lowering/hostir", "lowering/scan", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/hostir/verify":  {"lowering/collective", "lowering/hostir", "lowering/hostir/text", "lowering/scan", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/hostir/interp":  {"lowering/collective", "lowering/tasks", "lowering/hostir", "lowering/hostir/text", "model/domain", "internal/expr", "internal/diag"},
	"lowering/packing":        {},
	"lowering/collective":     {"model/domain"},
	"lowering/cost":           {"lowering/collective", "lowering/hostir", "lowering/packing", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/shard":          {"lowering/hostir", "model/domain", "model/schedule", "internal/diag", "internal/expr"},
	"lowering/pipeline":       {"lowering/clock", "lowering/collective", "lowering/hostir", "lowering/cost", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/lowertest":      {"model", "model/eval", "lowering/hostir", "lowering/hostir/*", "model/domain"},
	"lowering/ranks":          {"model/domain", "internal/expr"},
	"lowering/fusion":         {"lowering/ranks", "lowering/hostir", "model/domain", "model/schedule", "internal/expr"},
	"lowering/streams":        {"lowering/collective", "lowering/shard", "lowering/ranks", "lowering/hostir", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/transport":      {"lowering/collective", "lowering/shard", "lowering/ranks", "lowering/hostir", "lowering/hostir/text", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/inplace":        {"lowering/pipeline", "lowering/ranks", "lowering/hostir", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/buffers":        {"lowering/hostir", "model/schedule"},
	"lowering/schedules":      {"lowering/streams", "lowering/shard", "lowering/cost", "lowering/hostir", "lowering/hostir/text", "model/domain", "model/schedule", "internal/diag", "internal/spell"},
	"lowering":                {"model", "model/eval", "lowering/calls", "lowering/calls/fromhost", "lowering/calls/passes", "lowering/calls/text", "lowering/cost", "lowering/shard", "lowering/schedules", "lowering/transport", "lowering/fusion", "lowering/streams", "lowering/inplace", "lowering/pipeline", "lowering/buffers", "lowering/hostir", "lowering/hostir/*", "model/domain", "model/schedule", "internal/*"},
	"lowering/tasks":          {},
	"lowering/calls":          {"lowering/packing", "model/domain", "internal/expr", "internal/diag"},
	"lowering/calls/align":    {"lowering/calls", "model/domain", "internal/expr"},
	"lowering/calls/effects":  {"lowering/calls", "lowering/calls/align", "model/domain", "internal/expr"},
	"lowering/calls/text":     {"lowering/calls", "lowering/scan", "internal/expr", "internal/diag"},
	"lowering/calls/names":    {},
	"lowering/calls/extents":  {"lowering/calls", "lowering/calls/names", "model/domain", "internal/expr"},
	"lowering/clock":          {},
	"lowering/calls/order":    {"lowering/calls/effects", "lowering/clock", "lowering/calls", "model/domain", "internal/expr"},
	"lowering/calls/verify":   {"lowering/calls", "lowering/calls/text", "lowering/calls/order", "internal/diag"},
	"lowering/calls/passes":   {"lowering/calls/effects", "lowering/calls", "lowering/calls/align", "lowering/packing", "lowering/calls/names", "lowering/calls/order", "model/domain", "internal/expr"},
	"lowering/calls/fromhost": {"lowering/collective", "lowering/calls", "lowering/calls/names", "lowering/calls/extents", "lowering/hostir", "lowering/hostir/text", "model/domain", "model/schedule", "internal/expr", "internal/diag"},
	"lowering/calls/interp":   {"lowering/calls/effects", "lowering/collective", "lowering/calls", "lowering/calls/align", "lowering/calls/text", "lowering/tasks", "lowering/hostir/interp", "model/domain", "internal/expr"},
	"lowering/prove/mutate":   {"lowering/collective", "lowering/calls", "lowering/calls/text", "model/domain", "internal/expr", "internal/diag"},

	// What proves programs knows nothing of what makes them.
	"lowering/prove":           {"lowering/calls/effects", "lowering/prove/*", "lowering/calls", "lowering/calls/align", "model/domain", "internal/expr"},
	"lowering/prove/values":    {"lowering/calls/effects", "lowering/collective", "lowering/prove/unroll", "lowering/prove/events", "lowering/calls", "model", "model/eval", "model/domain", "internal/expr"},
	"lowering/prove/unroll":    {"lowering/calls/effects", "lowering/collective", "lowering/calls", "model/domain", "internal/expr"},
	"lowering/prove/events":    {"lowering/clock", "lowering/prove/unroll"},
	"lowering/prove/spinning":  {"lowering/prove/events", "lowering/prove/unroll", "lowering/calls"},
	"lowering/prove/races":     {"lowering/prove/events", "lowering/prove/unroll"},
	"lowering/prove/turns":     {"lowering/prove/events", "lowering/prove/unroll"},
	"lowering/prove/provetest": {"model", "model/schedule", "lowering", "lowering/calls", "internal/expr", "internal/diag"},

	"emit":         {"lowering/collective", "emit/gopkg", "lowering/calls", "lowering/calls/names", "lowering/calls/text", "lowering/calls/verify", "model/domain", "templates", "runtime_cpp", "internal/expr", "internal/diag", "internal/filelock"},
	"emit/gosrc":   {"emit/goprint", "model", "model/domain"},
	"emit/goprint": {},

	// The Go package of emitted folders. What it copies sees nothing of this module.
	"emit/gopkg":          {"emit/gopkg/element", "emit/goprint", "model/domain"},
	"emit/gopkg/element":  {},
	"emit/gopkg/_package": {},

	// The one call of the library: what cmd/hirgen emit does, in Go.
	".": {"model", "model/schema", "lowering", "lowering/calls", "lowering/prove", "emit"},

	"cmd/hirgen": {"model", "model/names", "model/grad", "model/schema", "model/domain", "model/schedule", "lowering", "lowering/schedules", "lowering/hostir", "lowering/hostir/text", "lowering/calls", "lowering/calls/fromhost", "lowering/calls/text", "lowering/prove", "lowering/prove/values", "lowering/cost", "emit", "emit/gosrc", "runtime_cpp", "internal/*"},
}

// onlyIn says which files may import a package that shapes all that touches it. Each
// pattern is matched against the path of the file.
var onlyIn = map[string][]string{
	"gopkg.in/yaml.v3":                       {"model/yaml*.go"},
	"github.com/dave/jennifer/":              {"emit/goprint/*.go", "emit/gosrc/*.go", "emit/gopkg/*.go"},
	"text/template":                          {"emit/*.go"},
	"github.com/spf13/cobra":                 {"cmd/hirgen/*.go"},
	"github.com/santhosh-tekuri/jsonschema/": {}, // tests alone
	"github.com/chromedp/":                   {"internal/browser/*.go"},
	"github.com/google/go-cmp/":              {"*_test.go", "lowering/lowertest/*.go"},
}

// file is a Go file of the module with what it imports.
type file struct {
	path    string // from the root of the module, with slashes
	imports []string
}

func TestImportsFollowTheFlow(t *testing.T) {
	for _, f := range parseModule(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue // a test may compare with any other stage
		}
		folder := path.Dir(f.path)
		allowed, known := mayImport[folder]
		if !known {
			t.Errorf("%s: folder %s has no place in the flow; give it one in mayImport", f.path, folder)
			continue
		}
		for _, imported := range f.imports {
			target, ours := strings.CutPrefix(imported, module)
			if ours && !permits(allowed, target) {
				t.Errorf("%s imports %s, which %s may not", f.path, target, folder)
			}
		}
	}
}

func TestShapingPackagesStayInOnePlace(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, imported := range f.imports {
			for restricted, patterns := range onlyIn {
				if !matchesPackage(imported, restricted) {
					continue
				}
				if !strings.HasSuffix(f.path, "_test.go") && !matches(patterns, f.path) {
					t.Errorf("%s imports %s, which belongs to %s", f.path, imported, strings.Join(patterns, ", "))
				}
			}
		}
	}
}

// TestRulesCatch shows that the rules can fail.
func TestRulesCatch(t *testing.T) {
	if permits(mayImport["emit"], "model") || permits(mayImport["emit"], "lowering/hostir") || permits(mayImport["emit"], "lowering/calls/fromhost") || permits(mayImport["model"], "lowering/hostir") {
		t.Error("an import against the flow is permitted")
	}
	if permits(mayImport["lowering/shard"], "lowering") || permits(mayImport["lowering/hostir"], "lowering/hostir/text") {
		t.Error("a part of the lowering sees what is built on it")
	}
	if !permits(mayImport["lowering"], "internal/diag") {
		t.Error("internal/* does not stand for its packages")
	}
	if matches(onlyIn["gopkg.in/yaml.v3"], "model/validate.go") || !matches(onlyIn["gopkg.in/yaml.v3"], "model/yaml_ops.go") {
		t.Error("the YAML reader is not confined to model/yaml*.go")
	}
}

func permits(allowed []string, target string) bool {
	return slices.ContainsFunc(allowed, func(entry string) bool {
		if folder, all := strings.CutSuffix(entry, "/*"); all {
			return path.Dir(target) == folder
		}
		return entry == target
	})
}

// matchesPackage reports whether an import path is the package, or lies below one that
// ends with a slash.
func matchesPackage(imported, restricted string) bool {
	return imported == restricted || strings.HasSuffix(restricted, "/") && strings.HasPrefix(imported, restricted)
}

// matches reports whether a file fits some pattern; one without a slash is for its name alone.
func matches(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		name := file
		if !strings.Contains(pattern, "/") {
			name = path.Base(file)
		}
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

// parseModule reads the imports of every Go file of the module.
func parseModule(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && skipped(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(relative)}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("found no Go files: the root of the module is not where this test looks for it")
	}
	return files
}

// skipped folders hold no source of the module: tools, builds, and data.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "testdata" || name == "build" || name == "bin" || name == "out" || name == "generated"
}
