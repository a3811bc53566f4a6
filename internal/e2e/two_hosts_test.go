package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// host is a node of a cluster: this machine, or a network namespace with a host name of its own.
type host struct {
	name, address string
	names         string // the file of the names of hosts; empty: the host is this machine
}

// line returns the command line that runs a command on the host.
func (h host) line(command ...string) []string {
	if h.names == "" {
		return command
	}
	inside := fmt.Sprintf(`hostname %s && mount --bind %s /etc/hosts && exec "$@"`, h.name, h.names)
	return append([]string{"nsenter", "--net=/run/netns/" + h.name, "unshare", "--uts", "--mount", "sh", "-c", inside, "sh"}, command...)
}

// twoHosts connects two network namespaces by a virtual cable until the test ends. It skips the test if it cannot.
func twoHosts(t *testing.T) [2]host {
	t.Helper()
	needs(t, "ip", "nsenter", "unshare")
	if os.Getuid() != 0 {
		t.Skip("only root can make network namespaces")
	}
	var hosts [2]host
	file, names := filepath.Join(t.TempDir(), "hosts"), "127.0.0.1 localhost\n"
	for i := range hosts {
		hosts[i] = host{fmt.Sprintf("hirgen-%d-%d", os.Getpid(), i+1), fmt.Sprintf("10.213.77.%d", i+1), file}
		names += hosts[i].address + " " + hosts[i].name + "\n"
	}
	for _, h := range hosts {
		if text, err := exec.CommandContext(t.Context(), "ip", "netns", "add", h.name).CombinedOutput(); err != nil {
			t.Skipf("no network namespace can be made here: %s", text)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", h.name).Run() })
	}
	if err := os.WriteFile(file, []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "", "ip", "link", "add", "cable", "netns", hosts[0].name, "type", "veth", "peer", "name", "cable", "netns", hosts[1].name)
	for _, h := range hosts {
		command(t, "", "ip", "-n", h.name, "addr", "add", h.address+"/24", "dev", "cable")
		command(t, "", "ip", "-n", h.name, "link", "set", "cable", "up")
		command(t, "", "ip", "-n", h.name, "link", "set", "lo", "up")
	}
	return hosts
}

// start runs a rank on the host.
func (h host) start(t *testing.T, rank int, env []string, program string) result {
	t.Helper()
	line := h.line(program, "--iters", "2", "--timeout", "10")
	return launched(t, append(env, fmt.Sprintf("HIRGEN_RANK=%d", rank), "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0"), line[0], line[1:]...)
}

// TestTwoHosts runs each rank on its own host. The rendezvous is at the address of the first one.
func TestTwoHosts(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	hosts := twoHosts(t)
	meeting := []string{"HIRGEN_ADDR=" + hosts[0].address, "HIRGEN_PORT=23456"}
	for _, c := range []struct {
		name, says string
		env        []string
	}{
		{"with a secret", "", withSecret},
		{"without one", "this job has no secret", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var results [2]result
			var ranks sync.WaitGroup
			for rank, h := range hosts {
				ranks.Go(func() { results[rank] = h.start(t, rank, append(c.env, meeting...), program) })
			}
			ranks.Wait()
			results[0].mustPass(t)
			if results[1].exit != 0 || !strings.Contains(results[0].stdout, "on "+hosts[1].name+" ") {
				t.Errorf("rank 0: %s\nrank 1: %s", results[0], results[1])
			}
			if said := results[0].stderr; (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("rank 0 says %q, want %q in it", said, c.says)
			}
		})
	}
}

// TestSlurmOnTwoHosts checks ranks that know the first host by its name in Slurm's list of nodes.
func TestSlurmOnTwoHosts(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	hosts := twoHosts(t)
	cluster := startSlurm(t, hosts[0], hosts[1])
	line := hosts[0].line("srun", "--nodes=2", "--ntasks=2", program, "--iters", "2", "--timeout", "20", "--require-secret")
	r := launched(t, append(withSecret, cluster), line[0], line[1:]...)
	r.mustPass(t)
	for _, h := range hosts {
		if !strings.Contains(r.stdout, "on "+h.name+" ") {
			t.Errorf("no rank on %s: %s", h.name, r)
		}
	}
}
