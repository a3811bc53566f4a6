package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsWhatIsThere holds the tour of the README to the spec, the host program
// and the source that it is about.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	readme := read(t, "../../README.md")
	_, lowered, _ := hirgen(t, "", "lower", agMatmul)
	for _, c := range []struct{ fence, origin string }{
		{"```yaml\n", read(t, agMatmul)},
		{"```text\n", lowered},
		{"```cpp\n", read(t, "../../generated/ag_matmul/ag_matmul.cpp")},
	} {
		_, rest, found := strings.Cut(readme, c.fence)
		block, _, closed := strings.Cut(rest, "```")
		if shown := essence(block); !found || !closed || !strings.Contains(essence(c.origin), shown) {
			t.Errorf("what the README shows after %q is not there any more:\n%s", c.fence, shown)
		}
	}
}

// essence is text without what the README leaves out: indentation, comments in YAML and
// host programs, positions.
func essence(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " @")
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); line != "" {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
