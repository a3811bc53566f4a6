package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// retry is the interval between two attempts to take the lock.
const retry = 20 * time.Millisecond

func hold(ctx context.Context, file *os.File, waiting func()) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(retry):
		}
	}
}
