package verify

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// localities checks that transfers which are with some peers alone have others beside them: as
// many intra-node as inter-node, in each direction and with the same peers. That they move the
// same shows when the program is interpreted on several nodes.
func (v *verifier) localities() {
	missing := map[string]int{} // inter-node, by direction and peer
	var order []*hostir.P2PCommunication
	key := func(s *hostir.P2PCommunication) string { return fmt.Sprint(s.Send, " ", s.Peer) }
	hostir.Walk(v.program.Body, func(s hostir.Stmt) bool {
		transfer, ok := s.(*hostir.P2PCommunication)
		if !ok || transfer.Locality == hostir.AnyNode {
			return true
		}
		order = append(order, transfer)
		if transfer.Locality == hostir.IntraNode {
			missing[key(transfer)]++
		} else {
			missing[key(transfer)]--
		}
		return true
	})
	for _, s := range order {
		if missing[key(s)] != 0 {
			v.breach(s.Pos, "locality", "%s is %s, and nothing stands for it with the other peers", s.Handle, s.Locality)
			missing[key(s)] = 0
		}
	}
}
