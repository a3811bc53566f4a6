package release

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const hirgen = "github.com/hirgen/hirgen"

var root = filepath.Join("..", "..")

// TestGoInstall builds the program as "go install" with a version does: from a zip of the module, which a folder serves
// as a proxy would, without a checkout. The program has the version of the module, and all that it embeds.
func TestGoInstall(t *testing.T) {
	const version = "v0.1.1-rc.1"
	dir := t.TempDir()
	publish(t, filepath.Join(dir, "proxy"), version)
	cache := strings.TrimSpace(string(output(t, root, nil, "go", "env", "GOMODCACHE")))
	configured := strings.TrimSpace(string(output(t, root, nil, "go", "env", "GOPROXY")))
	env := []string{
		// Other modules come from the downloads in the module cache of this machine, or else from its proxy.
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(cache, "cache", "download") + "," + configured,
		// The module and the program go to folders of this test, so that the machine does not keep the version that is
		// published here.
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw", "GOBIN=" + filepath.Join(dir, "bin"), "GONOSUMDB=" + hirgen,
	}
	output(t, dir, env, "go", "install", hirgen+"/cmd/hirgen@"+version)

	program := filepath.Join(dir, "bin", "hirgen")
	if printed := string(output(t, dir, nil, program, "--version")); !strings.HasPrefix(printed, "hirgen 0.1.1-rc.1\nmodule "+version+"\n") {
		t.Errorf("the program of module %s says that it is\n%s", version, printed)
	}
	spec, err := filepath.Abs(filepath.Join(root, "testdata", "specs", "allreduce", "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	output(t, dir, nil, program, "emit", spec, "-o", "out")
	if _, err := os.Stat(filepath.Join(dir, "out", "runtime", "include", "hirgen", "c_api.h")); err != nil {
		t.Error(err)
	}
}

// TestBuildsForMacOS compiles the program for macOS, where hirgen can check, lower and emit specs.
func TestBuildsForMacOS(t *testing.T) {
	if os.Getenv("HIRGEN_TEST_FULL") == "" {
		t.Skip("compiles the standard library for another system; a release builds for it, too")
	}
	output(t, root, []string{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"}, "go", "build", "-o", filepath.Join(t.TempDir(), "hirgen"),
		"./cmd/hirgen")
}

// publish writes the files that a module proxy serves for this module. Its zip has the files of the repository.
func publish(t *testing.T, proxy, version string) {
	t.Helper()
	folder := filepath.Join(proxy, filepath.FromSlash(hirgen), "@v")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": string(goMod), version + ".info": fmt.Sprintf(`{"Version": %q}`, version),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.Create(archive, module.Version{Path: hirgen, Version: version}, files(t)); err != nil {
		t.Fatal(err)
	}
}

// source is a file of the repository, by its path from the root.
type source string

func (s source) Path() string                 { return string(s) }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(root, string(s))) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(root, string(s))) }

// files returns the files of the repository, with new files that git does not ignore and without removed files.
func files(t *testing.T) []zip.File {
	t.Helper()
	var found []zip.File
	for name := range strings.SplitSeq(string(output(t, root, nil, "git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard")), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, name)); name != "" && err == nil {
			found = append(found, source(name))
		}
	}
	return found
}

// output runs a command in a folder with further environment variables, and returns its standard output. If the
// command fails, the test ends.
func output(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, printed, complaint.String())
	}
	return printed
}
