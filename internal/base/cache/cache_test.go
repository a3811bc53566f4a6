package cache

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFolder(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	for _, test := range []struct{ cache, xdg, want, why string }{
		{"", "", filepath.Join(home, ".cache", "hirgen"), ""},
		{"", xdg, filepath.Join(xdg, "hirgen"), ""},
		{"", "relative", filepath.Join(home, ".cache", "hirgen"), ""},
		{home, xdg, home, ""},
		{"OFF", xdg, "", "HIRGEN_CACHE=OFF"},
	} {
		t.Setenv("HOME", home)
		t.Setenv("XDG_CACHE_HOME", test.xdg)
		t.Setenv(Variable, test.cache)
		if got, why := Folder(); got != test.want || why != test.why {
			t.Errorf("HIRGEN_CACHE=%s XDG_CACHE_HOME=%s: %q, %q, want %q, %q", test.cache, test.xdg, got, why, test.want, test.why)
		}
	}
}

func TestEntriesAndClearLeaveOtherFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "with [brackets]")
	archive := filepath.Join(folder, "runtime", "libhirgen_runtime_cpu_0123456789abcdef.a")
	put(t, archive, "12345")
	put(t, archive+".lock", "")
	put(t, filepath.Join(folder, "python", "0123456789abcdef", "package", "a.py"), "123")
	others := []string{filepath.Join(folder, "python", "my.py"), filepath.Join(folder, "runtime", "mine.a"), filepath.Join(folder, "notes")}
	for _, path := range others {
		put(t, path, "mine")
	}
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(archive, hour, hour); err != nil {
		t.Fatal(err)
	}
	entries, err := Entries(folder)
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v, %v", entries, err)
	}
	if e := entries[0]; e.Name != "python/0123456789abcdef" || e.Size != 3 {
		t.Errorf("the newest is %+v", e)
	}
	if e := entries[1]; e.Name != "runtime/"+filepath.Base(archive) || e.Size != 5 || e.Made.Sub(hour).Abs() > time.Second {
		t.Errorf("the oldest is %+v", e)
	}
	if err := Clear(folder); err != nil {
		t.Fatal(err)
	}
	if left, err := Entries(folder); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(archive + ".lock"); err == nil {
		t.Error("the lock is left")
	}
	for _, path := range others {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("clearing took %v", err)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
