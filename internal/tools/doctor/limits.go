package doctor

import (
	"fmt"
	"math"
)

const (
	// littleShared is the size of /dev/shm in a Docker container by default. NCCL's documentation asks for more. The
	// CPU device needs none.
	littleShared = 64 << 20
	leastFiles   = 1024 // the usual default of Linux
)

// limits checks the free space of /dev/shm and the limits of a process.
func (e *examination) limits() {
	const group = "limits"
	shared := Check{Name: "/dev/shm", Path: "/dev/shm", Without: "NCCL's ranks share memory there, and may not start",
		Install: "sudo mount -o remount,size=1G /dev/shm   # of a container: docker run --shm-size=1g, or --ipc=host"}
	if free, err := e.Free("/dev/shm"); err == nil {
		shared.OK, shared.Note = e.report.GPUs == 0 || free > littleShared, fmt.Sprintf("%d MiB free", free>>20)
	}
	e.add(group, shared)
	files, locked := e.Limits()
	e.add(group, Check{
		Name: "open files", OK: files >= leastFiles, Note: limit(files, 1, ""),
		Without: "many ranks on one machine may run out of them", Install: "ulimit -n 65536",
	})
	e.add(group, Check{
		Name: "locked memory", OK: locked == math.MaxUint64 || e.report.GPUs == 0, Note: limit(locked, 1<<10, " KiB"),
		Without: "NCCL over InfiniBand may fail", Install: "ulimit -l unlimited   # of a container: docker run --ulimit memlock=-1",
	})
}

// limit prints a limit in a unit.
func limit(value, unit uint64, name string) string {
	if value == math.MaxUint64 {
		return "no limit"
	}
	return fmt.Sprintf("%d%s", value/unit, name)
}
