package e2e

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/runtime_cpp"
)

// TestInstalledLibrary installs a program and moves the prefix. Then it builds and runs the clients of the folder's
// README with CMake and with pkg-config, and a client that checks its results.
func TestInstalledLibrary(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	installed, prefix := filepath.Join(t.TempDir(), "installed"), filepath.Join(t.TempDir(), "moved")
	command(t, "", "cmake", "--install", filepath.Dir(program), "--prefix", installed)
	if err := os.Rename(installed, prefix); err != nil {
		t.Fatal(err)
	}
	clients := t.TempDir()
	readme := shared.source(t, "README.md")
	checked, err := os.ReadFile(filepath.Join("testdata", "client.c"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"client.c": block(t, readme, "c"), "client.cpp": block(t, readme, "cpp"), "checked.c": string(checked),
		"CMakeLists.txt": block(t, readme, "cmake") +
			"add_executable(checked checked.c)\ntarget_link_libraries(checked PRIVATE ag_matmul::ag_matmul)\n",
	} {
		if err := os.WriteFile(filepath.Join(clients, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, clients, "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_PREFIX_PATH="+prefix,
		"-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
	command(t, clients, "cmake", "--build", "build")
	_, lines, _ := strings.Cut(readme, "With pkg-config:\n\n```\n")
	lines, _, _ = strings.Cut(lines, "```")
	command(t, clients, "sh", "-ec", "PREFIX="+prefix+"\n"+lines)

	for client, want := range map[string]string{
		"build/client_c": "output C: ", "build/client_cpp": "C: ", "client": "output C: ", "build/checked": "0 wrong of 3072",
	} {
		r := run(t, launch.Options{Program: filepath.Join(clients, client), Foreign: true, N: 2})
		if r.exit != 0 || strings.Count(r.stdout, want) != 2 {
			t.Errorf("%s: %s", client, r)
		}
	}
	run(t, launch.Options{Program: filepath.Join(prefix, "bin", "ag_matmul"), N: 2}).mustPass(t)
	checkSoname(t, filepath.Join(prefix, "lib", "libhirgen_ag_matmul.so"))
}

// TestCommandsForC runs the commands of the first section of docs/c.md as they stand, in a folder that looks like the repository.
func TestCommandsForC(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "c.md"))
	if err != nil {
		t.Fatal(err)
	}
	section, _, closed := strings.Cut(string(page), "\n## ")
	var commands []string
	for line := range strings.Lines(section) {
		if text, isCommand := strings.CutPrefix(line, "    "); isCommand {
			commands = append(commands, strings.TrimSpace(text))
		}
	}
	if !closed || len(commands) != 3 {
		t.Fatalf("docs/c.md has %d commands for C, not three: %q", len(commands), commands)
	}

	folder := t.TempDir()
	for _, name := range []string{"testdata", "examples"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	command(t, root, "go", "build", "-o", filepath.Join(folder, "bin", "hirgen"), "./cmd/hirgen")
	t.Setenv("HIRGEN_CACHE", cacheFolder())
	t.Setenv("PATH", usualCMake(t)+":"+os.Getenv("PATH"))
	for _, line := range commands[:2] {
		command(t, folder, "sh", "-ec", line)
	}
	last := exec.CommandContext(t.Context(), "sh", "-ec", commands[2])
	last.Dir = folder
	if output, err := last.CombinedOutput(); err != nil || strings.Count(string(output), "C[0] = 256\n") != 4 {
		t.Errorf("%v: want 256 on each of four ranks, got\n%s", err, output)
	}
	command(t, folder, "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "examples/client.c",
		"-Iout/installed/include/hirgen_ag_matmul", "-Iout/installed/include/hirgen_ag_matmul/cpu")
}

// checkSoname checks that the soname of a library has the version of the C ABI.
func checkSoname(t *testing.T, path string) {
	t.Helper()
	library, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	abi, err := runtime_cpp.ABIVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := library.DynString(elf.DT_SONAME); err != nil || len(got) != 1 || got[0] != filepath.Base(path)+"."+abi {
		t.Errorf("soname %v, %v, want that of version %s of the C ABI", got, err, abi)
	}
}

// block returns the first block of code of a language in a page of Markdown.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("no block of %s in:\n%s", language, page)
	}
	return text
}

// command runs a program in a folder. If the program fails, the test ends.
func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, output)
	}
}
