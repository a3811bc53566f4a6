package e2e

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// ended is how a process ended.
type ended struct {
	exit   int
	stderr string
}

// startAll starts the ranks of one host at the same time, without the launcher, and waits for them. Each rank gets
// its own environment variables, those in ranks, and the variables in all.
func startAll(t *testing.T, program string, ranks [][]string, all ...string) []ended {
	t.Helper()
	results := make([]ended, len(ranks))
	var group sync.WaitGroup
	for i, own := range ranks {
		group.Go(func() {
			exit, stderr := startWithin(t, 30, program, append(own, all...)...)
			results[i] = ended{exit, stderr}
		})
	}
	group.Wait()
	return results
}

// mustAllPass fails the test unless every rank exited with code 0 and an empty standard error.
func mustAllPass(t *testing.T, results []ended) {
	t.Helper()
	for rank, r := range results {
		if r.exit != 0 || r.stderr != "" {
			t.Errorf("rank %d: exit code %d, standard error:\n%s", rank, r.exit, r.stderr)
		}
	}
}

// twoRanks has the environment variables that a user sets by hand for two ranks of one host, without address and
// port.
var twoRanks = [][]string{
	{"HIRGEN_RANK=0", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0"},
	{"HIRGEN_RANK=1", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=1"},
}

// TestRanksOfOneHostNeedNoAddress starts ranks as docs/launchers.md says for each launcher.
func TestRanksOfOneHostNeedNoAddress(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	for name, ranks := range map[string][][]string{
		"by hand":  twoRanks,
		"torchrun": {{"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0"}, {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1"}},
		"Slurm": {{"SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_LOCALID=0"},
			{"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_LOCALID=1"}},
	} {
		t.Run(name, func(t *testing.T) { mustAllPass(t, startAll(t, program, ranks)) })
	}
}

// TestStrangersDoNotHoldUpAStart opens other connections to rank 0's port before its peer connects, and keeps them
// open.
func TestStrangersDoNotHoldUpAStart(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	port, release, err := launch.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	meet := []string{"HIRGEN_ADDR=127.0.0.1", "HIRGEN_PORT=" + strconv.Itoa(port), "HIRGEN_JOB_SECRET=of these two"}
	var group sync.WaitGroup
	results := make([]ended, 2)
	for rank := range results {
		group.Go(func() {
			if rank == 1 {
				closeAll := knock(t, address)
				defer closeAll()
			}
			exit, stderr := startWithin(t, 30, program, append(meet, twoRanks[rank]...)...)
			results[rank] = ended{exit, stderr}
		})
	}
	group.Wait()
	mustAllPass(t, results)
}

// knock opens connections that send nothing, text of other protocols, or the header of a message that never ends.
func knock(t *testing.T, address string) (closeAll func()) {
	t.Helper()
	var open []net.Conn
	texts := []string{"", "GET / HTTP/1.1\r\n\r\n", "HIGR\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", strings.Repeat("x", 10_000)}
	for deadline := time.Now().Add(2 * time.Second); len(open) < 100 && time.Now().Before(deadline); {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // rank 0 does not listen yet
			continue
		}
		_, _ = connection.Write([]byte(texts[len(open)%len(texts)]))
		open = append(open, connection)
	}
	if len(open) == 0 {
		t.Errorf("nobody listens at %s", address)
	}
	return func() {
		for _, connection := range open {
			connection.Close()
		}
	}
}
