package verify

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// localities checks that transfers with only some peers come in pairs. In each direction there are as many intra-node as
// inter-node transfers with the same peers. Running the program in the interpreter on several nodes shows whether they move the
// same data.
func (v *verifier) localities() {
	missing := map[string]int{} // inter-node, by direction and peer
	var order []*hostir.P2PCommunication
	key := func(s *hostir.P2PCommunication) string { return fmt.Sprint(s.Send, " ", s.Peer) }
	for s := range hostir.All(v.program.Body) {
		transfer, ok := s.(*hostir.P2PCommunication)
		if !ok || transfer.Locality == hostir.AnyNode {
			continue
		}
		order = append(order, transfer)
		if transfer.Locality == hostir.IntraNode {
			missing[key(transfer)]++
		} else {
			missing[key(transfer)]--
		}
	}
	for _, s := range order {
		if missing[key(s)] != 0 {
			v.breach(s, "locality", "%s is %s, and nothing stands for it with the other peers", s.Handle, s.Locality)
			missing[key(s)] = 0
		}
	}
}
