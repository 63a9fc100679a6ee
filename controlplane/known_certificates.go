package main

import (
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

const proxiedUser = "X-Remote-User"

// knownCertificates remembers who showed a client certificate. Kubernetes verifies it at every request, which is a
// thirtieth of what a busy cluster takes; that whoever shows it has its key is proved once, when the connection begins.
type knownCertificates struct {
	next authenticator.Request
	seen sync.Map // what was shown (string) -> *authenticator.Response
}

// AuthenticateRequest answers for a certificate of this cluster that is still valid, alone, as at the first time. The
// authorities do not change and nothing is revoked as long as the cluster lives.
func (k *knownCertificates) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	if request.TLS == nil || len(request.TLS.PeerCertificates) == 0 || alsoShown(request.Header) {
		return k.next.AuthenticateRequest(request)
	}
	certificate, key := request.TLS.PeerCertificates[0], shown(request.TLS.PeerCertificates)
	if known, ok := k.seen.Load(key); ok && time.Now().Before(certificate.NotAfter) {
		return known.(*authenticator.Response), true, nil
	}
	response, ok, err := k.next.AuthenticateRequest(request)
	if ok && err == nil && byCertificate(response) {
		k.seen.Store(key, response)
	}
	return response, ok, err
}

// shown is a client's certificate with all that came with it: some clients send the authority's, too, and by others that
// come with it a certificate may be verified.
func shown(certificates []*x509.Certificate) string {
	var all strings.Builder
	for _, certificate := range certificates {
		all.Write(certificate.Raw)
	}
	return all.String()
}

// alsoShown tells whether a request has something else that may tell who it is from: a token, which counts where the
// certificate is none of ours, or the word of a front proxy.
func alsoShown(header http.Header) bool {
	return slices.ContainsFunc([]string{"Authorization", "Sec-Websocket-Protocol", "Upgrade", proxiedUser}, func(name string) bool {
		return len(header.Values(name)) > 0
	})
}

// byCertificate tells whether it was the certificate that told who it is.
func byCertificate(response *authenticator.Response) bool {
	ids := response.User.GetExtra()[user.CredentialIDKey]
	return len(ids) == 1 && strings.HasPrefix(ids[0], "X509SHA256=")
}
