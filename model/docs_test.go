package model

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// docs/spec.md has everything that a spec can say, and its examples are right.
func TestSpecPageIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	words := slices.Concat(operationNames(), kindNames, []string{"streams", "bf16", "fp16", "fp32", "1024", "axis=", "perm=", "shape=", "dtype="})
	for _, c := range choices {
		words = append(append(words, c.name), c.values()...)
	}
	for _, f := range (&yamlReader{out: &source{}}).sections(nil) {
		words = append(words, f.name)
	}
	for _, word := range words {
		if !regexp.MustCompile("`[^`\n]*\\b" + regexp.QuoteMeta(word) + "|" + regexp.QuoteMeta(word) + " ranks").MatchString(page) {
			t.Errorf("the page does not mention %q", word)
		}
	}
	_, section, _ := strings.Cut(page, "\n## Schedule")
	var rows, fields []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1) {
		rows = append(rows, row[1])
	}
	for _, f := range domain.ScheduleFields {
		fields = append(fields, f.Name)
	}
	if !slices.Equal(rows[:min(len(rows), len(fields))], fields) {
		t.Errorf("the table of the schedule has %v, not %v", rows, fields)
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
