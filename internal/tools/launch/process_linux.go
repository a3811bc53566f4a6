package launch

import "syscall"

// processAttributes puts a rank into its own process group. The kernel kills the rank when the launcher ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupAttributes puts a command into its own process group.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup sends SIGTERM to the process group of a process. It wakes stopped processes, which otherwise
// do not handle SIGTERM. It ignores a group that has ended.
func terminateGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT)
}

// killGroup sends SIGKILL to the process group of a process. It ignores a group that has ended.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
