package release

import (
	"path/filepath"
	"runtime"
	"testing"
)

// TestWheel makes a wheel with the program as releases do, and installs it from the file into an environment that has nothing
// else: no compiler, no PyTorch.
func TestWheel(t *testing.T) {
	dir, platform := t.TempDir(), "manylinux_2_17_"+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	binary := filepath.Join(dir, "hirgen")
	output(t, root, []string{"CGO_ENABLED=0"}, "go", "build", "-o", binary, "./cmd/hirgen")
	output(t, root, nil, "scripts/wheel.sh", binary, platform, dir)
	wheels, err := filepath.Glob(filepath.Join(dir, "hirgen-*-py3-none-"+platform+".whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatal(wheels, err)
	}
	output(t, root, nil, "scripts/check-wheel.sh", wheels[0])
}
