package main

import (
	"io"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
)

const auditFile = "audit.log"

// defaultAuditBytes bounds the audit log. An agent that fills it has long done what matters.
const defaultAuditBytes = 64 << 20

// newAuditPolicy records what did not come from us: writes with bodies, reads without. Policy rules see the user who
// authenticated, so impersonating someone hides nothing; and a user that is not known here (a service account token, a
// signed certificate) was made by the agent, so it is recorded as well.
func newAuditPolicy() audit.PolicyRuleEvaluator {
	omit := []auditinternal.Stage{auditinternal.StageRequestReceived}
	rule := auditinternal.PolicyRule{OmitStages: omit, OmitManagedFields: new(true)}

	ours := rule
	ours.Level = auditinternal.LevelNone
	ours.Users = []string{userAdmin, userController, userScheduler, userKubelet, "system:apiserver", "system:anonymous"}

	discovery := rule
	discovery.Level = auditinternal.LevelNone
	discovery.NonResourceURLs = []string{"/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version", "/version/*", "/readyz", "/livez", "/healthz"}

	reads := rule
	reads.Level = auditinternal.LevelMetadata
	reads.Verbs = []string{"get", "list", "watch"}

	// The body of a token request is a credential and says nothing that the request line does not.
	tokens := rule
	tokens.Level = auditinternal.LevelMetadata
	tokens.Resources = []auditinternal.GroupResources{{Resources: []string{"serviceaccounts/token"}}}

	writes := rule
	writes.Level = auditinternal.LevelRequestResponse
	return policy.NewPolicyRuleEvaluator(&auditinternal.Policy{
		OmitStages: omit,
		Rules:      []auditinternal.PolicyRule{ours, discovery, reads, tokens, writes},
	})
}

// auditBackend writes each event before the request that caused it is answered.
type auditBackend struct {
	audit.Backend
	file *cappedFile
	log  *os.File // what file writes to; opened for appending
}

func newAuditBackend(path string, limit int64) (*auditBackend, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	capped := &cappedFile{out: file, limit: limit}
	version := schema.GroupVersion{Group: "audit.k8s.io", Version: "v1"}
	return &auditBackend{Backend: auditlog.NewBackend(capped, auditlog.FormatJson, version), file: capped, log: file}, nil
}

// ProcessEvents drops bodies once half of the room is used, so that a flood of large objects cannot push the record of
// later requests out. It never fails a request.
func (b *auditBackend) ProcessEvents(events ...*auditinternal.Event) bool {
	if b.file.used() > b.file.limit/2 {
		slim := make([]*auditinternal.Event, len(events))
		for i, event := range events {
			copied := *event
			copied.RequestObject, copied.ResponseObject = nil, nil
			slim[i] = &copied
		}
		events = slim
	}
	b.Backend.ProcessEvents(events...)
	return true
}

// restart empties the log.
func (b *auditBackend) restart() error {
	b.file.mu.Lock()
	defer b.file.mu.Unlock()
	b.file.written, b.file.full = 0, false
	return b.log.Truncate(0)
}

// truncationMarker is the last line of an audit log that reached its limit.
const truncationMarker = `{"kind":"Truncated","apiVersion":"audit.k8s.io/v1"}` + "\n"

// cappedFile writes whole lines up to a number of bytes, then the marker, then nothing.
type cappedFile struct {
	mu      sync.Mutex
	out     io.Writer
	limit   int64
	written int64
	full    bool
}

func (c *cappedFile) used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written
}

func (c *cappedFile) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		return len(line), nil
	}
	if c.written+int64(len(line)) > c.limit {
		c.full = true
		_, err := io.WriteString(c.out, truncationMarker)
		return len(line), err
	}
	n, err := c.out.Write(line)
	c.written += int64(n)
	return n, err
}
