package verify

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// reaches checks that transfers which take place with some peers alone have others beside them: as
// many within hosts as between them, in each direction and with the same peers. That they move the
// same shows when the program is interpreted on several hosts.
func (v *verifier) reaches() {
	missing := map[string]int{} // between hosts, by direction and peer
	var order []*hostir.P2PCommunication
	key := func(s *hostir.P2PCommunication) string { return fmt.Sprint(s.Send, " ", s.Peer) }
	hostir.Walk(v.program.Body, func(s hostir.Stmt) bool {
		transfer, ok := s.(*hostir.P2PCommunication)
		if !ok || transfer.Reach == hostir.Anywhere {
			return true
		}
		order = append(order, transfer)
		if transfer.Reach == hostir.WithinHosts {
			missing[key(transfer)]++
		} else {
			missing[key(transfer)]--
		}
		return true
	})
	for _, s := range order {
		if missing[key(s)] != 0 {
			v.breach(s.Pos, "reach", "%s takes place %s, and nothing stands for it with the other peers", s.Handle, s.Reach)
			missing[key(s)] = 0
		}
	}
}
