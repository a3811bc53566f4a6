package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// defaultNVCC is where the CUDA installer puts the compiler without touching PATH.
const defaultNVCC = "/usr/local/cuda/bin/nvcc"

// ParseDevice reads the value of a --device flag. It returns an error for an unknown device.
func ParseDevice(name string) (Device, error) {
	switch d := Device(name); d {
	case Auto, CPU, CUDA:
		return d, nil
	}
	return "", fmt.Errorf("unknown device %q: it is cpu, cuda or auto", name)
}

// Resolve turns Auto into the device that this machine can build for and run on.
func (d Device) Resolve() Device {
	if d != Auto {
		return d
	}
	if GPUs() > 0 && nvcc() != "" {
		return CUDA
	}
	return CPU
}

// GPUs counts the NVIDIA GPUs whose device files this machine has.
func GPUs() int {
	files, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		return 0
	}
	return len(files)
}

// nvcc returns the CUDA compiler of this machine, or "" if there is none.
func nvcc() string {
	return NVCC(os.Getenv, exec.LookPath, func(path string) bool { _, err := os.Stat(path); return err == nil })
}

// NVCC finds the CUDA compiler of the machine that the functions query: CUDACXX, PATH, then the installer's folder. It
// returns "" if there is none.
func NVCC(getenv func(string) string, lookPath func(string) (string, error), exists func(path string) bool) string {
	if named := getenv("CUDACXX"); named != "" {
		return named
	}
	if path, err := lookPath("nvcc"); err == nil {
		return path
	}
	if exists(defaultNVCC) {
		return defaultNVCC
	}
	return ""
}
