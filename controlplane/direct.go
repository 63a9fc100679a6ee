package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// directAddress is where the API server sees direct requests come from.
const directAddress = "127.0.0.1:1"

// streamLimit is how many bytes of an answer may be unread before its writer waits, as it would for a socket.
const streamLimit = 256 << 10

// keptBuffer is how many bytes a watch keeps for its next changes.
const keptBuffer = 16 << 10

var errBroken = errors.New("the API server broke its answer off")

// directServer is an API server in this process, for clients in this process: a request is a call of its handler, with all
// filters. Over a socket each would be encrypted, framed and taken apart again for a reader a few pointers away.
type directServer struct {
	serving chan struct{}
	handler http.Handler
}

func newDirectServer() *directServer { return &directServer{serving: make(chan struct{})} }

// serve lets requests in; those that came before have waited.
func (s *directServer) serve(handler http.Handler) {
	s.handler = handler
	close(s.serving)
}

// shownBy returns a transport whose requests show a client certificate. Without one they show nothing, or a token.
func (s *directServer) shownBy(certificate []byte) (http.RoundTripper, error) {
	if certificate == nil {
		return &directTransport{server: s}, nil
	}
	block, _ := pem.Decode(certificate)
	if block == nil {
		return nil, errors.New("a client certificate is not PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	return &directTransport{s, &tls.ConnectionState{HandshakeComplete: true, PeerCertificates: []*x509.Certificate{leaf}}}, nil
}

type directTransport struct {
	server *directServer
	tls    *tls.ConnectionState
}

// RoundTrip returns when the answer begins. The answer ends when the client's context does, or its body is closed.
func (t *directTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	client := request.Context()
	found := newReply()
	select {
	case <-t.server.serving:
		go t.handle(request, found)
	case <-client.Done():
		closeBody(request)
		return nil, client.Err()
	}
	select {
	case <-found.begun:
	case <-client.Done():
		found.abandon(client.Err())
		return nil, client.Err()
	}
	if found.status == 0 {
		return nil, errBroken
	}
	found.stop = context.AfterFunc(client, func() { found.abandon(client.Err()) })
	length := int64(-1)
	if said, err := strconv.ParseInt(found.sent.Get("Content-Length"), 10, 64); err == nil {
		length = said
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", found.status, http.StatusText(found.status)),
		StatusCode: found.status,
		Proto:      "HTTP/2.0", ProtoMajor: 2,
		Header: found.sent, Body: found, ContentLength: length, Request: request,
	}, nil
}

// handle lets the server answer. It sees nothing of the client's context: that may be one of the server's own requests,
// and would tell the filters that this one has passed them.
func (t *directTransport) handle(request *http.Request, to *reply) {
	defer closeBody(request)
	defer func() {
		if recover() != nil { // as the server does with a connection; it has logged what it is
			to.end(errBroken)
		}
	}()
	url := *request.URL
	served := (&http.Request{
		Method: request.Method, URL: &url, RequestURI: url.RequestURI(), Host: url.Host,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: request.Header.Clone(),
		Body: request.Body, ContentLength: request.ContentLength,
		RemoteAddr: directAddress, TLS: t.tls,
	}).WithContext(to.ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	t.server.handler.ServeHTTP(to, served)
	to.WriteHeader(http.StatusOK)
	to.end(io.EOF)
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// reply is written by the server and read by the client, at the same time.
type reply struct {
	ctx    context.Context // of the server; ends when nobody reads any more
	cancel context.CancelFunc
	stop   func() bool // no longer looks at the client's context

	header http.Header
	begun  chan struct{} // closed when status and sent are set; status 0: there will be no answer
	status int
	sent   http.Header

	mu      sync.Mutex
	moved   sync.Cond
	content bytes.Buffer
	over    error // why nothing comes after content
	left    error // why nobody reads any more
}

func newReply() *reply {
	a := &reply{header: http.Header{}, begun: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.moved.L = &a.mu
	return a
}

// Header returns what WriteHeader will send.
func (a *reply) Header() http.Header { return a.header }

// WriteHeader begins the answer; only the first one counts.
func (a *reply) WriteHeader(status int) {
	if status >= http.StatusOK { // below it is informational
		a.begin(status)
	}
}

func (a *reply) begin(status int) {
	select {
	case <-a.begun:
	default:
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	}
}

// Write adds to the answer and waits while too much of it is unread.
func (a *reply) Write(content []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.content.Len() > streamLimit && a.left == nil {
		a.moved.Wait()
	}
	if a.left != nil {
		return 0, a.left
	}
	defer a.moved.Broadcast()
	return a.content.Write(content)
}

// Flush begins the answer: what is written can be read at once.
func (a *reply) Flush() { a.WriteHeader(http.StatusOK) }

// CloseNotify is what the server takes a ResponseWriter for one that can flush by.
func (a *reply) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	context.AfterFunc(a.ctx, func() { gone <- true })
	return gone
}

// end says that nothing more comes: io.EOF, or why it broke off.
func (a *reply) end(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = why
	a.moved.Broadcast()
	a.begin(0)
	a.cancel()
}

// abandon tells the server that nobody reads any more, and readers why.
func (a *reply) abandon(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left == nil {
		a.left = why
	}
	a.moved.Broadcast()
	a.cancel()
}

// Read returns what was written, io.EOF at its end, or the error of the client's context.
func (a *reply) Read(into []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.content.Len() == 0 && a.over == nil && a.left == nil {
		a.moved.Wait()
	}
	switch {
	case a.left != nil:
		return 0, a.left
	case a.content.Len() == 0:
		return 0, a.over
	}
	a.moved.Broadcast()
	read, err := a.content.Read(into)
	if a.content.Len() == 0 && a.content.Cap() > keptBuffer {
		a.content = bytes.Buffer{}
	}
	return read, err
}

// Close ends the answer.
func (a *reply) Close() error {
	if a.stop != nil {
		a.stop()
	}
	a.abandon(http.ErrBodyReadAfterClose)
	return nil
}
