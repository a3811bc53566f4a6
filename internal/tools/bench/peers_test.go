package bench

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// peersThat starts a command as the peers of a problem.
func peersThat(t *testing.T, command string) []*turn {
	t.Helper()
	r := &run{Options: &Options{Peers: command, Repeats: 2}, ctx: t.Context()}
	turns := r.startPeers(Row{Case: Case{Spec: "a.yaml"}, Name: "a", Ranks: 2, Device: "cpu", Values: map[string]int64{"M": 8}})
	t.Cleanup(func() { killAll(turns) })
	return turns
}

// TestPeers checks that each peer of a command has a turn, and a peer that fails does not affect the others.
func TestPeers(t *testing.T) {
	said := t.TempDir() + "/said"
	turns := peersThat(t, `echo noise; echo "$HIRGEN_BENCH" > `+said+`; echo '{"peers": ["fast", "slow", "broken"]}'
		while read name; do case $name in
		fast) echo '{"us": [1, 2]}';; slow) echo '{"us": [4, 4]}';; *) echo '{"failed": "no memory"}';; esac; done; echo over >> `+said)
	r := &run{Options: &Options{Rounds: 3}, ctx: t.Context()}
	r.rounds(turns, 0)
	rows := []*Row{{Status: OK, Median: 0.75}}
	for _, turn := range turns {
		rows = append(rows, &turn.row)
	}
	besidePeers(rows)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	if fast := rows[1]; fast.Status != OK || fast.Label != "fast" || !fast.Peer || len(fast.Repeats) != 6 || fast.Median != 1.5 {
		t.Errorf("%+v", fast)
	}
	if slow := rows[2]; slow.AgainstPeer != 0.375 || rows[0].AgainstPeer != 2 {
		t.Errorf("%+v and %+v", rows[0], slow)
	}
	if broken := rows[3]; broken.Status != Failed || broken.Reason != "no memory" {
		t.Errorf("%+v", broken)
	}
	text, err := os.ReadFile(said)
	want := `{"problem":"a M=8 (2 ranks, cpu)","spec":"a.yaml","params":{"M":8},"ranks":2,"device":"cpu","repeats":2}` + "\nover\n"
	if err != nil || string(text) != want {
		t.Errorf("the command was told, and did: %q, %v", text, err)
	}
}

// TestGPUsSettle checks that on GPUs the first program runs for a while before the rounds, and these times are
// discarded.
func TestGPUsSettle(t *testing.T) {
	for device, most := range map[launch.Device]int{launch.CPU: 2, launch.CUDA: math.MaxInt} {
		said := t.TempDir() + "/said"
		turns := peersThat(t, `echo '{"peers": ["first", "second"]}'; while read name; do echo $name >> `+said+
			`; sleep 0.1; echo '{"us": [1, 2]}'; done`)
		r := &run{Options: &Options{Rounds: 1, Device: device}, ctx: t.Context()}
		r.rounds(turns, 0)
		text, _ := os.ReadFile(said)
		asked := strings.Fields(string(text))
		if len(asked) > most || device == launch.CUDA && len(asked) < 4 || asked[len(asked)-1] != "second" || len(turns[0].row.Repeats) != 2 {
			t.Errorf("%s: asked %v, repeats %v", device, asked, turns[0].row.Repeats)
		}
	}
}

// TestPeersThatEnd checks that peers fail with a reason if the command ends, prints no names, or gives no times.
func TestPeersThatEnd(t *testing.T) {
	r := &run{Options: &Options{Rounds: 2}, ctx: t.Context()}
	for command, want := range map[string]string{
		"echo no library >&2; exit 1":                                       "no library",
		`echo '{"peers": 7}'`:                                               "the command of the peers printed",
		`echo '{"peers": ["a", "b"]}'; read x; echo it broke >&2`:           "it broke",
		`echo '{"peers": ["a"]}'; while read x; do echo '{"us": []}'; done`: "no times",
	} {
		turns := peersThat(t, command)
		r.rounds(turns, 0)
		for _, turn := range turns {
			if turn.row.Status != Failed || !strings.Contains(turn.row.Reason, want) {
				t.Errorf("%s: %+v", command, turn.row)
			}
		}
	}
}

// TestPeersThatAreSilent checks that a command that does not answer in time is stopped, and its other peers fail at
// once.
func TestPeersThatAreSilent(t *testing.T) {
	turns := peersThat(t, `echo '{"peers": ["a", "b"]}'; exec sleep 600`)
	if _, err := turns[0].running.round(time.Millisecond); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("silence: %v", err)
	}
	if _, err := turns[1].running.round(time.Minute); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("the next one: %v", err)
	}
}

// TestNear checks that slow candidates are dropped. Peers and the GEMMs alone are neither dropped nor counted as the
// fastest.
func TestNear(t *testing.T) {
	made := func(us float64, aside bool) *turn {
		return &turn{program: &program{}, running: &peer{}, times: []float64{us}, isBaseline: aside}
	}
	over := &turn{program: &program{}}
	all := []*turn{made(1, true), made(10, false), made(11, false), made(13, false), made(99, true), over}
	r := &run{Options: &Options{Near: 1.2}}
	if left := r.near(all); len(left) != 5 || left[2] != all[2] || left[3] != all[4] {
		t.Errorf("%v are left", left)
	}
	if r.Near = 0; len(r.near(all)) != len(all) {
		t.Error("one leaves that should not")
	}
}

// TestKeptWithPeers checks that rows are kept together with the peers of the same run, or not at all.
func TestKeptWithPeers(t *testing.T) {
	one, two := Row{Case: Case{Label: "one"}, Digest: "1"}, Row{Case: Case{Label: "two"}, Digest: "2"}
	ok := func(row Row) Row { row.Status = OK; return row }
	peer := Row{Case: Case{Label: "eager"}, Status: OK, Peer: true}
	for _, c := range []struct {
		rows []Row
		kept int
	}{
		{[]Row{ok(one), ok(two), peer}, 2},
		{[]Row{ok(one), peer}, 0},
		{[]Row{ok(one), ok(two)}, 0},
	} {
		old := &Result{Rows: c.rows}
		g := []*program{{row: one}, {row: two}, {row: Row{Status: Waived}}}
		r := &run{Options: &Options{Peers: "command", Kept: old.Kept, KeptPeers: old.KeptPeers}}
		peers, kept := r.keep(g), 0
		for _, p := range g {
			if p.row.Status == OK {
				kept++
			}
		}
		if kept != c.kept || (len(peers) > 0) != (c.kept > 0) {
			t.Errorf("of %d rows %d are kept, and %d peers", len(c.rows), kept, len(peers))
		}
	}
}

// TestPeersOfSeveralProcesses checks that the processes that a command started end with it, although they do not read
// its input.
func TestPeersOfSeveralProcesses(t *testing.T) {
	id := t.TempDir() + "/id"
	turns := peersThat(t, `sleep 600 & echo $! > `+id+`; echo '{"peers": ["a"]}'; wait`)
	if _, err := turns[0].running.round(time.Millisecond); err == nil {
		t.Fatal("an answer out of silence")
	}
	text, err := os.ReadFile(id)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); syscall.Kill(child, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); strings.Contains(string(state), ") Z ") {
			return // the process has ended, but its parent has not waited for it yet
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("process %d still runs", child)
		}
	}
}
