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

// lists is a package that every folder may import: it extends the standard package slices.
const lists = "internal/base/lists"

// transports is the package with the table of transports, which several stages read.
const transports = "model/transports"

// mayImport lists the folders that each folder may import. "folder/*" stands for the packages in a folder. A folder
// that is not listed fails the test: it needs a place in the flow first.
var mayImport = map[string][]string{
	lists:                    {},
	"internal/base/diag":     {},
	"internal/base/expr":     {},
	"internal/base/spell":    {},
	"internal/base/textdiff": {},
	"internal/base/filelock": {},
	"internal/base/cache":    {},
	"internal/tools/launch":  {"internal/base/cache", "internal/base/filelock"},
	"internal/tools/doctor":  {"internal/tools/launch"},
	"internal/tools/bench": {"model", "model/domain", "model/schedule", "lowering", "lowering/schedules", "calls", "cost",
		"lowering/hostir", "prove", "emit", "internal/base/chart", "internal/base/diag", "internal/base/expr", "internal/tools/launch"},
	"internal/base/chart":     {"internal/base/style"},
	"internal/tools/simulate": {"model", "lowering", "cost", "lowering/hostir", "internal/base/chart", "internal/base/diag"},
	"internal/archtest":       {},
	"internal/e2e":            {},
	"internal/release":        {},
	"internal/scaling":        {},
	"internal/tools/soak": {"model", "model/eval", "model/domain", "model/schedule", "lowering", "calls", "calls/*",
		"lowering/hostir", "lowering/hostir/*", "lowering/lowertest", "prove", "emit", "internal/base/diag", "internal/tools/launch"},
	"internal/tools/soak/cmd": {"internal/tools/soak"},
	"internal/tools/recall": {"internal/tools/recall/faults", "model", "model/schedule", "lowering", "calls", "calls/*", "lowering/lowertest",
		"prove", "prove/*", "lowering/hostir", "emit", "internal/base/diag", "internal/tools/launch"},
	"internal/tools/recall/faults": {"model", "lowering", "lowering/hostir", "lowering/hostir/text", "calls", "calls/*", "internal/base/diag",
		"internal/base/expr"},
	"internal/tools/recall/cmd": {"internal/tools/recall"},
	"internal/tools/timeline":   {"calls/collective", "internal/base/style"},
	"internal/base/style":       {},
	"internal/tools/browser":    {},
	"internal/tools/explain": {"model", "model/domain", "model/schedule", "lowering", "calls", "calls/passes", "calls/text",
		"cost", "lowering/hostir", "lowering/hostir/text", "lowering/pipeline", "lowering/schedules", "emit", "internal/tools/bench",
		"internal/base/diag", "internal/base/textdiff"},
	"model/domain":   {"internal/base/expr", "internal/base/diag"},
	"model/schedule": {"internal/base/diag", "internal/base/expr", transports},
	transports:       {},
	"templates":      {},
	"runtime_cpp":    {},
	"model/names":    {"model/domain"},
	"model": {"model/names", "model/domain", "model/schedule", "internal/base/expr", "internal/base/diag",
		"internal/base/spell"},
	"model/schema":       {"model", "model/domain", "model/schedule", "model/names"},
	"model/eval":         {"model", "model/domain"},
	"model/grad":         {"model", "model/domain", "model/schedule", "model/names", "internal/base/expr", "internal/base/diag"},
	"lowering/hostir":    {"calls/collective", "model/domain", "model/schedule", transports, "internal/base/expr", "internal/base/diag"},
	"internal/base/scan": {"internal/base/expr", "internal/base/diag"},
	"lowering/hostir/text": {"calls/collective", "lowering/hostir", "internal/base/scan", "model/domain", "model/schedule", transports,
		"internal/base/expr", "internal/base/diag"},
	"lowering/hostir/verify": {"calls/collective", "lowering/hostir", "lowering/hostir/text", "internal/base/scan", "model/domain",
		"model/schedule", "internal/base/expr", "internal/base/diag"},
	"lowering/hostir/interp": {"model/eval", "calls/collective", "internal/base/tasks", "lowering/hostir", "lowering/hostir/text",
		"model/domain", "internal/base/expr", "internal/base/diag"},
	"internal/base/packing": {},
	"calls/collective":      {"model/domain"},
	"cost": {"calls", "calls/collective", "calls/effects", "calls/issue", "internal/base/packing", "model/domain", "internal/base/expr",
		"internal/base/diag"},
	"lowering/shard": {"lowering/hostir", "model/domain", "model/schedule", "internal/base/diag", "internal/base/expr"},
	"lowering/place": {"calls/collective", "cost", "lowering/hostir", "model/domain", "model/schedule", "internal/base/expr"},
	"lowering/pipeline": {"internal/base/clock", "calls", "calls/collective", "lowering/hostir", "cost", "model/domain", "model/schedule",
		"internal/base/expr", "internal/base/diag"},
	"lowering/lowertest": {"model", "model/eval", "lowering/hostir", "lowering/hostir/*", "model/domain"},
	"lowering/ranks":     {"model/domain", "model/schedule", "internal/base/expr"},
	"lowering/fusion":    {"lowering/ranks", "lowering/hostir", "model/domain", "model/schedule", "internal/base/diag", "internal/base/expr"},
	"lowering/streams": {"calls/collective", "lowering/shard", "lowering/ranks", "lowering/hostir", "model/domain", "model/schedule",
		"model/transports", "internal/base/expr", "internal/base/diag"},
	"lowering/transport": {"calls/collective", "lowering/shard", "lowering/ranks", "lowering/hostir", "lowering/hostir/text", "model/domain",
		"model/schedule", "internal/base/expr", "internal/base/diag"},
	"lowering/inplace": {"lowering/pipeline", "lowering/ranks", "lowering/hostir", "model/domain", "model/schedule", "internal/base/expr",
		"internal/base/diag"},
	"lowering/buffers": {"lowering/hostir", "model/schedule"},
	"lowering/schedules": {"calls", "calls/collective", "lowering/place", "lowering/streams", "lowering/shard", "cost", "lowering/hostir",
		"lowering/hostir/text", "model/domain", "model/schedule", "internal/base/diag", "internal/base/spell"},
	"lowering": {"model", "model/eval", "calls", "calls/effects", "lowering/fromhost", "calls/passes", "calls/text", "cost",
		"lowering/shard", "lowering/schedules", "lowering/transport", "lowering/fusion", "lowering/streams", "lowering/inplace",
		"lowering/pipeline", "lowering/buffers", "lowering/hostir", "lowering/hostir/*", "model/domain", "model/schedule", "internal/base/*"},
	"internal/base/tasks": {},
	"calls":               {"internal/base/packing", "model/domain", transports, "internal/base/expr", "internal/base/diag"},
	"calls/align":         {"calls", "model/domain", "internal/base/expr"},
	"calls/effects":       {"calls", "calls/align", "model/domain", "internal/base/expr"},
	"calls/text":          {"calls", "internal/base/scan", "internal/base/expr", "internal/base/diag"},
	"calls/names":         {"model/domain", "model/names"},
	"calls/extents":       {"calls", "calls/names", "model/domain", "internal/base/expr"},
	"internal/base/clock": {},
	"calls/issue":         {"calls/collective", "calls", "model/domain", "internal/base/expr"},
	"calls/order":         {"calls/effects", "calls/issue", "internal/base/clock", "calls", "internal/base/expr"},
	"calls/verify":        {"calls", "calls/text", "calls/order", "calls/issue", "internal/base/diag", "internal/base/expr"},
	"calls/passes": {"calls/effects", "calls/issue", "calls", "calls/align", "internal/base/packing", "calls/names", "calls/order",
		"model/domain", "internal/base/expr"},
	"lowering/fromhost": {"calls/collective", "calls", "calls/names", "calls/extents", "lowering/hostir", "lowering/hostir/text",
		"model/domain", "model/schedule", "internal/base/expr", "internal/base/diag"},
	"calls/interp": {"calls/effects", "calls/issue", "calls/collective", "calls", "calls/align", "calls/text", "internal/base/tasks",
		"model/eval", "model/domain", "internal/base/expr"},
	"prove/mutate": {"calls/collective", "calls", "calls/text", "model/domain", "internal/base/expr", "internal/base/diag"},

	// The prover imports nothing of the lowering or of emit. Package provetest, for tests of the prover, imports the lowering.
	"prove": {"calls/collective", "calls/effects", "calls/issue", "prove/*", "calls", "calls/align"},
	"prove/values": {"calls/effects", "calls/issue", "calls/collective", "prove/unroll", "prove/events", "calls", "model", "model/eval",
		"model/domain", "internal/base/expr"},
	"prove/unroll":             {"calls/effects", "calls/issue", "calls", "model/domain", "internal/base/expr"},
	"prove/events":             {"internal/base/clock", "calls/issue", "prove/unroll"},
	"prove/spinning":           {"prove/events", "prove/unroll", "calls"},
	"prove/races":              {"prove/events", "prove/unroll"},
	"prove/overwrites":         {"prove/events", "prove/unroll"},
	"internal/tools/provetest": {"model", "model/schedule", "lowering", "calls", "internal/base/expr", "internal/base/diag"},

	"emit": {"calls/collective", "emit/gopkg", "calls", "calls/names", "calls/text", "calls/verify", "model/domain", "templates",
		"runtime_cpp", "internal/base/expr", "internal/base/diag", "internal/base/filelock", "internal/base/textdiff"},
	"emit/gosrc":   {"emit/goprint", "model", "model/domain"},
	"emit/goprint": {},

	// emit/gopkg prints the Go package of emitted folders. The files that it copies (the two folders below it) import
	// nothing of this module.
	"emit/gopkg":          {"emit/gopkg/element", "emit/goprint", "model/domain"},
	"emit/gopkg/element":  {},
	"emit/gopkg/_package": {},

	// The package at the root: functions for what hirgen emit and hirgen new do.
	".": {"model", "model/schema", "lowering", "calls", "prove", "emit"},

	"cmd/hirgen": {"model", "model/names", "model/grad", "model/schema", "model/domain", "model/schedule", "lowering", "lowering/schedules",
		"lowering/hostir", "lowering/hostir/text", "calls", "calls/effects", "lowering/fromhost", "calls/text", "prove", "prove/values", "cost",
		"emit", "emit/gosrc", "runtime_cpp", "internal/base/*", "internal/tools/*"},
}

