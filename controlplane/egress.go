package main

import (
	"context"
	"net"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
)

// newEgress returns the dialer for everything that the API server would call on its own: nodes (logs, exec), services
// and pods by proxy, webhooks, aggregated API servers. None of them exists here, and a user of the cluster must not reach
// this host's network through it, so every call fails at once as a node does that is down.
func newEgress() *egressselector.EgressSelector {
	var refuse utilnet.DialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: unreachable(address), Err: syscall.EHOSTUNREACH}
	}
	return egressselector.NewEgressSelectorWithMap(map[egressselector.EgressType]utilnet.DialFunc{
		egressselector.Cluster:      refuse,
		egressselector.ControlPlane: refuse,
	})
}

// unreachable is the address named in the error of a refused dial.
type unreachable string

func (unreachable) Network() string  { return "tcp" }
func (u unreachable) String() string { return string(u) }
