package verify

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// localities checks that intra-node and inter-node transfers come in pairs: for each direction and peer there are as many of one
// as of the other. It does not check that they move the same data; interpreting the program on several nodes does.
func (v *verifier) localities() {
	missing := map[string]int{} // intra-node minus inter-node transfers, by direction and peer
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
