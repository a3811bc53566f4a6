package doctor

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
)

// python describes an installation of Python.
type python struct {
	path     string
	Version  string `json:"version"`
	Packages string `json:"packages"` // folder of its packages
	Torch    string `json:"torch"`    // the version of PyTorch, if it is there
}

// askPython is a program that prints the fields of type python as JSON. It does not import PyTorch, which takes
// seconds.
const askPython = `import json, platform, sysconfig
from importlib import metadata
try:
    torch = metadata.version("torch")
except metadata.PackageNotFoundError:
    torch = ""
print(json.dumps({"version": platform.python_version(), "packages": sysconfig.get_paths()["purelib"], "torch": torch}))`

// libraries checks the CUDA libraries, Python, PyTorch and Open MPI.
func (e *examination) libraries() {
	const group = "libraries"
	e.python = e.askForPython()
	e.library(group, Check{Name: "cuBLASLt", needed: forGPUs, Without: "programs for GPUs are not built: their matrix products are cuBLASLt's",
		Install: "https://developer.nvidia.com/cuda-downloads"},
		e.cuda, "cublas_api.h", "libcublasLt.so*", "CUBLAS_VER_MAJOR", "CUBLAS_VER_MINOR", "CUBLAS_VER_PATCH")
	e.library(group, Check{Name: "NCCL", needed: forGPUs, Without: "programs for GPUs are not built",
		Install: "sudo apt-get install libnccl-dev   # or -DNCCL_ROOT=<folder> for another place"},
		append([]string{e.Getenv("NCCL_ROOT")}, e.cuda...), "nccl.h", "libnccl.so*", "NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH")
	e.cudnn(group)
	e.add(group, Check{Name: "Python", OK: e.python.path != "", Version: e.python.Version, Path: e.python.path,
		Without: "the package for PyTorch does not work", Install: "sudo apt-get install python3"})
	e.add(group, Check{
		Name: "PyTorch", OK: e.python.Torch != "", Version: e.python.Torch,
		Without: "programs are not called from PyTorch (hirgen.load, emit --python)", Install: "pip install torch",
	})
	mpi := Check{Name: "Open MPI", Without: "mpirun does not start programs, on several machines either; hirgen run needs none",
		Install: "sudo apt-get install openmpi-bin"}
	if path, err := e.LookPath("mpirun"); err == nil {
		mpi.OK, mpi.Path, mpi.Version = true, path, e.versionOf(e.ctx, path)
	}
	e.add(group, mpi)
}

// cudnn checks cuDNN and its headers, which the build needs.
func (e *examination) cudnn(group string) {
	c := Check{Name: "cuDNN", Without: "attention is computed by hirgen's own kernels, which take up to five times as long",
		Install: "pip install nvidia-cudnn-cu13"}
	e.library(group, c, append([]string{e.Getenv("CUDNN_ROOT"), e.python.wheel("cudnn")}, e.cuda...), "cudnn_version.h", "libcudnn.so.9*",
		"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")
}

// wheel returns the folder of a CUDA library among Python's packages, or "" without Python.
func (p *python) wheel(name string) string {
	if p.Packages == "" {
		return ""
	}
	return filepath.Join(p.Packages, "nvidia", name)
}

// askForPython describes the python3 on PATH. The result is empty if there is none or it does not answer.
func (e *examination) askForPython() *python {
	p := &python{}
	path, err := e.LookPath("python3")
	if err != nil {
		return p
	}
	output, err := e.Run(e.ctx, path, "-c", askPython)
	if err != nil || json.Unmarshal([]byte(output), p) != nil {
		return &python{}
	}
	p.path = path
	return p
}

// library checks that a header and a shared library are in the given folders or in the system's. It reads the version
// from the macros of the header.
func (e *examination) library(group string, c Check, folders []string, header, library string, macros ...string) {
	at := e.header(folders, header)
	c.Path = e.shared(folders, library)
	switch {
	case at == "" && c.Path == "":
	case at == "":
		c.Note = "no " + header
	case c.Path == "":
		c.Note = "no " + strings.TrimSuffix(library, "*")
	default:
		c.OK = true
	}
	if text, err := e.ReadFile(at); at != "" && err == nil {
		c.Version = versionOfMacros(string(text), macros)
	}
	e.add(group, c)
}

// header returns the path of a header below the given folders or the system's folders, or "" if there is none.
func (e *examination) header(folders []string, name string) string {
	var patterns []string
	for _, folder := range append(present(folders), "/usr", "/usr/local") {
		patterns = append(patterns, filepath.Join(folder, "include", name))
	}
	return e.first(append(patterns, "/usr/include/*-linux-gnu/"+name)...)
}

// shared returns the path of a shared library below the given folders or the system's folders, or "" if there is none.
func (e *examination) shared(folders []string, name string) string {
	var patterns []string
	for _, folder := range append(present(folders), "/usr", "/usr/local") {
		patterns = append(patterns, filepath.Join(folder, "lib64", name), filepath.Join(folder, "lib", name))
	}
	return e.first(append(patterns, "/usr/lib/*-linux-gnu/"+name)...)
}

// present removes empty names, which come from unset variables and from a missing Python.
func present(folders []string) (named []string) {
	for _, folder := range folders {
		if folder != "" {
			named = append(named, folder)
		}
	}
	return named
}

// versionOfMacros reads the number in "#define NAME 3" for each name and joins the numbers with dots. It returns "" if a macro is missing.
func versionOfMacros(text string, macros []string) string {
	var parts []string
	for _, name := range macros {
		found := regexp.MustCompile(`(?m)^#\s*define\s+` + name + `\s+([0-9]+)`).FindStringSubmatch(text)
		if found == nil {
			return ""
		}
		parts = append(parts, found[1])
	}
	return strings.Join(parts, ".")
}
