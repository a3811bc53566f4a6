package emit

import (
	"errors"
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

// killedWrite starts a process that writes the second version over the folder and kills itself at a step, counted from
// 0. It reports whether the process reached that step.
func killedWrite(t *testing.T, dir string, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=TestHelperIsKilled$")
	cmd.Env = append(os.Environ(), "HIRGEN_TEST_KILLED_IN="+dir, "HIRGEN_TEST_KILLED_AT="+strconv.Itoa(step))
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
		t.Fatalf("%v:\n%s", err, output)
	}
	return err != nil
}

// TestHelperIsKilled is the process of killedWrite, not a test.
func TestHelperIsKilled(t *testing.T) {
	dir := os.Getenv("HIRGEN_TEST_KILLED_IN")
	if dir == "" {
		t.Skip("a part of other tests")
	}
	left, err := strconv.Atoi(os.Getenv("HIRGEN_TEST_KILLED_AT"))
	if err != nil {
		t.Fatal(err)
	}
	atStep = func() {
		if left--; left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	mustWrite(t, dir, version(t, secondVersion))
}

// TestWriteGoesOnAfterAKill kills a Write at each of its steps. cleanUp then restores the complete first version
// or keeps the complete second one, and the next Write completes the second one.
func TestWriteGoesOnAfterAKill(t *testing.T) {
	dir := func() string {
		dir := t.TempDir()
		mustWrite(t, dir, version(t, firstVersion))
		put(t, dir, "notes.txt", "mine")
		return dir
	}
	reference := dir()
	first := tree(t, reference)
	mustWrite(t, reference, version(t, secondVersion))
	second := tree(t, reference)
	step := 0
	for ; ; step++ {
		before := dir()
		if !killedWrite(t, before, step) {
			break
		}
		root, err := os.OpenRoot(before)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to undo
			if err := cleanUp(root); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		_ = root.Close()
		if got := tree(t, before); !equal(got, first) && !equal(got, second) {
			t.Errorf("step %d leaves %v", step, got)
		}
		after := dir()
		killedWrite(t, after, step)
		mustWrite(t, after, version(t, secondVersion))
		if got := tree(t, after); !equal(got, second) {
			t.Errorf("after a kill at step %d: %v", step, got)
		}
	}
	if step < 8 {
		t.Errorf("only %d steps", step)
	}
}

// TestWriteGoesOnAfterAKillInANewFolder checks that a killed first Write leaves no files that a second Write
// considers foreign.
func TestWriteGoesOnAfterAKillInANewFolder(t *testing.T) {
	for step := range 4 {
		dir := filepath.Join(t.TempDir(), "new")
		killedWrite(t, dir, step)
		mustWrite(t, dir, version(t, secondVersion))
		if got := tree(t, dir); len(got) != 4 {
			t.Errorf("step %d: %v", step, got)
		}
	}
}

func TestWritesTakeTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			files := version(t, map[string]string{"a.cpp": fmt.Sprint(i), "b.cpp": fmt.Sprint(i), fmt.Sprintf("only%d.cpp", i): "x"})
			if _, err := Write(dir, files, WriteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := tree(t, dir); len(got) != 4 || got["a.cpp"] != got["b.cpp"] || got["only"+got["a.cpp"]+".cpp"] != "x" {
		t.Errorf("a mixture: %v", got)
	}
}

func TestWriteSaysThatAnotherOneIsThere(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, version(t, firstVersion))
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Skip("no locks here: ", err)
	}
	defer func() { lockPatience = defaultLockPatience }()
	lockPatience = 50 * time.Millisecond
	_, err = Write(dir, version(t, secondVersion), WriteOptions{})
	var refused *FolderError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "another hirgen writes to it") {
		t.Errorf("got %v", err)
	}
}

// TestStagingFolderKeepsOthersOut checks that, without file locks, an existing staging folder keeps a second
// Write out.
func TestStagingFolderKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, filepath.Join(stagingFolder, "new0"), "x")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := apply(root, &plan{}); err == nil || !strings.Contains(err.Error(), "remove "+stagingFolder) {
		t.Errorf("error %v does not say what to remove", err)
	}
}

func TestADamagedJournalIsKept(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, version(t, firstVersion))
	for _, journal := range []string{"[{", `[{"path":"../x","old":"y"}]`} {
		put(t, dir, filepath.Join(stagingFolder, journalName), journal)
		before := tree(t, dir)
		_, err := Write(dir, version(t, secondVersion), WriteOptions{Force: true})
		var refused *FolderError
		if !errors.As(err, &refused) || !equal(before, tree(t, dir)) {
			t.Errorf("%s: %v", journal, err)
		}
	}
}
