package launch

import "syscall"

// processAttributes gives a rank a process group of its own and ties its life to the
// launcher's.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupAttributes gives a command a process group of its own.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks a rank and all that it started to end. A stopped process cannot
// act on SIGTERM: it is woken. A group that is gone is no error.
func terminateGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT)
}

// killGroup ends them at once.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
