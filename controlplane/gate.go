package main

import (
	"errors"
	"net/http"
	"sync"
)

var errStopped = errors.New("this component was stopped")

// gate stands before all requests of one generation of components. Once it is closed none of them is under way and none
// will be made: controllers end in their own time, and some of their writes know no context.
type gate struct {
	mu     sync.RWMutex
	closed bool
}

// wrap puts the gate before a transport. A watch has passed when its answer begins.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return &gatedTransport{gate: g, next: next}
}

// close returns when the requests that are under way have their answers.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

type gatedTransport struct {
	gate *gate
	next http.RoundTripper
}

func (t *gatedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.gate.mu.RLock()
	defer t.gate.mu.RUnlock()
	if t.gate.closed {
		return nil, errStopped
	}
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go look through.
func (t *gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
