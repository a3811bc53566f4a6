package emit_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommentsNameWhatIsThere checks that if a comment of a program says "buffer NAME", then the identifier NAME or
// NAME_ is in the code of the program.
func TestCommentsNameWhatIsThere(t *testing.T) {
	buffers := regexp.MustCompile(`\bbuffer (\w+)`)
	words := regexp.MustCompile(`\w+`)
	const specs = "../testdata/specs"
	for _, name := range folders(t, specs) {
		files := render(t, lowerSpec(t, filepath.Join(specs, name, "spec.yaml")))
		for _, f := range files {
			if !strings.HasPrefix(f.Path, name) || filepath.Ext(f.Path) != ".cpp" {
				continue
			}
			code, comments := split(string(f.Data))
			known := words.FindAllString(code, -1)
			for _, found := range buffers.FindAllStringSubmatch(comments, -1) {
				if !slices.Contains(known, found[1]) && !slices.Contains(known, found[1]+"_") {
					t.Errorf("%s: a comment names %s, which is nowhere in the program", f.Path, found[1])
				}
			}
		}
	}
}

// split separates the code of a program from its comments, and removes strings from both.
func split(source string) (code, comments string) {
	quoted := regexp.MustCompile(`"[^"]*"`)
	var codes, texts []string
	for line := range strings.Lines(source) {
		before, after, _ := strings.Cut(quoted.ReplaceAllString(line, ""), "//")
		codes, texts = append(codes, before), append(texts, strings.TrimSpace(after))
	}
	return strings.Join(codes, " "), strings.Join(texts, " ")
}
