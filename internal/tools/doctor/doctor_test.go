package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/doctor"
)

// fake is a machine with some files, and with programs whose output depends on the command line.
type fake struct {
	files    map[string]string
	programs map[string]string
}

// twoGPUs returns a machine that passes all checks.
func twoGPUs() *fake {
	return &fake{
		files: map[string]string{
			"/usr/bin/cmake": "", "/usr/bin/ninja": "", "/usr/bin/c++": "", "/usr/bin/nvidia-smi": "", "/usr/bin/python3": "", "/usr/bin/mpirun": "",
			"/usr/local/cuda/bin/nvcc":                 "",
			"/usr/local/cuda/include/cublas_api.h":     "#define CUBLAS_VER_MAJOR 13\n#define CUBLAS_VER_MINOR 0\n#define CUBLAS_VER_PATCH 2\n",
			"/usr/local/cuda/lib64/libcublasLt.so":     "",
			"/usr/include/nccl.h":                      "#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 3\n",
			"/usr/lib/x86_64-linux-gnu/libnccl.so.2":   "",
			"/py/nvidia/cudnn/include/cudnn_version.h": "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 13\n#define CUDNN_PATCHLEVEL 0\n",
			"/py/nvidia/cudnn/lib/libcudnn.so.9":       "",
		},
		programs: map[string]string{
			"cmake --version": "cmake version 3.31.6\n", "ninja --version": "1.11.1\n", "c++ --version": "c++ (Debian 12.2.0-14) 12.2.0\n",
			"mpirun --version": "mpirun (Open MPI) 4.1.4\n",
			"nvcc --version":   "Built on Wed_Aug_20\nCuda compilation tools, release 13.0, V13.0.88\n",
			"nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version,mig.mode.current --format=csv,noheader": "" +
				strings.Repeat("NVIDIA H100, 9.0, 81559 MiB, 580.65, Disabled\n", 2),
			"nvidia-smi topo -p2p r": "\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\nLegend:\n  OK = Status Ok\n",
			"nvidia-smi topo -m":     "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-31\nGPU1\tNV18\t X \t0-31\n",
			"python3 -c":             `{"version": "3.12.3", "packages": "/py", "torch": "2.11.0"}`,
		},
	}
}

func (f *fake) machine() *doctor.Machine {
	return &doctor.Machine{
		System: "linux", Arch: "amd64", Cores: 32,
		Getenv: func(string) string { return "" },
		LookPath: func(program string) (string, error) {
			if _, ok := f.files["/usr/bin/"+program]; ok {
				return "/usr/bin/" + program, nil
			}
			return "", fs.ErrNotExist
		},
		Run: func(_ context.Context, program string, args ...string) (string, error) {
			line := filepath.Base(program) + " " + strings.Join(args, " ")
			for prefix, output := range f.programs {
				if strings.HasPrefix(line, prefix) {
					return output, nil
				}
			}
			return "", errors.New("exit status 1")
		},
		ReadFile: func(path string) ([]byte, error) { return []byte(f.files[path]), nil },
		Glob: func(pattern string) (found []string, err error) {
			for _, path := range slices.Sorted(maps.Keys(f.files)) {
				if ok, err := filepath.Match(pattern, path); ok && err == nil {
					found = append(found, path)
				}
			}
			return found, nil
		},
		Limits: func() (files, locked uint64) { return 1 << 20, math.MaxUint64 },
		Free:   func(string) (uint64, error) { return 1 << 30, nil },
	}
}

func TestAllIsWell(t *testing.T) {
	report := doctor.Examine(t.Context(), twoGPUs().machine())
	if report.Device != "cuda" || report.GPUs != 2 {
		t.Errorf("device %q, %d GPUs", report.Device, report.GPUs)
	}
	versions := map[string]string{
		"cmake": "3.31.6", "nvcc": "13.0", "driver": "580.65", "cuBLASLt": "13.0.2", "NCCL": "2.28.3", "cuDNN": "9.13.0", "PyTorch": "2.11.0",
		"Open MPI": "4.1.4",
	}
	for _, c := range report.Checks {
		if want, known := versions[c.Name]; !c.OK || known && c.Version != want {
			t.Errorf("%+v", c)
		}
	}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "programs run here on 2 GPUs (hirgen run --device cuda)\n") ||
		strings.Contains(text, "missing") {
		t.Error(text)
	}
}

// TestWhatIsMissing spoils a machine in one way at a time and checks the device of programs and the text of the report.
func TestWhatIsMissing(t *testing.T) {
	without := func(names ...string) func(*fake, *doctor.Machine) {
		return func(f *fake, _ *doctor.Machine) {
			maps.DeleteFunc(f.files, func(path, _ string) bool { return slices.Contains(names, filepath.Base(path)) })
		}
	}
	says := func(line, output string) func(*fake, *doctor.Machine) {
		return func(f *fake, _ *doctor.Machine) { f.programs[line] = output }
	}
	const query = "nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version,mig.mode.current --format=csv,noheader"
	for _, c := range []struct {
		spoil        func(*fake, *doctor.Machine)
		name, device string
		want         string
	}{
		{without("cmake"), "cmake", "", "sudo apt-get install cmake"},
		{says("cmake --version", "cmake version 3.18.4\n"), "cmake", "", "3.24 or newer"},
		{without("c++"), "c++", "", "no program is built"},
		{without("nvcc"), "nvcc", "cpu", "the CPU device only; for the GPUs see nvcc"},
		{without("nvidia-smi"), "driver", "cpu", "there is no NVIDIA GPU"},
		{says(query, "NVIDIA H100, 9.0, 81559 MiB, 580.65, Enabled\n"), "MIG", "cuda", "nvidia-smi -mig 0"},
		{says("nvidia-smi topo -p2p r", " GPU0\tX\tCNS\n GPU1\tCNS\tX\n"), "peer access", "cuda", "0 of 1 pairs"},
		{says("nvidia-smi topo -m", "GPU0\t X \tPHB\t0-31\nGPU1\tPHB\t X \t0-31\n"), "NVLink", "cuda", "over PCIe"},
		{without("nccl.h"), "NCCL", "cpu", "no nccl.h"},
		{without("libcublasLt.so"), "cuBLASLt", "cpu", "no libcublasLt.so"},
		{without("cudnn_version.h"), "cuDNN", "cuda", "pip install nvidia-cudnn-cu13"},
		{says("python3 -c", "Traceback"), "PyTorch", "cuda", "pip install torch"},
		{func(_ *fake, m *doctor.Machine) { m.Free = func(string) (uint64, error) { return 64 << 20, nil } }, "/dev/shm", "cuda", "64 MiB free"},
		{func(_ *fake, m *doctor.Machine) { m.Limits = func() (uint64, uint64) { return 256, 65536 } }, "locked memory", "cuda", "64 KiB"},
		{func(_ *fake, m *doctor.Machine) { m.System = "darwin" }, "Linux", "", "this is darwin"},
	} {
		f := twoGPUs()
		m := f.machine()
		c.spoil(f, m)
		report := doctor.Examine(t.Context(), m)
		var out bytes.Buffer
		if err := report.Print(&out); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(report.Checks, func(check *doctor.Check) bool { return check.Name == c.name })
		if at < 0 || report.Checks[at].OK || report.Device != c.device || !strings.Contains(out.String(), c.want) {
			t.Errorf("without %s: device %q, and no %q in\n%s", c.name, report.Device, c.want, out.String())
		}
	}
}
