package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindCommandSaysWhatToName(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("out", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"train.py": 0o644, "client": 0o755} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"./out":      "hirgen run ./out",
		"./train.py": "-- python3 ./train.py",
		"client":     "name it with its folder: ./client",
		"./nothing":  "./nothing was not found",
		"nothing":    "nothing was not found",
	} {
		if _, err := FindCommand(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"./client", "sh"} {
		if path, err := FindCommand(name); err != nil || filepath.Base(path) != filepath.Base(name) {
			t.Errorf("%s: got %s, %v", name, path, err)
		}
	}
}
