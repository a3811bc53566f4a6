package model

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/spec.md has everything that a spec can say, and its examples are right.
func TestSpecPageIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	words := slices.Concat(operationNames(), kindNames, []string{"bf16", "fp16", "fp32", "1024", "axis=", "perm=", "shape=", "dtype="})
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
