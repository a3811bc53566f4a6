package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReadmeExample checks that check prints the lines that the README shows for its spec.
func TestReadmeExample(t *testing.T) {
	readme := read(t, "../../README.md")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mlp.yaml", []byte(block(t, readme, "```yaml\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, printed, stderr := hirgen(t, "", "check", "mlp.yaml")
	for line := range strings.Lines(block(t, readme, "```text\n")) {
		if exit != exitOK || !strings.Contains(printed, line) {
			t.Errorf("check does not print %q: exit code %d\n%s%s", line, exit, printed, stderr)
		}
	}
}

// TestGettingStartedShowsWhatIsThere checks that the page quotes the current spec, host program and source.
func TestGettingStartedShowsWhatIsThere(t *testing.T) {
	page := read(t, gettingStarted)
	_, pipeline, _ := strings.Cut(page, "## Read a pipeline")
	_, lowered, _ := hirgen(t, "", "lower", agMatmul)
	for _, c := range []struct{ fence, origin string }{
		{"```yaml\n", read(t, agMatmul)},
		{"```text\n", lowered},
		{"```cpp\n", read(t, "../../generated/ag_matmul/ag_matmul.cpp")},
	} {
		if shown := essence(block(t, pipeline, c.fence)); !strings.Contains(essence(c.origin), shown) {
			t.Errorf("what the page shows after %q is not there any more:\n%s", c.fence, shown)
		}
	}
}

// TestGettingStartedShowsPulls emits the program with gets over CUDA IPC that the page shows.
func TestGettingStartedShowsPulls(t *testing.T) {
	_, section, _ := strings.Cut(read(t, gettingStarted), "## Change the schedule")
	out := filepath.Join(t.TempDir(), "pulls")
	exit, _, stderr := hirgen(t, "", "emit", "../../testdata/specs/ag_matmul_p2p/spec.yaml", "-o", out,
		"--schedule", "all.via=ipc-get", "--schedule", "all.lead=all", "--schedule", "streams=0")
	if exit != exitOK {
		t.Fatal(stderr)
	}
	if shown := essence(block(t, section, "```cpp\n")); !strings.Contains(essence(read(t, filepath.Join(out, "ag_matmul_p2p.cpp"))), shown) {
		t.Errorf("the program does not have\n%s", shown)
	}
}

const gettingStarted = "../../docs/getting-started.md"

// block returns the first code block that begins with a fence.
func block(t *testing.T, text, fence string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, fence)
	shown, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("there is no block %q", fence)
	}
	return shown
}

// essence returns a text without indentation, blank lines, comments in YAML, and positions in host programs, which the pages omit.
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

// TestCookbook checks each recipe of the cookbook and of the page on PyTorch layers: the page shows all communications that
// hirgen derives.
func TestCookbook(t *testing.T) {
	recipes := slices.Concat(
		strings.Split(read(t, "../../docs/cookbook.md"), "\n## ")[1:],
		strings.Split(read(t, "../../docs/port-from-pytorch.md"), "\n## ")[1:])
	t.Chdir(t.TempDir())
	for _, recipe := range recipes {
		title, _, _ := strings.Cut(recipe, "\n")
		if !strings.Contains(recipe, "```yaml\n") {
			continue
		}
		if err := os.WriteFile("spec.yaml", []byte(block(t, recipe, "```yaml\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		exit, printed, stderr := hirgen(t, "", "check", "spec.yaml", "--schedule", "none")
		var derived strings.Builder
		for line := range strings.Lines(printed) {
			if text, _, moves := strings.Cut(strings.TrimSpace(line), " (spec.yaml:"); moves && strings.Contains(text, " x ") {
				derived.WriteString(text + "\n")
			}
		}
		shown := ""
		if strings.Contains(recipe, "```text\n") {
			shown = block(t, recipe, "```text\n")
		}
		if exit != exitOK || derived.String() != shown {
			t.Errorf("%s: exit code %d, hirgen derives\n%s%s", title, exit, derived.String(), stderr)
		}
	}
}

// TestGettingStartedShowsAFinding checks that verify prints the finding that the page shows for a wrong event.
func TestGettingStartedShowsAFinding(t *testing.T) {
	_, printed, _ := hirgen(t, "", "lower", agMatmul, "--calls")
	broken := strings.Replace(printed, "StreamWait(event after_allgather_A_, index s, on compute)",
		"StreamWait(event after_allgather_A_, index 0, on compute)", 1)
	_, found, _ := hirgen(t, broken, "verify", "-")
	shown := block(t, read(t, gettingStarted), "```text\nspec.yaml:12:5: error: ")
	if !strings.Contains(found, shown) {
		t.Errorf("the page shows\n%s\nand verify says\n%s", shown, found)
	}
}

// TestPagesCommandsRun runs the commands of the README and of Getting started in a folder with the repository's
// testdata. It leaves out hirgen run and hirgen doctor, which depend on the machine.
func TestPagesCommandsRun(t *testing.T) {
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README.md": read(t, "../../README.md"), "docs/getting-started.md": read(t, gettingStarted)}
	for name, page := range pages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Symlink(testdata, "testdata"); err != nil {
				t.Fatal(err)
			}
			ran := 0
			for line := range strings.Lines(page) {
				command, isCommand := strings.CutPrefix(line, "    hirgen ")
				command, _, _ = strings.Cut(command, "  #")
				command, file, redirected := strings.Cut(command, " > ")
				if words := strings.Fields(command); isCommand && words[0] != "run" && words[0] != "doctor" {
					ran++
					exit, out, stderr := hirgen(t, "", words...)
					if exit != exitOK || out+stderr == "" {
						t.Errorf("hirgen %s: exit code %d\n%s", command, exit, stderr)
					}
					if redirected {
						if err := os.WriteFile(strings.TrimSpace(file), []byte(out), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if ran < 3 {
				t.Errorf("%d commands", ran)
			}
		})
	}
}

// TestReadmePyTorchCommandsRun emits the package of the README, and checks that the files of its other commands exist.
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
		if words[0] == "hirgen" {
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
	if strings.Join(ran, " ") != "hirgen pip torchrun" {
		t.Errorf("the README has %v", ran)
	}
}
