//go:build !linux

package launch

import (
	"net"
	"net/netip"
)

// ReservePort asks the kernel for a TCP port of 127.0.0.1 that nothing listens on. It does not reserve the port.
func ReservePort() (port int, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer listener.Close()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	return int(address.Port()), func() {}, err
}
