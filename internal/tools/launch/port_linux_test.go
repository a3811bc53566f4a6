package launch

import (
	"net"
	"strconv"
	"testing"
)

// TestLaunchersHavePortsOfTheirOwn checks that launchers that start at the same time have different ports. Otherwise
// the ranks of one launcher would connect to the ranks of another.
func TestLaunchersHavePortsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const launchers = 500 // of some 28,000 ports: random choices would collide
	ports := map[int]bool{}
	for range launchers {
		port, release, err := ReservePort()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		ports[port] = true
	}
	if len(ports) != launchers {
		t.Errorf("%d launchers have %d ports", launchers, len(ports))
	}
}

func TestRankListensOnTheReservedPort(t *testing.T) {
	t.Parallel()
	port, release, err := ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port)) // sets SO_REUSEADDR, as the runtime does
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}
