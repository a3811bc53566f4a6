//go:build !linux

package launch

import (
	"net"
	"net/netip"
)

// reservePort asks the kernel for a TCP port that nothing listens on.
func reservePort() (port int, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer listener.Close()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	return int(address.Port()), func() {}, err
}
