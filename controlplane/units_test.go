package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	nodes, err := expandNodes([]nodeSpec{{Name: "a", Count: maxNodes - 1}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, node := range nodes {
		for _, key := range []string{node.Name, node.Spec.PodCIDR, node.Status.Addresses[0].Address, node.Status.NodeInfo.SystemUUID} {
			if seen[key] {
				t.Errorf("%s twice", key)
			}
			seen[key] = true
		}
	}
	if _, err := expandNodes([]nodeSpec{{Name: "a", Count: maxNodes}, {Name: "b"}}); err == nil {
		t.Error("accepts more than the limit")
	}
}

func TestCappedFileEndsWithTheMarker(t *testing.T) {
	var out bytes.Buffer
	file := &cappedFile{out: &out, limit: 10}
	for range 5 {
		if n, err := file.Write([]byte("1234\n")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), "1234\n1234\n"+truncationMarker; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRotatingFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := openRotating(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := file.Write([]byte(strings.Repeat("x", 50))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > 150 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestClientCertificatesNameUserAndGroups(t *testing.T) {
	ca, err := newAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.client("carol", "devs")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	cert := parse(t, pair.cert)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if cert.Subject.CommonName != "carol" || len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != "devs" {
		t.Errorf("subject is %v", cert.Subject)
	}
}

func TestPodsAreLostWhenTheirNodeIsGoneForTwoSweeps(t *testing.T) {
	collector := &podGC{missing: map[string]int{}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	sweep := func(nodes ...*corev1.Node) int { return len(collector.lost([]*corev1.Pod{pod}, nodes)) }
	for step, test := range []struct{ got, want int }{
		{sweep(node), 0}, {sweep(), 0}, {sweep(node), 0}, {sweep(), 0}, {sweep(), 1},
	} {
		if test.got != test.want {
			t.Errorf("sweep %d: %d lost, want %d", step, test.got, test.want)
		}
	}
}

func TestFailuresAreOneLine(t *testing.T) {
	if got := oneLine("a\nb\tc\r"); got != "a b c " {
		t.Errorf("got %q", got)
	}
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// answering is a transport that answers when it is told to.
type answering chan struct{}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	<-a
	return &http.Response{StatusCode: http.StatusOK}, nil
}

func TestAClosedGateLetsNothingThroughAndWaitsForWhatIsUnderWay(t *testing.T) {
	server := answering(make(chan struct{}))
	gate := &gate{}
	transport := gate.wrap(server)
	request, err := http.NewRequest(http.MethodPut, "https://cluster", nil)
	if err != nil {
		t.Fatal(err)
	}
	began, answered, closed := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		close(began)
		_, err := transport.RoundTrip(request)
		answered <- err
	}()
	<-began
	server <- struct{}{} // the request is under way, and this answers it
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := transport.RoundTrip(request)
		answered <- err
	}()
	for gate.mu.TryLock() { // until the second one has passed
		gate.mu.Unlock()
		runtime.Gosched()
	}
	go func() {
		gate.close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Fatal("closed while a request was under way")
	case server <- struct{}{}:
	}
	<-closed
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if _, err := transport.RoundTrip(request); !errors.Is(err, errStopped) {
		t.Error("a closed gate said", err)
	}
}

func TestWorkQueuesAreNotMeasured(t *testing.T) {
	before := runtime.NumGoroutine()
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "probe"})
	defer queue.ShutDown()
	if after := runtime.NumGoroutine(); after > before {
		t.Error("a queue wakes to bring its metrics up to date")
	}
}
