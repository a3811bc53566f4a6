package model

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestSpecPageIsComplete checks that docs/spec.md mentions each operation, axis kind, floating-point type and field of a
// spec, and that its whole specs are valid.
func TestSpecPageIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	words := slices.Concat(operationNames(), kindNames, strings.Fields(domain.Lacking),
		[]string{"fp32", "1024", "axis=", "perm=", "shape=", "dtype="})
	for _, f := range (&yamlReader{out: &source{}}).sections(nil) {
		words = append(words, f.name)
	}
	for _, word := range words {
		if !regexp.MustCompile("`[^`\n]*\\b" + regexp.QuoteMeta(word) + "|" + regexp.QuoteMeta(word) + " ranks").MatchString(page) {
			t.Errorf("the page does not mention %q", word)
		}
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	loaded := 0
	for _, block := range blocks {
		if !strings.Contains(block[1], "hirgen: 1\n") {
			continue
		}
		loaded++
		if _, err := Load("spec.md", []byte(block[1]), nil); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	if loaded == 0 {
		t.Error("the page has no spec")
	}
}

// TestSchemaHasTheFieldsOfTheLoader checks that the published schema has the fields of a spec and the axis kinds of the
// loader.
func TestSchemaHasTheFieldsOfTheLoader(t *testing.T) {
	data, err := os.ReadFile("../docs/hirgen.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Properties map[string]any
		Defs       struct {
			Axis struct{ AnyOf []struct{ Pattern string } }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &published); err != nil {
		t.Fatal(err)
	}
	fields := (&yamlReader{out: &source{}}).sections(nil)
	for _, f := range fields {
		if published.Properties[f.name] == nil {
			t.Errorf("the schema has no field %q", f.name)
		}
	}
	if len(published.Properties) != len(fields) {
		t.Errorf("the schema has %d fields, and the loader reads %d", len(published.Properties), len(fields))
	}
	axis := regexp.MustCompile(published.Defs.Axis.AnyOf[1].Pattern)
	for _, kind := range kindNames {
		if !axis.MatchString(kind + "(4)") {
			t.Errorf("the schema has no axis %s", kind)
		}
	}
}
