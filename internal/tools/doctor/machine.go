package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// Machine describes a machine, and has the functions that query it. The functions of tests answer from a table.
type Machine struct {
	System   string // as Go names it: "linux"
	Arch     string
	Cores    int
	Getenv   func(name string) string
	LookPath func(program string) (path string, err error)
	Run      func(ctx context.Context, program string, args ...string) (output string, err error)
	ReadFile func(path string) ([]byte, error)
	Glob     func(pattern string) (paths []string, err error)
	Limits   func() (files, locked uint64) // limits of open files and of bytes of locked memory; math.MaxUint64: none
	Free     func(folder string) (bytes uint64, err error)
}

// patience is the time limit of a program that Run starts. The first call of nvidia-smi after boot takes seconds.
const patience = 20 * time.Second

// This returns the machine that hirgen runs on.
func This() *Machine {
	return &Machine{
		System: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		Getenv: os.Getenv, LookPath: exec.LookPath, ReadFile: os.ReadFile, Glob: filepath.Glob, Limits: systemLimits, Free: freeSpace,
		Run: func(ctx context.Context, program string, args ...string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			output, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
			return string(output), err
		},
	}
}

// versionNumber matches the first text that looks like a version.
var versionNumber = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)+`)

// versionOf returns the version that a program prints, or "" if it prints none or fails.
func (m *Machine) versionOf(ctx context.Context, path string) string {
	output, err := m.Run(ctx, path, "--version")
	if err != nil {
		return ""
	}
	return versionNumber.FindString(output)
}

// first returns the first path that matches one of some patterns, or "".
func (m *Machine) first(patterns ...string) string {
	for _, pattern := range patterns {
		if paths, err := m.Glob(pattern); err == nil && len(paths) > 0 {
			return paths[0]
		}
	}
	return ""
}
