package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestOneHoldsAndTheOtherWaits(t *testing.T) {
	for name, path := range map[string]string{"folder": t.TempDir(), "file": filepath.Join(t.TempDir(), "lock")} {
		t.Run(name, func(t *testing.T) {
			release, err := HoldPath(t.Context(), path, func() { t.Error("nobody is to be waited for") })
			if err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(t.Context(), 3*retry)
			defer cancel()
			waited := 0
			if _, err := HoldPath(short, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
				t.Errorf("a second holder: error %v, waited %d times", err, waited)
			}
			time.AfterFunc(3*retry, release)
			second, err := HoldPath(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			second()
		})
	}
}

func TestNoPlaceForALock(t *testing.T) {
	if _, err := HoldPath(t.Context(), filepath.Join(t.TempDir(), "missing", "lock"), nil); err == nil {
		t.Error("a lock in a folder that is missing")
	}
}
