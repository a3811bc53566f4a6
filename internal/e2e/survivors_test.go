package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// loss is a way in which rank 1 of two fails.
type loss struct {
	name    string
	fault   string // HIRGEN_FAULT of the victim; empty: it makes no more calls
	timeout time.Duration
	code    int // exit code of the victim; -1: a signal kills it
}

// losses lists the ways in which rank 1 fails. Only the timeout shows that a process is stopped, or that a call
// is late.
var losses = []loss{
	{"kill", "kill:1:3:5", patience, -1},
	{"segv", "segv:1:3:5", patience, -1},
	{"stop", "stop:1:3:5", deadline / 2, 0}, // SIGCONT resumes the victim, which then ends without an error
	{"stall", "stall:1:3:5", deadline / 2, 6},
	{"idle", "", deadline / 2, 0},
}

// TestSurvivors checks that a process that asks to survive failures (on_failure) survives the loss of its peer.
// It gets the report in time and continues with another handle. Clients are in C, Go and Python.
func TestSurvivors(t *testing.T) {
	program := exchanges.makeGo(t, pointToPoint(t, "ag_matmul_p2p", "auto"), small("ag_matmul_p2p", 2))
	built := library{exchanges, program, "hirgen_exchange"}
	commands := map[string][]string{
		"C":      {client(t, "survivor.c", built)},
		"Go":     {exchanges.goClient(t, "survivor", "exchange")},
		"Python": {"python3", filepath.Join("testdata", "survivor.py")},
	}
	var all sync.WaitGroup
	turns := make(chan struct{}, 6) // cases at once; they mostly wait
	start := func(language string, l loss, transport string) {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			s := survival{commands[language], l, transport, filepath.Dir(program)}
			if err := s.run(t.Context()); err != nil {
				t.Errorf("%s, %s, %s: %v", language, l.name, transport, err)
			}
		})
	}
	for _, l := range losses {
		start("C", l, "ipc")
		start("C", l, "nccl")
		start("Go", l, "ipc")
		start("Python", l, "nccl")
	}
	all.Wait()
}

// survival is one case: two ranks, one of which is lost, and a third process in its place later.
type survival struct {
	command   []string
	loss      loss
	transport string
	libraries string
}

// process is one process of a case.
type process struct {
	*exec.Cmd
	role   string
	output bytes.Buffer
}

func (p *process) String() string {
	return fmt.Sprintf("%s: %v\n%s", p.role, p.ProcessState, p.output.String())
}

// run starts all three processes at once: the replacement waits for the survivor.
func (s survival) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ports, release, err := reserveTwo()
	if err != nil {
		return err
	}
	defer release()
	secret := rand.Text()
	victim := "victim"
	if s.loss.fault == "" {
		victim = "idler"
	}
	roles := []string{"survivor", victim, "replacement"}
	processes := make([]*process, len(roles))
	for i, role := range roles {
		p, err := s.start(ctx, role, min(i, 1), ports, secret)
		if err != nil {
			return err
		}
		processes[i] = p
	}
	return s.judge(processes[0], processes[1], processes[2])
}

func (s survival) start(ctx context.Context, role string, rank int, ports [2]int, secret string) (*process, error) {
	p := &process{Cmd: exec.CommandContext(ctx, s.command[0], s.command[1:]...), role: role}
	timeout := s.loss.timeout
	if role == "replacement" {
		timeout = patience
	}
	p.Env = append(os.Environ(), "HIRGEN_RANK="+strconv.Itoa(rank), "HIRGEN_WORLD=2",
		"HIRGEN_PORT="+strconv.Itoa(ports[0]), "SURVIVOR_PORT="+strconv.Itoa(ports[1]),
		"HIRGEN_JOB_SECRET="+secret, "HIRGEN_TRANSPORT="+s.transport, "SURVIVOR_ROLE="+role,
		"SURVIVOR_TIMEOUT="+strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64),
		"SURVIVOR_LIBRARIES="+s.libraries)
	if role == "victim" {
		p.Env = append(p.Env, "HIRGEN_FAULT="+s.loss.fault)
	}
	p.Stdout, p.Stderr = &p.output, &p.output
	err := p.Start()
	return p, err
}

// judge waits for all processes. It returns an error for a wrong exit code or a late report.
func (s survival) judge(survivor, victim, replacement *process) error {
	_ = survivor.Wait() // the exit code is checked below
	_ = replacement.Wait()
	_ = victim.Process.Signal(syscall.SIGCONT)
	_ = victim.Wait()
	for p, code := range map[*process]int{survivor: 0, replacement: 0, victim: s.loss.code} {
		if got := p.ProcessState.ExitCode(); got != code {
			return fmt.Errorf("exit code of the %s is not %d\n%v\n%v\n%v", p.role, code, survivor, victim, replacement)
		}
	}
	var after float64
	line, _, _ := strings.Cut(survivor.output.String(), "\n")
	if _, err := fmt.Sscanf(line, "failed after %f s", &after); err != nil || after > (s.loss.timeout+5*time.Second).Seconds() {
		return fmt.Errorf("the failure was not known in time: %s", line)
	}
	return nil
}
