package doctor

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// leastCMake is the CMake version that CMakeLists.txt of emitted programs requires.
const leastCMake = "3.24"

// build checks the operating system and the tools that compile an emitted program.
func (e *examination) build() {
	const group = "build"
	system := Check{Name: "Linux", OK: e.System == "linux", needed: forAll, Note: strconv.Itoa(e.Cores) + " " + counted(e.Cores, "core") +
		", " + e.Arch}
	if err := launch.Supported(e.System); err != nil {
		system.Note, system.Without = e.System, err.Error()
	}
	e.add(group, system)
	for _, t := range launch.BuildTools {
		c := Check{Name: t.Name, needed: forAll, Without: "no program is built", Install: "sudo apt-get install " + t.Package}
		if c.Path = t.Find(e.LookPath); c.Path != "" {
			c.Version, c.OK = e.versionOf(e.ctx, c.Path), true
		}
		if t.Name == "cmake" && c.OK && older(c.Version, leastCMake) {
			c.OK, c.Without, c.Install = false, "emitted programs need CMake "+leastCMake+" or newer", "pip install cmake"
		}
		e.add(group, c)
	}
	e.nvcc(group)
}

// nvcc checks the CUDA compiler and records the folders that may have the libraries of its toolkit.
func (e *examination) nvcc(group string) {
	c := Check{Name: "nvcc", needed: forGPUs, Without: "programs are built for the CPU device only",
		Install: "https://developer.nvidia.com/cuda-downloads"}
	if c.Path = launch.NVCC(e.Getenv, e.LookPath, func(path string) bool { return e.first(path) != "" }); c.Path != "" {
		output, err := e.Run(e.ctx, c.Path, "--version")
		c.OK = err == nil
		if _, release, found := strings.Cut(output, "release "); found {
			c.Version = versionNumber.FindString(release)
		}
		root := filepath.Dir(filepath.Dir(c.Path))
		e.cuda = []string{root, root + "/targets/*", root + "/../nccl", root + "/../cudnn"}
	}
	e.add(group, c)
}

// older reports whether a version is less than another, number by number. It returns false if version is empty.
func older(version, than string) bool {
	if version == "" {
		return false
	}
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		if errX != nil || errY != nil || x != y {
			return x < y
		}
	}
	return len(a) < len(b)
}
