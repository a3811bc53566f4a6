package main

import (
	"strings"
	"testing"
)

func TestFmt(t *testing.T) {
	const loose = "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n- B=relu( A ) # c\n"
	const tidy = "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n  - B = relu(A)  # c\n"
	path := file(t, "spec.yaml", loose)
	if exit, out, stderr := hirgen(t, "", "fmt", path); exit != exitOK || out != tidy || read(t, path) != loose {
		t.Errorf("exit code %d, %s\n%s", exit, stderr, out)
	}
	if exit, out, _ := hirgen(t, loose, "fmt", "-"); exit != exitOK || out != tidy {
		t.Errorf("exit code %d\n%s", exit, out)
	}
	if exit, out, _ := hirgen(t, "", "fmt", "-d", path); exit != exitOK ||
		!strings.Contains(out, "\n-- B=relu( A ) # c\n+  - B = relu(A)  # c\n") || read(t, path) != loose {
		t.Errorf("-d: exit code %d\n%s", exit, out)
	}
	if exit, out, _ := hirgen(t, "", "fmt", "-w", path); exit != exitOK || out != "" || read(t, path) != tidy {
		t.Errorf("-w: exit code %d, %s\n%s", exit, out, read(t, path))
	}
	if exit, out, _ := hirgen(t, "", "fmt", "-d", path); exit != exitOK || out != "" {
		t.Errorf("-d of what is formatted: exit code %d\n%s", exit, out)
	}
	for _, c := range []struct {
		args []string
		in   string
		exit int
		want string
	}{
		{[]string{"fmt"}, "", exitUsage, "missing argument SPEC"},
		{[]string{"fmt", "-w", "-"}, "", exitUsage, "standard input is no file"},
		{[]string{"fmt", "no/such.yaml"}, "", exitEnvironment, "no/such.yaml"},
		{[]string{"fmt", "-"}, "ops: [1\n", exitSpec, "stdin:1:6: error HG004"},
	} {
		if exit, _, stderr := hirgen(t, c.in, c.args...); exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("hirgen %v: exit code %d, %s", c.args, exit, stderr)
		}
	}
}
