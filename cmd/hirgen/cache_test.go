package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/base/cache"
)

func TestCacheIsPrintedAndCleared(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(cache.Variable, folder)
	name := "libhirgen_runtime_cpu_0123456789abcdef.a"
	if err := os.MkdirAll(filepath.Join(folder, "runtime"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "runtime", name), make([]byte, 2_500_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"cache"}, folder + ": 1 entry, 2.5 MB\nruntime/" + name + "  2.5 MB  just now\n"},
		{[]string{"cache", "--clear"}, folder + ": cleared of 1 entry, 2.5 MB\n"},
		{[]string{"cache"}, folder + ": 0 entries, 0.0 MB\n"},
	} {
		var out, errs bytes.Buffer
		if exit := execute(t.Context(), step.args, streams{strings.NewReader(""), &out, &errs}); exit != exitOK || out.String() != step.want {
			t.Errorf("%v: exit code %d, %q, want %q\n%s", step.args, exit, out.String(), step.want, errs.String())
		}
	}
	t.Setenv(cache.Variable, "off")
	var out bytes.Buffer
	if exit := execute(t.Context(), []string{"cache"}, streams{strings.NewReader(""), &out, &out}); exit != exitOK ||
		out.String() != "no folder: HIRGEN_CACHE=off\n" {
		t.Errorf("exit code %d, %q", exit, out.String())
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Second: "just now", 90 * time.Second: "1 min ago", 47 * time.Hour: "47 h ago", 50 * time.Hour: "2 days ago",
	} {
		if got := age(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestProgressInAPipe checks that each step prints one line, without a count if the number of steps is
// not known.
func TestProgressInAPipe(t *testing.T) {
	var out bytes.Buffer
	tell := progress(&out)
	tell(0, 0, "configuring out")
	tell(1, 3, "abi.cpp")
	tell(1, 3, "abi.cpp")
	tell(3, 3, "linking x")
	tell(0, 0, "")
	if want := "configuring out\n1/3  abi.cpp\n3/3  linking x\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	for _, test := range []struct {
		done, all  int
		next, want string
	}{
		{0, 0, "configuring out", "\r\x1b[Kconfiguring out\n"},
		{1, 4, "abi.cpp", "\r\x1b[K[######..................] 1/4  30s left  abi.cpp"},
		{0, 0, "", "\r\x1b[K"},
	} {
		var out bytes.Buffer
		bar(&out, 10*time.Second, test.done, test.all, test.next)
		if out.String() != test.want {
			t.Errorf("got %q, want %q", out.String(), test.want)
		}
	}
}
