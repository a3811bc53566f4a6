package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// printed holds the output of a command that a test reads while the command writes it.
type printed struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.Write(b)
}

// await waits until a check has ended, removes its output, and checks that the output contains want.
func (p *printed) await(t *testing.T, want string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		p.mutex.Lock()
		text := p.text.String()
		if strings.Contains(text, "Ctrl-C ends\n") {
			p.text.Reset()
			p.mutex.Unlock()
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
			return
		}
		p.mutex.Unlock()
	}
	t.Fatalf("no check ended that prints %q", want)
}

// TestCheckWatches checks that a spec is checked when it changes, also after a mistake, until the
// command is interrupted.
func TestCheckWatches(t *testing.T) {
	const spec = "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\n"
	path := file(t, "spec.yaml", spec)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(context.Background())
	var out printed
	ended := make(chan int)
	go func() {
		ended <- execute(ctx, []string{"check", path, "--watch"}, streams{strings.NewReader(""), &out, &out})
	}()
	out.await(t, "watching "+path)
	write(strings.Replace(spec, "relu", "rleu", 1))
	out.await(t, "did you mean \"relu\"?")
	write(strings.Replace(spec, "A: [8]", "A: [16]", 1))
	out.await(t, "input   A bf16 [16]")
	interrupt()
	if exit := <-ended; exit != exitOK {
		t.Errorf("exit code %d", exit)
	}
	if exit, _, stderr := hirgen(t, spec, "check", "-", "--watch"); exit != exitUsage || !strings.Contains(stderr, "name files") {
		t.Errorf("standard input: exit code %d, %s", exit, stderr)
	}
}
