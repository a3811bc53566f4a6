//go:build !linux

package launch

import (
	"os"
	"syscall"
)

// Emitted programs run only on Linux. On other systems the launcher only has to compile.

func processAttributes() *syscall.SysProcAttr { return nil }

func groupAttributes() *syscall.SysProcAttr { return nil }

func terminateGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill()
	}
}
