package main

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

const proxiedUser = "X-Remote-User"

// knownCertificates remembers who showed a client certificate. Kubernetes verifies it at every request, which is a
// thirtieth of what a busy cluster takes; that whoever shows it has its key is proved once, when the connection begins.
type knownCertificates struct {
	next authenticator.Request
	seen sync.Map // certificate (string) -> *authenticator.Response
}

// AuthenticateRequest answers for a certificate of this cluster that is still valid, alone, as at the first time. The
// authorities do not change and nothing is revoked as long as the cluster lives.
func (k *knownCertificates) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	// A token counts more than the certificate, and a front proxy speaks for others.
	if request.TLS == nil || len(request.TLS.PeerCertificates) != 1 || request.Header.Get("Authorization") != "" || request.Header.Get(proxiedUser) != "" {
		return k.next.AuthenticateRequest(request)
	}
	certificate := request.TLS.PeerCertificates[0]
	key := string(certificate.Raw)
	if known, ok := k.seen.Load(key); ok && time.Now().Before(certificate.NotAfter) {
		return known.(*authenticator.Response), true, nil
	}
	response, ok, err := k.next.AuthenticateRequest(request)
	if ok && err == nil {
		k.seen.Store(key, response)
	}
	return response, ok, err
}
