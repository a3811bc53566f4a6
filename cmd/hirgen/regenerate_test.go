package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestRegenerateLineRunsAsPrinted removes a file of an emitted folder, and runs the command that its README and its
// header give to regenerate it.
func TestRegenerateLineRunsAsPrinted(t *testing.T) {
	source, folder := read(t, agMatmul), t.TempDir // here, since a subtest's name cannot be in a path
	for _, spec := range []string{"my spec.yaml", "-", `it's "a" $HOME`, "new\nline\n", "two  blanks ", "Grüße \u202e 表", "<a> `b` ?? [*"} {
		t.Run(spec, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile(spec, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(folder(), "out")
			if exit, _, stderr := hirgen(t, source, "emit", spec, "-o", out, "--no-verify", "-p", "S=2", "--schedule", "all.lead=1", "--go",
				"--go-module", "example.com/a"); exit != exitOK {
				t.Fatal(stderr)
			}
			t.Chdir(out)
			header := regexp.MustCompile(`To regenerate: (.*)`).FindStringSubmatch(read(t, "ag_matmul.h"))
			readme := regexp.MustCompile("in this folder: `(.*)`").FindStringSubmatch(read(t, "README.md"))
			if header == nil || readme == nil || header[1] != readme[1] {
				t.Fatalf("the README says %q and the header %q", readme, header)
			}
			if err := os.Remove("ag_matmul.cpp"); err != nil {
				t.Fatal(err)
			}
			exit, stdout, stderr := hirgen(t, "", words(t, readme[1])...)
			if exit != exitOK || !strings.HasPrefix(stdout, "wrote 1 of ") {
				t.Errorf("%s: exit code %d, want one file to be written:\n%s%s", readme[1], exit, stdout, stderr)
			}
		})
	}
}

// words returns the arguments that hirgen gets when a shell runs the command line.
func words(t *testing.T, line string) []string {
	t.Helper()
	program := file(t, "hirgen", "#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	text, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// TestPipedSpecsAreNamedByTheirName emits a spec that comes through a pipe, as in hirgen emit <(cat spec.yaml).
func TestPipedSpecsAreNamedByTheirName(t *testing.T) {
	fifo, out := filepath.Join(t.TempDir(), "63000063"), filepath.Join(t.TempDir(), "out")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(fifo, []byte(read(t, agMatmul)), 0o600) }()
	if exit, _, stderr := hirgen(t, "", "emit", fifo, "-o", out); exit != exitOK {
		t.Fatal(stderr)
	}
	text := read(t, filepath.Join(out, "spec", "ag_matmul.yaml")) + read(t, filepath.Join(out, "ag_matmul.cpp"))
	if strings.Contains(text, "63000063") {
		t.Errorf("the name of the pipe is in the program:\n%s", text)
	}
	go func() { _ = os.WriteFile(fifo, []byte("hirgen: 1\nname: a\nprams: {}\n"), 0o600) }()
	if _, _, stderr := hirgen(t, "", "check", fifo); !strings.Contains(stderr, fifo+":3:1: error") {
		t.Errorf("a mistake has no place:\n%s", stderr)
	}
}

// TestSpecsWithABackslashAreRefused checks that emit refuses file names of specs that an emitted folder cannot
// have.
func TestSpecsWithABackslashAreRefused(t *testing.T) {
	for _, name := range []string{`back\`, `a\b.yaml`, "\xff.yaml"} {
		exit, _, stderr := hirgen(t, "", "emit", file(t, name, read(t, agMatmul)), "-o", filepath.Join(t.TempDir(), "out"), "--no-verify")
		if exit != exitSpec || !strings.Contains(stderr, "rename the spec") {
			t.Errorf("%q: exit code %d:\n%s", name, exit, stderr)
		}
	}
}

// TestGitKeepsTheBytes checks that git with core.autocrlf does not change the files of an emitted folder.
func TestGitKeepsTheBytes(t *testing.T) {
	dir := t.TempDir()
	line := []string{"emit", agMatmul, "-o", filepath.Join(dir, "out"), "--no-verify"}
	if exit, _, stderr := hirgen(t, "", line...); exit != exitOK {
		t.Fatal(stderr)
	}
	for _, args := range []string{"init -q", "add .", "checkout-index -a --prefix=copy/"} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "core.autocrlf=true"}, strings.Fields(args)...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, text)
		}
	}
	line[3] = filepath.Join(dir, "copy", "out")
	if exit, stdout, _ := hirgen(t, "", append(line, "--check")...); exit != exitOK {
		t.Errorf("git changed files:\n%s", stdout)
	}
}
