package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schema"
)

var update = flag.Bool("update", false, "write the published schema anew")

const published = "../../docs/hirgen.schema.json"

func TestPublishedSchemaIsCurrent(t *testing.T) {
	want, err := schema.Print()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(published, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("docs/hirgen.schema.json is not current: run go test ./model/schema -update")
	}
}

// compiled returns the published schema. The library validates it against the schema of schemas.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schema.URL, document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schema.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks a spec against the schema, as an editor does.
func validate(s *jsonschema.Schema, spec []byte) error {
	var tree any
	if err := yaml.Unmarshal(spec, &tree); err != nil {
		return err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err // a map has keys other than strings
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(instance)
}

func specs(t *testing.T, least int, patterns ...string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, pattern := range patterns {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found[file] = text
		}
	}
	if len(found) < least {
		t.Fatalf("%d specs", len(found))
	}
	return found
}

func TestGoodSpecsAreAccepted(t *testing.T) {
	s := compiled(t)
	good := specs(t, 80, "testdata/specs/*/spec.yaml", "testdata/grids/*.yaml", "testdata/layers/*.yaml",
		"internal/e2e/testdata/moves/*.yaml", "internal/e2e/testdata/*.yaml")
	for file, text := range good {
		if err := validate(s, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestRareFormsAreAccepted checks that the loader and the schema accept valid but rare forms of a spec.
func TestRareFormsAreAccepted(t *testing.T) {
	const spec = `{hirgen: 1, name: rare, params: {D: 4, N: (D == 4) * 8}, mesh: {x: D}, doc: 7,
tensors: {A: [8, " N "], J: {axes: [8, N], dtype: fp32}, R: {axes: [8, r(N)], dtype: fp32}},
ops: ["R = sum( A , axis = -1 + (D!=4) )", {op: permute, out: P, in: [A], perm: [1, "0"]}, "C = cast(J, dtype = bf16)",
  {op: cast, out: F, in: [A], dtype: fp8_e5m2}, {op: quantize, out: [Q, S], in: [A], dtype: fp8_e4m3}],
schedule: {streams: D/2, graph: true, all: {lead: none}}}`
	if _, err := model.Load("spec.yaml", []byte(spec), nil); err != nil {
		t.Fatalf("the loader refuses it: %v", err)
	}
	if err := validate(compiled(t), []byte(spec)); err != nil {
		t.Error(err)
	}
}

// formal lists the codes of errors in the form of a spec, which are found without any computation. The schema refuses
// every bad spec in testdata that has such an error, and some that have only other errors.
var formal = []diag.Code{
	diag.UnknownField, diag.WrongType, diag.DuplicateKey, diag.MissingField, diag.WrongVersion, diag.BadName,
	diag.ExprSyntax, diag.UnknownDType, diag.OpSyntax, diag.UnknownOp,
}

func TestBadSpecsAreRefused(t *testing.T) {
	s := compiled(t)
	code := regexp.MustCompile(`(?m)^#.* (HG\d{3}): `)
	met := map[diag.Code]int{}
	for file, text := range specs(t, 200, "testdata/errors/*.yaml", "testdata/bad-schedules/*.yaml") {
		err := validate(s, text)
		for _, found := range code.FindAllSubmatch(text, -1) {
			c := diag.Code(found[1])
			met[c]++
			if err == nil && slices.Contains(formal, c) {
				t.Errorf("%s: the schema accepts a %s", file, c)
			}
		}
	}
	for _, c := range formal {
		if met[c] == 0 {
			t.Errorf("no bad spec has %s", c)
		}
	}
}

// TestSpecPageShowsTheLine checks that docs/spec.md shows the comment with which editors find the schema.
func TestSpecPageShowsTheLine(t *testing.T) {
	page, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte("```yaml\n"+schema.Line+"\n```")) {
		t.Errorf("docs/spec.md does not show %s", schema.Line)
	}
}
