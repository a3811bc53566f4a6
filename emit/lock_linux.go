package emit

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const defaultLockPatience = 30 * time.Second

// lock keeps other Writes out of a folder until release is called, or this process ends in
// whatever way. It waits for one that is under way. The lock is the folder's own: no file
// tells of it. Where the file system has no locks, held is false.
func lock(root *os.Root) (held bool, release func(), err error) {
	folder, err := root.Open(".")
	if err != nil {
		return false, nil, err
	}
	release = func() { _ = folder.Close() }
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, release, nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return false, release, nil
		case time.Now().After(deadline):
			release()
			return false, nil, &FolderError{
				root.Name(), "another hirgen writes to it for " + lockPatience.String() + " already", "wait until it has ended, or use another folder",
			}
		}
	}
}
