package launch

import (
	"fmt"
	"os"
	"syscall"
)

// ReservePort reserves a TCP port of 127.0.0.1 until release is called. Its socket is bound and does not listen, so
// that rank 0 can bind the port too if both set SO_REUSEADDR. If the socket were closed at once, two launchers that start
// at the same time could get the same port.
func ReservePort() (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) }
	if port, err = bindAny(fd); err != nil {
		release()
		return 0, nil, err
	}
	return port, release, nil
}

// bindAny binds a socket to a port of 127.0.0.1 that the kernel chooses, and returns the port.
func bindAny(fd int) (int, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	bound, ok := address.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("a socket of IPv4 has the address %v", address)
	}
	return bound.Port, nil
}
