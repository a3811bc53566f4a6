package emit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	was := map[string]string{"a.cpp": "one\ntwo\nthree\n", "b.cpp": "one\n", "c.cpp": "one\n", "d.cpp": "one\n", CallsName: "calls\n"}
	now := map[string]string{"a.cpp": "one\ntwo\nthree\n", "b.cpp": "one\nnew\n", "c.cpp": "one\n", "d.cpp": "one\n",
		CallsName: "other calls\n", "new.cpp": "one\n"}
	dir := t.TempDir()
	mustWrite(t, dir, version(t, was))
	put(t, dir, "a.cpp", "one\n2\n2.5\nthree\n")
	put(t, dir, "d.cpp", "")
	put(t, dir, CallsName, now[CallsName])
	if err := os.Remove(filepath.Join(dir, "c.cpp")); err != nil {
		t.Fatal(err)
	}
	got, err := Differences(dir, version(t, now))
	if err != nil {
		t.Fatal(err)
	}
	want := []Difference{
		{Path: "a.cpp", State: Edited, Line: 2, Lines: 2, Has: "2", Want: "two"},
		{Path: "b.cpp", State: Stale, Line: 2, Want: "new"},
		{Path: "c.cpp", State: Missing},
		{Path: CallsName, State: Edited},
		{Path: "d.cpp", State: Edited, Line: 1, Want: "one"},
		{Path: "new.cpp", State: Stale}, // the version in the folder did not write it
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRecordRefusesOtherFolders(t *testing.T) {
	if _, err := ReadRecord(t.TempDir()); err == nil {
		t.Error("a folder without a manifest is read")
	}
}
