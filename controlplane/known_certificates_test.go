package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestACertificateIsVerifiedOnceAndWhoeverIsSpokenForIsAskedForEachTime(t *testing.T) {
	asked := 0
	valid, credential := true, "X509SHA256=1"
	known := &knownCertificates{next: authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		asked++
		extra := map[string][]string{user.CredentialIDKey: {credential}}
		return &authenticator.Response{User: &user.DefaultInfo{Name: "agent", Extra: extra}}, valid, nil
	})}
	request := func(certificates string, ends time.Duration, headers ...string) *http.Request {
		var shown []*x509.Certificate
		for name := range strings.FieldsSeq(certificates) {
			shown = append(shown, &x509.Certificate{Raw: []byte(name), NotAfter: time.Now().Add(ends)})
		}
		made := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{PeerCertificates: shown}}
		for _, name := range headers {
			made.Header.Set(name, "x")
		}
		return made
	}
	for _, one := range []struct {
		why     string
		request *http.Request
		valid   bool
		asked   int
	}{
		{"the first time", request("a", time.Hour), true, 1},
		{"again", request("a", time.Hour), true, 0},
		{"another", request("b", time.Hour), true, 1},
		{"with its authority's", request("a authority", time.Hour), true, 1},
		{"with its authority's again", request("a authority", time.Hour), true, 0},
		{"with another's", request("a other", time.Hour), true, 1},
		{"over", request("a", -time.Hour), true, 1},
		{"with a token", request("a", time.Hour, "Authorization"), true, 1},
		{"for somebody else", request("a", time.Hour, "X-Remote-User"), true, 1},
		{"by websocket", request("a", time.Hour, "Sec-Websocket-Protocol"), true, 1},
		{"without a certificate", &http.Request{Header: http.Header{}}, true, 1},
		{"a wrong one", request("c", time.Hour), false, 1},
		{"a wrong one again", request("c", time.Hour), false, 1},
	} {
		asked, valid = 0, one.valid
		_, ok, err := known.AuthenticateRequest(one.request)
		if ok != one.valid || err != nil || asked != one.asked {
			t.Errorf("%s: asked %d times, said %v %v", one.why, asked, ok, err)
		}
	}
	credential, valid = "JTI=1", true
	for range 2 {
		asked = 0
		if _, ok, _ := known.AuthenticateRequest(request("stranger", time.Hour)); !ok || asked != 1 {
			t.Errorf("what was not told by the certificate is remembered as if it was")
		}
	}
}
