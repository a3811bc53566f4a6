package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// needs skips a test if one of the tools is not installed.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; make test-launchers installs what it can", tool)
		}
	}
}

// launched runs a command with additional variables to its end, and kills it after a minute.
func launched(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	_ = cmd.Run()
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(start)}
}

// withSecret is the secret of a job whose launcher has none.
var withSecret = []string{"HIRGEN_JOB_SECRET=3f1c9a5e7b2d4860aa51"}

// TestLaunchersForReal starts ranks with the launchers themselves, as docs/launchers.md describes.
func TestLaunchersForReal(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	own := []string{"--iters", "2", "--timeout", "20", "--require-secret"}
	t.Run("Open MPI", func(t *testing.T) {
		needs(t, "mpirun")
		// Open MPI's own key is the secret. The variables let root start ranks, and let two ranks
		// share a core.
		root := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1"}
		launched(t, root, "mpirun", append([]string{"-n", "2", program}, own...)...).mustPass(t)
		if r := launched(t, root, "mpirun", append([]string{"-n", "3", program}, own...)...); r.exit == 0 ||
			!strings.Contains(r.stderr, "2 ranks") {
			t.Errorf("three ranks of a program for two: %s", r)
		}
	})
	t.Run("MPICH", func(t *testing.T) {
		needs(t, "mpiexec.hydra")
		launched(t, withSecret, "mpiexec.hydra", append([]string{"-n", "2", program}, own...)...).mustPass(t)
	})
	t.Run("torchrun", func(t *testing.T) {
		needs(t, "torchrun")
		launched(t, withSecret, "torchrun", append([]string{"--nproc-per-node", "2", "--no-python", program}, own...)...).mustPass(t)
	})
	t.Run("Slurm", func(t *testing.T) {
		name, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		cluster := startSlurm(t, host{name: name, address: "127.0.0.1"})
		launched(t, append(withSecret, cluster), "srun", append([]string{"--ntasks=2", "--overcommit", program}, own...)...).mustPass(t)
		r := launched(t, []string{cluster}, "salloc", "--ntasks=2", "--overcommit", program)
		if r.exit != 3 || !strings.Contains(r.stderr, "srun --ntasks") {
			t.Errorf("in a job, but in none of its steps: %s", r)
		}
	})
}