// onlyIn lists the files that may import a package that shapes the code of all its users. Tests may
// import any of them. matches compares patterns with files.
var onlyIn = map[string][]string{
	"gopkg.in/yaml.v3":                       {"model/yaml*.go"},
	"github.com/dave/jennifer/":              {"emit/goprint/*.go", "emit/gosrc/*.go", "emit/gopkg/*.go"},
	"text/template":                          {"emit/*.go"},
	"github.com/spf13/cobra":                 {"cmd/hirgen/*.go"},
	"github.com/santhosh-tekuri/jsonschema/": {}, // only tests
	"github.com/chromedp/":                   {"internal/tools/browser/*.go"},
	"github.com/google/go-cmp/":              {"*_test.go", "lowering/lowertest/*.go"},
}

// file is a Go file of the module with its imports.
type file struct {
	path    string // path from the root of the module, with slashes
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
			if ours && target != lists && !permits(allowed, target) {
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

// TestRulesCatch tries the rules on examples: imports that mayImport forbids, an entry that ends in "/*", and a file that
// onlyIn forbids and one that it permits.
func TestRulesCatch(t *testing.T) {
	if permits(mayImport["emit"], "model") || permits(mayImport["emit"], "lowering/hostir") ||
		permits(mayImport["emit"], "lowering/fromhost") || permits(mayImport["model"], "lowering/hostir") {
		t.Error("an import against the flow is permitted")
	}
	if permits(mayImport["lowering/shard"], "lowering") || permits(mayImport["lowering/hostir"], "lowering/hostir/text") {
		t.Error("a part of the lowering sees what is built on it")
	}
	if !permits(mayImport["lowering"], "internal/base/diag") {
		t.Error("a star does not stand for the packages of a folder")
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

// matchesPackage reports whether an import path is the package, or is below one that ends with a slash.
func matchesPackage(imported, restricted string) bool {
	return imported == restricted || strings.HasSuffix(restricted, "/") && strings.HasPrefix(imported, restricted)
}

// matches reports whether the path of a file matches a pattern. A pattern without a slash is compared with the name of
// the file alone.
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

// parseModule reads the imports of the Go files of the module, except in skipped folders.
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

// skipped reports whether parseModule skips folders of this name: hidden ones, test data, builds and generated code.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "testdata" || name == "build" || name == "bin" || name == "out" || name == "generated"
}
