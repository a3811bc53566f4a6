package doctor

import "syscall"

// lockedMemory is RLIMIT_MEMLOCK, which package syscall does not name.
const lockedMemory = 8

// systemLimits returns the soft limits of this process. A limit that cannot be read is 0.
func systemLimits() (files, locked uint64) {
	soft := func(resource int) uint64 {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err != nil {
			return 0
		}
		return limit.Cur
	}
	return soft(syscall.RLIMIT_NOFILE), soft(lockedMemory)
}

// freeSpace returns the bytes of the file system of a folder that are free for users without privileges.
func freeSpace(folder string) (bytes uint64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}
