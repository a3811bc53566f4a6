package main

import (
	"os"
	"path/filepath"
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

// TestReadmeShowsAFinding makes the mistake that the README tells of.
func TestReadmeShowsAFinding(t *testing.T) {
	_, printed, _ := hirgen(t, "", "lower", agMatmul, "--calls")
	broken := strings.Replace(printed, "StreamWait(event gather_done_, index s, on compute)", "StreamWait(event gather_done_, index 0, on compute)", 1)
	_, found, _ := hirgen(t, broken, "verify", "-")
	_, rest, _ := strings.Cut(read(t, "../../README.md"), "```text\nspec.yaml:12:5: error: ")
	shown, _, closed := strings.Cut(rest, "```")
	if !closed || !strings.Contains(found, shown) {
		t.Errorf("the README shows\n%s\nand verify says\n%s", shown, found)
	}
}

// TestReadmeCommandsRun runs what the README shows between the emitted program and gradients, where testdata lies as in
// the repository.
func TestReadmeCommandsRun(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../README.md"), "What there is to write")
	section, _, found := strings.Cut(rest, "`hirgen grad SPEC`")
	testdata, err := filepath.Abs("../../testdata")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(testdata, "testdata"); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(section) {
		command, isCommand := strings.CutPrefix(line, "    bin/hirgen ")
		if !isCommand {
			continue
		}
		command, _, _ = strings.Cut(command, "#")
		ran++
		if exit, out, stderr := hirgen(t, "", strings.Fields(command)...); exit != exitOK || out+stderr == "" {
			t.Errorf("hirgen %s: exit code %d\n%s", command, exit, stderr)
		}
	}
	if ran == 0 {
		t.Error("the README has no such commands")
	}
}

// TestReadmeCommandsNameTheProgram: "make build" puts hirgen into bin, so that is how each command line starts it.
func TestReadmeCommandsNameTheProgram(t *testing.T) {
	for line := range strings.Lines(read(t, "../../README.md")) {
		command, isCommand := strings.CutPrefix(line, "    ")
		if isCommand && strings.HasPrefix(strings.TrimSpace(command), "hirgen ") {
			t.Errorf("hirgen is not in the PATH after make build: %s", line)
		}
	}
}

// TestReadmePyTorchCommandsRun emits the package that the README builds, and finds what the other commands name.
func TestReadmePyTorchCommandsRun(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../README.md"), "## From PyTorch")
	section, _, found := strings.Cut(rest, "\n## ")
	root, err := filepath.Abs("../..")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	t.Chdir(t.TempDir())
	for _, folder := range []string{"testdata", "scripts"} {
		if err := os.Symlink(filepath.Join(root, folder), folder); err != nil {
			t.Fatal(err)
		}
	}
	var ran []string
	for line := range strings.Lines(section) {
		command, isCommand := strings.CutPrefix(line, "    ")
		if !isCommand {
			continue
		}
		words := strings.Fields(command)
		ran = append(ran, words[0])
		if words[0] == "bin/hirgen" {
			if exit, _, stderr := hirgen(t, "", words[1:]...); exit != exitOK {
				t.Errorf("%s: exit code %d\n%s", command, exit, stderr)
			}
			continue
		}
		needed := words[len(words)-1]
		if words[0] == "pip" {
			needed = filepath.Join(needed, "pyproject.toml")
		}
		if _, err := os.Stat(needed); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	if strings.Join(ran, " ") != "bin/hirgen pip torchrun" {
		t.Errorf("the README has %v", ran)
	}
}
